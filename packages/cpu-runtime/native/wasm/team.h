// The threads of the module: the one that launches, and helpers, each an instance of the module in a worker, over one shared memory.
// Helpers take part in the work that is open; nothing waits for them to begin. Without shared memory there are none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../image.h"

namespace mercer::cpu::wasm {

// Threads that there can be. Each has a stack and scratch memory.
constexpr size_t kMostThreads = 128;

// Memory that grows. Only the launching thread has it grow.
class Staging {
 public:
  // Null when it cannot be had.
  void* reserve(size_t wanted);
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

size_t roundUp(size_t bytes);

// Runs `kernel(context, i, min(i + chunk, tasks), scratch)` for i = 0, chunk, 2 chunk, ... below `tasks`, on this thread with its
// `scratch` and on helpers with `scratchBytes` of their own. Returns when all are done. Inside such work it runs everything itself.
void runShared(KernelFn kernel, const void* context, int64_t tasks, int64_t chunk, size_t scratchBytes, void* scratch);

}  // namespace mercer::cpu::wasm
