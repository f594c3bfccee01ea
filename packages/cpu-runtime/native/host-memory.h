// 64-byte aligned, zeroed host memory with one owner count.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace mercer::cpu {

constexpr size_t kAlignment = 64;

class HostMemory {
 public:
  // Null when the system has no such amount of memory.
  static std::shared_ptr<HostMemory> allocate(uint64_t bytes);
  // Memory that someone else owns (a V8 ArrayBuffer); `release` runs on any thread.
  static std::shared_ptr<HostMemory> adopt(void* data, uint64_t bytes,
                                           std::function<void()> release);

  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  void* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

  static std::atomic<int64_t> liveBytes;
  static std::atomic<int64_t> liveBuffers;

 private:
  HostMemory() = default;

  void* data_ = nullptr;
  uint64_t bytes_ = 0;
  size_t mapped_ = 0;  // length of the mapping, 0 for heap memory
  std::function<void()> release_;
};

// Scratch of one pool thread: grown on demand, never shrunk, not zeroed.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // False when it cannot be had.
  bool reserve(size_t bytes);
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace mercer::cpu
