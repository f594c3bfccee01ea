// What every routine is: a struct made from its arguments and from scratch memory, called once for each batch element.
//
//   template <class T> struct Name {
//     struct Args { Batch batch; ...; };           // the packed parameters
//     Name(const Args& args, Arena& arena);        // takes its memory; runs without memory when only the size is asked
//     void operator()(int64_t index);              // one element of the batch
//     int64_t order() const;                       // the size that decides whether threads pay
//   };
#pragma once

#include <cstddef>
#include <cstdint>

#include "../image.h"
#include "lapack.h"
#include "operand.h"

namespace mercer::cpu {

// Infos: 0 is success, k > 0 what LAPACK says, and this where the matrix holds NaN or infinity, which LAPACK is not given.
constexpr int32_t kNotFinite = -1;

// Hands out scratch memory piece by piece; without memory it only counts.
class Arena {
 public:
  explicit Arena(void* memory) : memory_(static_cast<uint8_t*>(memory)) {}

  template <class T>
  T* take(int64_t count) {
    constexpr size_t kAlign = 64;
    T* piece = memory_ == nullptr ? nullptr : reinterpret_cast<T*>(memory_ + used_);
    used_ += (static_cast<size_t>(count) * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    return piece;
  }

  size_t used() const { return used_; }

 private:
  uint8_t* memory_;
  size_t used_ = 0;
};

// An integer that LAPACK writes.
struct Written {
  Int raw = 0;
  Int value() const { return Lapack::get()->written(raw); }
  operator Int*() { return &raw; }
};

// The size that a workspace query left in the first element: float rounds large counts, upwards to be safe.
template <class T>
Int queried(T size) {
  return static_cast<Int>(std::ceil(static_cast<double>(size) * (1 + 1e-6))) + 1;
}

struct Builtin {
  const char* name;
  KernelFn run;
  size_t (*scratchBytes)(const void* args);
  size_t argBytes;
};

constexpr int64_t kThreadedOrder = 128;

template <class Routine>
void runRoutine(const void* packed, int64_t begin, int64_t end, void* scratch) {
  const auto& args = *static_cast<const typename Routine::Args*>(packed);
  Arena arena(scratch);
  Routine routine(args, arena);
  const LapackThreads threads(args.batch.count() == 1 && routine.order() >= kThreadedOrder);
  for (int64_t index = begin; index < end; ++index) routine(index);
}

template <class Routine>
size_t routineScratch(const void* packed) {
  Arena counting(nullptr);
  const Routine routine(*static_cast<const typename Routine::Args*>(packed), counting);
  return counting.used() + 64;  // never 0, so that there is memory to tell from counting
}

template <class Routine>
constexpr Builtin builtin(const char* name) {
  return {name, runRoutine<Routine>, routineScratch<Routine>, sizeof(typename Routine::Args)};
}

}  // namespace mercer::cpu
