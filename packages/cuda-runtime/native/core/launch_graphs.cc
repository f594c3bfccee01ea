#include "launch_graphs.h"

#include <algorithm>

namespace mercer {
namespace {

/// Making a graph takes the time that four launches save, and 113 kB of the device.
constexpr uint32_t kOften = 16;
constexpr ptrdiff_t kMostStreams = 4;

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
  if (++launches_ % kOften != 0) return false;
  auto& count = use_->device.launchGraphs;
  if (count.fetch_add(1) >= use_->mostLaunchGraphs || driver().cuGraphCreate(&graph_, 0)) {
    count--;
    return false;
  }
  if (driver().cuGraphAddKernelNode(&node_, graph_, nullptr, 0, &kernel) ||
      driver().cuGraphInstantiateWithFlags(&exec_, graph_, 0)) {
    exec_ = nullptr;
    release();
  }
  return exec_ != nullptr;
}

bool LaunchGraphs::One::launch(Stream& stream, const cu::CUDA_KERNEL_NODE_PARAMS& kernel) {
  if (exec_ ? driver().cuGraphExecKernelNodeSetParams(exec_, node_, &kernel) != cu::kSuccess : !make(kernel)) return false;
  // the driver may want memory for the first one
  if (driver().cuGraphLaunch(exec_, stream.handle()) == cu::kSuccess) return true;
  release();
  return false;
}

LaunchGraphs::One& LaunchGraphs::on(const SharedStream& stream) {
  for (auto& one : all_)
    if (one.isOf(stream)) return one;
  all_.remove_if([](const One& one) { return one.isLeft(); });
  return all_.emplace_back(stream);
}

bool LaunchGraphs::launch(const SharedStream& stream, const cu::CUDA_KERNEL_NODE_PARAMS& kernel) {
  if (!stream->launchesGraphs()) return false;
  One& one = on(stream);
  const auto made = [this] { return std::count_if(all_.begin(), all_.end(), [](const One& o) { return o.isMade(); }); };
  return (one.isMade() || made() < kMostStreams) && one.launch(*stream, kernel);
}

}  // namespace mercer
