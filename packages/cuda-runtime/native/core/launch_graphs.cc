#include "launch_graphs.h"

namespace mercer {
namespace {

/// Making a graph takes the time that four launches save, and 113 kB of the device.
constexpr uint32_t kOften = 16;
constexpr size_t kMostStreams = 4;

}  // namespace

bool LaunchGraphs::One::isOf(const SharedStream& stream) const noexcept {
  return !stream_.owner_before(stream) && !stream.owner_before(stream_);
}

void LaunchGraphs::One::release() noexcept {
  if (!graph_) return;
  use_->device.launchGraphs--;
  if (use_->device.tryEnter()) {
    if (exec_) driver().cuGraphExecDestroy(exec_);
    driver().cuGraphDestroy(graph_);
  }
  exec_ = nullptr, graph_ = nullptr;
}

bool LaunchGraphs::One::make(const cu::CUDA_KERNEL_NODE_PARAMS& kernel) {
  if (++launches_ % kOften != 0 || use_->device.launchGraphs >= use_->mostLaunchGraphs) return false;
  if (driver().cuGraphCreate(&graph_, 0)) return false;
  use_->device.launchGraphs++;
  if (driver().cuGraphAddKernelNode(&node_, graph_, nullptr, 0, &kernel) ||
      driver().cuGraphInstantiateWithFlags(&exec_, graph_, 0)) {
    exec_ = nullptr;
    release();
  }
  return exec_ != nullptr;
}

bool LaunchGraphs::One::launch(Stream& stream, const cu::CUDA_KERNEL_NODE_PARAMS& kernel) {
  if (exec_ ? driver().cuGraphExecKernelNodeSetParams(exec_, node_, &kernel) != cu::kSuccess : !make(kernel)) return false;
  MERCER_CU(&use_->device, cuGraphLaunch, exec_, stream.handle());
  return true;
}

LaunchGraphs::One* LaunchGraphs::on(const SharedStream& stream) {
  for (auto& one : all_)
    if (one.isOf(stream)) return &one;
  all_.remove_if([](const One& one) { return one.isLeft(); });
  return all_.size() < kMostStreams ? &all_.emplace_back(stream) : nullptr;
}

bool LaunchGraphs::launch(const SharedStream& stream, const cu::CUDA_KERNEL_NODE_PARAMS& kernel) {
  if (!stream->launchesGraphs()) return false;
  One* const one = on(stream);
  return one && one->launch(*stream, kernel);
}

}  // namespace mercer
