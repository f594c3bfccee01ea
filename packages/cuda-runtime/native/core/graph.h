// Captured work and its executable form.
#pragma once

#include <vector>

#include "stream.h"
#include "use_tracker.h"

namespace mercer {

class Graph {
 public:
  /// What a capture's points stand for.
  using Points = std::vector<std::vector<cu::CUgraphNode>>;
  Graph(SharedUse use, cu::CUgraph graph, std::vector<std::shared_ptr<void>> kept, Points points);
  ~Graph();
  Graph(const Graph&) = delete;

  const SharedUse use;
  size_t nodeCount();
  cu::CUgraph handle() const noexcept { return graph_; }
  /// Modules, buffers and pinned memory that the captured work refers to.
  const std::vector<std::shared_ptr<void>>& kept() const noexcept { return kept_; }
  /// The one node that a point of the capture stands for.
  cu::CUgraphNode nodeAt(uint32_t point) const;

 private:
  cu::CUgraph graph_;
  std::vector<std::shared_ptr<void>> kept_;
  Points points_;
};

class GraphExec {
 public:
  explicit GraphExec(const std::shared_ptr<Graph>& graph);
  ~GraphExec();
  GraphExec(const GraphExec&) = delete;

  const SharedUse use;
  void launch(const SharedStream& stream);
  void upload(const SharedStream& stream);
  /// The kernel at a point of the capture gets other arguments in launches from now on.
  void setKernel(uint32_t point, const cu::CUDA_KERNEL_NODE_PARAMS& params);
  /// The same in loops that are made from now on.
  void setKernelOfLoops(uint32_t point, const cu::CUDA_KERNEL_NODE_PARAMS& params);
  /// The work again and again in one launch, with a kernel behind each repetition that says whether there is another. `handle` is where among the
  /// kernel's parameters the driver's name of that decision goes.
  std::shared_ptr<GraphExec> loop(const cu::CUDA_KERNEL_NODE_PARAMS& condition, void* handle, std::shared_ptr<void> code);

 private:
  struct Owned;
  void mustShareDevice(const SharedStream& stream) const;
  std::shared_ptr<Owned> owned_;
  UseTracker uses_;
};

}  // namespace mercer
