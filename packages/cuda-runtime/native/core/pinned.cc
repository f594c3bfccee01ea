#include "pinned.h"

#include "janitor.h"

namespace mercer {

Pinned::Pinned(SharedUse shared, uint64_t size) : use(std::move(shared)), bytes(size) {
  Device& device = use->enter();
  const auto result = driver().cuMemHostAlloc(&data_, bytes ? bytes : 1, cu::kHostAllocPortable);
  if (result == cu::kOutOfMemory) {
    Failure failure = cudaFailure(result, "cuMemHostAlloc", device.ordinal);
    failure.kind = FailureKind::OutOfMemory;
    failure.requested = bytes;
    throw failure;
  }
  check(result, "cuMemHostAlloc", &device);
}

Pinned::~Pinned() {
  try {
    // Freeing page-locked memory waits for the device.
    sweep(use->device, [data = data_] { driver().cuMemFreeHost(data); });
  } catch (...) {
    // Out of host memory: these pages stay locked until the process ends.
  }
}

}  // namespace mercer
