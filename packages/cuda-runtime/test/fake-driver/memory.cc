// Memory, copies, memset.
#include <algorithm>
#include <cstring>

#include "state.h"

using namespace fake;

namespace {

std::mutex& pinnedMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
std::map<uintptr_t, size_t>& pinnedPages() {
  static auto* pages = new std::map<uintptr_t, size_t>;
  return *pages;
}

/// True if the range lies in one allocation of any device.
bool isDeviceMemory(uint64_t address, uint64_t bytes) {
  for (auto* device : devices())
    if (device->contains(address, bytes)) return true;
  return false;
}

char* pointer(uint64_t address) { return reinterpret_cast<char*>(address); }

}  // namespace

bool fake::isPinned(const void* memory) {
  std::lock_guard lock(pinnedMutex());
  auto found = pinnedPages().upper_bound(reinterpret_cast<uintptr_t>(memory));
  if (found == pinnedPages().begin()) return false;
  --found;
  return reinterpret_cast<uintptr_t>(memory) < found->first + found->second;
}

FAKE cuMemGetInfo_v2(size_t* free, size_t* total) {
  if (const int status = contextStatus()) return status;
  *total = current()->total();
  *free = *total - current()->reserved - current()->plain;
  return 0;
}

FAKE cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (const int status = contextStatus()) return status;
  return current()->allocate(address, bytes, false);
}

FAKE cuMemFree_v2(uint64_t address) {
  if (const int status = contextStatus()) return status;
  current()->locked = true;
  current()->drain();
  current()->locked = false;
  return current()->release(address, false);
}

FAKE cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  if (const int status = contextStatus()) return status;
  if (static_cast<long>(bytes) > setting("PINNED_BYTES", 1l << 31)) return kOutOfMemory;
  *memory = std::malloc(bytes);
  std::lock_guard lock(pinnedMutex());
  pinnedPages()[reinterpret_cast<uintptr_t>(*memory)] = bytes;
  counters().pinned++;
  return 0;
}

// Waits for the device, as the real one does.
FAKE cuMemFreeHost(void* memory) {
  if (const int status = contextStatus()) return status;
  current()->locked = true;
  current()->drain();
  current()->locked = false;
  std::lock_guard lock(pinnedMutex());
  if (!pinnedPages().erase(reinterpret_cast<uintptr_t>(memory))) return kInvalidValue;
  std::free(memory);
  counters().pinned--;
  return 0;
}

struct PoolProps {
  int type, handles, locationType, locationId;
};

FAKE cuMemPoolCreate(Device** pool, const PoolProps* props) {
  if (props->type != 1 || props->locationType != 1) return kInvalidValue;
  *pool = devices()[props->locationId];
  counters().pools++;
  return 0;
}

FAKE cuMemPoolTrimTo(Device* pool, size_t keep) {
  std::lock_guard lock(pool->mutex);
  counters().trims++;
  pool->reserved = std::max(std::min(pool->reserved, pool->used + pool->unsettled), std::min<uint64_t>(pool->reserved, keep));
  return 0;
}

FAKE cuMemPoolSetAttribute(Device* pool, int attribute, uint64_t* value) {
  if (attribute != 4) return kInvalidValue;
  pool->threshold = *value;
  return 0;
}

FAKE cuMemPoolGetAttribute(Device* pool, int attribute, uint64_t* value) {
  std::lock_guard lock(pool->mutex);
  if (attribute == 4) *value = pool->threshold;
  if (attribute == 5) *value = pool->reserved;
  if (attribute == 7) *value = pool->used;
  return 0;
}

FAKE cuMemPoolSetAccess(Device*, const void*, size_t) { return 0; }

FAKE cuMemAllocFromPoolAsync(uint64_t* address, size_t bytes, Device* pool, Stream* stream) {
  if (const int status = contextStatus()) return status;
  if (stream->capture) return kCaptureUnsupported;
  return pool->allocate(address, bytes, true);
}

FAKE cuMemFreeAsync(uint64_t address, Stream* stream) {
  if (const int status = contextStatus()) return status;
  if (stream->capture) return kCaptureUnsupported;
  stream->add([=] { stream->device->release(address, true); });
  return 0;
}

FAKE cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, Stream* stream) {
  if (const int status = contextStatus()) return status;
  if (!isDeviceMemory(to, bytes)) return kInvalidValue;
  if (isPinned(from)) {
    stream->add([=] { std::memcpy(pointer(to), from, bytes); });
  } else if (bytes <= 65536) {
    std::string taken(static_cast<const char*>(from), bytes);
    stream->add([=] { std::memcpy(pointer(to), taken.data(), bytes); });
  } else {
    stream->drain();
    std::memcpy(pointer(to), from, bytes);
  }
  return 0;
}

FAKE cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, Stream* stream) {
  if (const int status = contextStatus()) return status;
  if (!isDeviceMemory(from, bytes)) return kInvalidValue;
  if (isPinned(to)) {
    stream->add([=] { std::memcpy(to, pointer(from), bytes); });
  } else {
    stream->drain();
    std::memcpy(to, pointer(from), bytes);
  }
  return 0;
}

FAKE cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, Stream* stream) {
  if (const int status = contextStatus()) return status;
  if (!isDeviceMemory(to, bytes) || !isDeviceMemory(from, bytes)) return kInvalidValue;
  stream->add([=] { std::memmove(pointer(to), pointer(from), bytes); });
  return 0;
}

FAKE cuMemcpyPeerAsync(uint64_t to, Device* toDevice, uint64_t from, Device* fromDevice, size_t bytes,
                       Stream* stream) {
  if (const int status = contextStatus()) return status;
  if (!toDevice->contains(to, bytes) || !fromDevice->contains(from, bytes)) return kInvalidValue;
  stream->add([=] { std::memmove(pointer(to), pointer(from), bytes); });
  return 0;
}

template <typename T>
static int set(uint64_t address, T value, size_t count, Stream* stream) {
  if (const int status = contextStatus()) return status;
  if (!isDeviceMemory(address, count * sizeof(T))) return kInvalidValue;
  stream->add([=] {
    auto* data = reinterpret_cast<T*>(address);
    for (size_t i = 0; i < count; i++) data[i] = value;
  });
  return 0;
}

FAKE cuMemsetD8Async(uint64_t address, unsigned char value, size_t count, Stream* s) { return set(address, value, count, s); }
FAKE cuMemsetD16Async(uint64_t address, unsigned short value, size_t count, Stream* s) { return set(address, value, count, s); }
FAKE cuMemsetD32Async(uint64_t address, unsigned value, size_t count, Stream* s) { return set(address, value, count, s); }
