// Device memory of library handles, outside the pool: it does not belong to the order of any stream.
#pragma once

#include "device.h"

namespace mercer {

class DirectMemory {
 public:
  /// May wait for the device. The pool is trimmed before an out-of-memory failure.
  DirectMemory(Device& device, uint64_t bytes);
  /// Freed by the janitor, when the device's streams are idle.
  ~DirectMemory();
  DirectMemory(const DirectMemory&) = delete;

  const uint64_t bytes;
  void* address() const noexcept { return reinterpret_cast<void*>(address_); }

 private:
  Device& device_;
  cu::CUdeviceptr address_ = 0;
};

}  // namespace mercer
