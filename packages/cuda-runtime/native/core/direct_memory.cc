#include "direct_memory.h"

#include "buffer.h"
#include "janitor.h"

namespace mercer {

DirectMemory::DirectMemory(Device& device, uint64_t size) : bytes(size), device_(device) {
  auto result = driver().cuMemAlloc(&address_, bytes);
  if (result == cu::kOutOfMemory) {
    trimPool(device, 0);
    result = driver().cuMemAlloc(&address_, bytes);
  }
  check(result, "cuMemAlloc", &device);
}

DirectMemory::~DirectMemory() {
  try {
    sweep(device_, [address = address_] { driver().cuMemFree(address); });
  } catch (...) {
    // Out of host memory: this device memory is lost until the process ends.
  }
}

}  // namespace mercer
