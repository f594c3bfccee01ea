#include "host-memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <limits>

namespace mercer::cpu {

namespace {
// From here on a mapping of its own: zeroed by the kernel page by page, given back at once.
constexpr uint64_t kMapFrom = 1u << 20;
constexpr uint64_t kHugePagesFrom = 4u << 20;

size_t roundUp(uint64_t bytes, size_t unit) {
  return static_cast<size_t>((bytes + unit - 1) / unit * unit);
}
}  // namespace

std::atomic<int64_t> HostMemory::liveBytes{0};
std::atomic<int64_t> HostMemory::liveBuffers{0};

std::shared_ptr<HostMemory> HostMemory::allocate(uint64_t bytes) {
  if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / 2) return nullptr;
  std::shared_ptr<HostMemory> memory(new HostMemory());
  if (bytes >= kMapFrom) {
    const size_t length = roundUp(bytes, 4096);
    void* data =
        mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return nullptr;
    if (bytes >= kHugePagesFrom) madvise(data, length, MADV_HUGEPAGE);
    memory->data_ = data;
    memory->mapped_ = length;
  } else {
    void* data = nullptr;
    const size_t length = roundUp(bytes == 0 ? 1 : bytes, kAlignment);
    if (posix_memalign(&data, kAlignment, length) != 0) return nullptr;
    std::memset(data, 0, length);
    memory->data_ = data;
  }
  memory->bytes_ = bytes;
  liveBytes.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  liveBuffers.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

std::shared_ptr<HostMemory> HostMemory::adopt(void* data, uint64_t bytes,
                                              std::function<void()> release) {
  std::shared_ptr<HostMemory> memory(new HostMemory());
  memory->data_ = data;
  memory->bytes_ = bytes;
  memory->release_ = std::move(release);
  liveBytes.fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  liveBuffers.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

HostMemory::~HostMemory() {
  if (data_ == nullptr && !release_) return;
  if (release_) {
    release_();
  } else if (mapped_ != 0) {
    munmap(data_, mapped_);
  } else {
    std::free(data_);
  }
  liveBytes.fetch_sub(static_cast<int64_t>(bytes_), std::memory_order_relaxed);
  liveBuffers.fetch_sub(1, std::memory_order_relaxed);
}

Scratch::~Scratch() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

bool Scratch::reserve(size_t bytes) {
  if (bytes <= bytes_) return true;
  const size_t length = roundUp(bytes, 4096);
  void* data = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return false;
  if (data_ != nullptr) munmap(data_, bytes_);
  data_ = data;
  bytes_ = length;
  return true;
}

}  // namespace mercer::cpu
