// Loaded code: modules, their functions and launching them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launch_graphs.h"
#include "stream.h"
#include "use_tracker.h"

namespace mercer {

class Module : public std::enable_shared_from_this<Module> {
 public:
  Module(SharedUse use, const void* image);
  ~Module();
  Module(const Module&) = delete;

  const SharedUse use;
  cu::CUmodule handle() const noexcept { return code_.get(); }
  /// The loaded code itself: what a captured graph keeps.
  const std::shared_ptr<cu::CUmod_st>& code() const noexcept { return code_; }
  /// After this its functions refuse to launch; the code is unloaded when the work under way is done
  /// and no graph refers to it. Called on the environment's thread, like every launch.
  void close() noexcept;
  /// The device, alive and current; throws `DISPOSED` after close.
  Device& enter();
  UseTracker uses;
  /// Of one of its functions, until close.
  LaunchGraphs& graphsOf(cu::CUfunction function) { return graphs_[function]; }

 private:
  std::shared_ptr<cu::CUmod_st> code_;
  std::map<cu::CUfunction, LaunchGraphs> graphs_;
};

/// Geometry of a launch as it stands in the scratch page shared with JavaScript.
struct LaunchGeometry {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t sharedMemBytes;
  uint32_t cluster[3];  // all 0: none
  uint32_t programmatic;
};

class GraphExec;

class Function {
 public:
  Function(std::shared_ptr<Module> module, const std::string& name);

  const std::shared_ptr<Module> module;
  const std::string name;
  /// Loads the code now instead of at the first launch, which would wait for the device.
  void load();
  int attribute(int which);
  void setAttribute(int which, int value);
  int maxActiveBlocks(int blockThreads, size_t dynamicSharedBytes);
  int maxActiveClusters(const LaunchGeometry& geometry);
  void launch(const LaunchGeometry& geometry, const SharedStream& stream, const uint8_t* params,
              size_t paramBytes, const uint32_t* offsets, size_t count);
  /// Later launches of a graph, or loops made of it later, launch the function so at a point of its capture, where it was captured.
  void launchIn(GraphExec& graph, uint32_t point, bool ofLoops, const LaunchGeometry& geometry, const uint8_t* params,
                size_t paramBytes, const uint32_t* offsets, size_t count);
  /// A graph's work, repeated until this function says no. Its first parameter is the driver's name of that decision.
  std::shared_ptr<GraphExec> loopOf(GraphExec& graph, const LaunchGeometry& geometry, const uint8_t* params,
                                    size_t paramBytes, const uint32_t* offsets, size_t count);
  /// Byte sizes of the parameters, empty where the driver cannot tell.
  const std::vector<size_t>& paramSizes() const noexcept { return sizes_; }

 private:
  /// Packed parameters as the driver takes them, of the calling thread and until its next call.
  void** pointersTo(const uint8_t* params, size_t paramBytes, const uint32_t* offsets, size_t count) const;
  cu::CUDA_KERNEL_NODE_PARAMS node(const LaunchGeometry& geometry, void** pointers) const;
  void checkParams(size_t paramBytes, const uint32_t* offsets, size_t count) const;

  cu::CUfunction function_ = nullptr;
  LaunchGraphs* graphs_ = nullptr;  // the module's, until it is closed
  bool sizesKnown_ = false;
  std::vector<size_t> sizes_;
};

}  // namespace mercer
