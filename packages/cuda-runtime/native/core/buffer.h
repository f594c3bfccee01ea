// Device memory from the device's stream-ordered pool.
#pragma once

#include "stream.h"

namespace mercer {

class Buffer {
 public:
  /// Before an OutOfMemory failure the pool is trimmed and, if that does not help, the work of this
  /// stream is waited for: what was freed behind it may be just what is missing.
  Buffer(SharedStream stream, uint64_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;

  const SharedStream stream;  // where it was allocated and, unless told otherwise, is freed
  const uint64_t bytes;
  cu::CUdeviceptr address() const noexcept { return address_; }
  Device& device() const noexcept { return stream->use->device; }
  /// The stream in whose order the memory is given back.
  void freeOn(SharedStream other);
  /// Throws unless `length` bytes from `offset` lie inside.
  cu::CUdeviceptr at(uint64_t offset, uint64_t length) const;

 private:
  cu::CUdeviceptr address_ = 0;
  SharedStream freeStream_;
};

/// Bytes the pool has handed out, bytes it holds, and its release threshold.
struct PoolState {
  uint64_t used, reserved, threshold;
};
PoolState poolState(Device& device);
void setPoolThreshold(Device& device, uint64_t bytes);
void trimPool(Device& device, uint64_t keepBytes);

}  // namespace mercer
