#include "device.h"

#include <map>

namespace mercer {

int Device::count() {
  const auto init = driverInitResult();
  if (init == cu::kNoDevice) return 0;
  check(init, "cuInit");
  int count = 0;
  MERCER_CU(nullptr, cuDeviceGetCount, &count);
  return count;
}

Device& Device::get(int ordinal) {
  static auto* mutex = new std::mutex;
  static auto* devices = new std::map<int, Device*>;
  const int total = count();
  if (ordinal < 0 || ordinal >= total)
    misuse("NO_SUCH_DEVICE", "there is no CUDA device " + std::to_string(ordinal) + " (found " +
                                 std::to_string(total) + ")");
  std::lock_guard lock(*mutex);
  auto& slot = (*devices)[ordinal];
  if (!slot) slot = new Device(ordinal);
  return *slot;
}

Device::Device(int ordinal) : ordinal(ordinal), waiter(*this), events(*this), staging(*this) {
  MERCER_CU(nullptr, cuDeviceGet, &handle_, ordinal);
  MERCER_CU(nullptr, cuDevicePrimaryCtxRetain, &context_, handle_);
  MERCER_CU(nullptr, cuCtxSetCurrent, context_);
  makePool();
}

void Device::makePool() {
  int supported = 0;
  MERCER_CU(nullptr, cuDeviceGetAttribute, &supported, cu::kDeviceMemoryPools, handle_);
  if (!supported) return;
  cu::CUmemPoolProps props{};
  props.allocType = 1;
  props.location = {1, handle_};
  MERCER_CU(nullptr, cuMemPoolCreate, &pool_, &props);
  // Keep what was freed: giving memory back at every synchronisation is what makes pools slow.
  cu::cuuint64_t threshold = ~cu::cuuint64_t{0};
  MERCER_CU(nullptr, cuMemPoolSetAttribute, pool_, cu::kPoolReleaseThreshold, &threshold);
}

void Device::enter() {
  if (dead()) throw *cause();
  MERCER_CU(this, cuCtxSetCurrent, context_);
}

bool Device::tryEnter() noexcept {
  if (dead() || !driverUsable()) return false;
  return driver().cuCtxSetCurrent(context_) == cu::kSuccess;
}

void Device::kill(const Failure& failure) {
  {
    std::lock_guard lock(mutex_);
    if (cause_) return;
    cause_ = failure;
    cause_->device = ordinal;
    dead_.store(true, std::memory_order_release);
  }
  waiter.wake();
}

std::optional<Failure> Device::cause() {
  std::lock_guard lock(mutex_);
  return cause_;
}

Device& DeviceUse::enter() {
  if (closed_.load(std::memory_order_relaxed))
    misuse("DISPOSED",
           "cuda:" + std::to_string(device.ordinal) + " was disposed, and with it everything made from it");
  device.enter();
  return device;
}

}  // namespace mercer
