#include "buffer.h"

#include "janitor.h"

namespace mercer {

namespace {

/**
 * Whole vectors of 16 bytes: kernels copy the last elements of a line by one `cp.async` of 16 bytes that leaves out those beyond the end,
 * and compute-sanitizer takes that for a read of all 16. The driver's own granularity is larger, so that nothing is lost.
 */
uint64_t wholeVectors(uint64_t bytes) { return (bytes + 15) / 16 * 16; }

cu::CUresult tryAllocate(Device& device, Stream& stream, cu::CUdeviceptr* address, uint64_t size) {
  const uint64_t bytes = wholeVectors(size);
  if (device.pool())
    return driver().cuMemAllocFromPoolAsync(address, bytes, device.pool(), stream.handle());
  return driver().cuMemAlloc(address, bytes);
}

[[noreturn]] void outOfMemory(Device& device, uint64_t requested) {
  size_t free = 0, total = 0;
  driver().cuMemGetInfo(&free, &total);
  Failure failure = cudaFailure(cu::kOutOfMemory, "cuMemAllocFromPoolAsync", device.ordinal);
  failure.kind = FailureKind::OutOfMemory;
  failure.requested = requested;
  failure.free = free;
  failure.live = device.liveBytes;
  throw failure;
}

}  // namespace

Buffer::Buffer(SharedStream shared, uint64_t size)
    : stream(std::move(shared)), bytes(size), freeStream_(stream) {
  Device& device = stream->enter();
  if (bytes > 0) {
    stream->refuseCapture("allocating");
    auto result = tryAllocate(device, *stream, &address_, bytes);
    for (const bool wait : {false, true}) {
      if (result != cu::kOutOfMemory) break;
      if (wait) stream->synchronize();
      trimPool(device, 0);
      result = tryAllocate(device, *stream, &address_, bytes);
    }
    if (result == cu::kOutOfMemory) outOfMemory(device, bytes);
    check(result, "cuMemAllocFromPoolAsync", &device);
  }
  device.liveBytes += bytes;
  device.liveBuffers += 1;
}

Buffer::~Buffer() {
  Device& device = this->device();
  device.liveBytes -= bytes;
  device.liveBuffers -= 1;
  if (!address_) return;
  if (device.pool()) {
    freeStream_->freeAsync(address_);
    return;
  }
  try {
    // cuMemFree waits for the device, so it is not done on this thread.
    sweep(device, [address = address_] { driver().cuMemFree(address); });
  } catch (...) {
    // Out of host memory: this device memory is lost until the process ends.
  }
}

void Buffer::freeOn(SharedStream other) {
  if (&other->use->device != &device())
    misuse("DEVICE_MISMATCH", "memory of cuda:" + std::to_string(device().ordinal) +
                                  " cannot be freed on a stream of cuda:" +
                                  std::to_string(other->use->device.ordinal));
  freeStream_ = std::move(other);
}

cu::CUdeviceptr Buffer::at(uint64_t offset, uint64_t length) const {
  if (offset > bytes || length > bytes - offset)
    misuse("OUT_OF_RANGE", "bytes " + std::to_string(offset) + " to " +
                               std::to_string(offset + length) + " do not lie in a buffer of " +
                               std::to_string(bytes) + " bytes");
  return address_ + offset;
}

PoolState poolState(Device& device) {
  PoolState state{device.liveBytes, device.liveBytes, 0};
  if (!device.pool()) return state;
  MERCER_CU(&device, cuMemPoolGetAttribute, device.pool(), cu::kPoolUsedCurrent, &state.used);
  MERCER_CU(&device, cuMemPoolGetAttribute, device.pool(), cu::kPoolReservedCurrent, &state.reserved);
  MERCER_CU(&device, cuMemPoolGetAttribute, device.pool(), cu::kPoolReleaseThreshold, &state.threshold);
  return state;
}

void setPoolThreshold(Device& device, uint64_t bytes) {
  if (device.pool())
    MERCER_CU(&device, cuMemPoolSetAttribute, device.pool(), cu::kPoolReleaseThreshold, &bytes);
}

void trimPool(Device& device, uint64_t keepBytes) {
  if (!device.pool()) return;
  Stream::settleIdle(device);
  MERCER_CU(&device, cuMemPoolTrimTo, device.pool(), keepBytes);
}

}  // namespace mercer
