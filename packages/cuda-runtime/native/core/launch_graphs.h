// Launches of a kernel as graphs of one node: half of the host's time of a launch (docs/adr/0082).
#pragma once

#include <list>
#include <memory>

#include "stream.h"

namespace mercer {

/// The graphs of one function, one for each stream that it is often launched on. Environment's thread only.
class LaunchGraphs {
 public:
  /// Launches the kernel so, or returns false where it has to be launched as itself: seldom launched, more graphs than a device keeps, or refused by the
  /// driver, in which case the ordinary launch succeeds or has the better error.
  bool launch(const SharedStream& stream, const cu::CUDA_KERNEL_NODE_PARAMS& kernel);

 private:
  class One {
   public:
    explicit One(const SharedStream& stream) : stream_(stream), use_(stream->use) {}
    ~One() { release(); }
    One(const One&) = delete;

    bool isOf(const SharedStream& stream) const noexcept;
    bool isLeft() const noexcept { return stream_.expired(); }
    bool isMade() const noexcept { return exec_ != nullptr; }
    bool launch(Stream& stream, const cu::CUDA_KERNEL_NODE_PARAMS& kernel);

   private:
    bool make(const cu::CUDA_KERNEL_NODE_PARAMS& kernel);
    void release() noexcept;

    const std::weak_ptr<Stream> stream_;
    const SharedUse use_;
    uint32_t launches_ = 0;
    cu::CUgraph graph_ = nullptr;
    cu::CUgraphNode node_ = nullptr;
    cu::CUgraphExec exec_ = nullptr;
  };
  One& on(const SharedStream& stream);
  std::list<One> all_;
};

}  // namespace mercer
