// What every routine is: a struct made from its arguments and from scratch memory, called once for each batch element.
//
//   template <class T> struct Name {
//     struct Args { Batch batch; ...; };           // the packed parameters
//     Name(const Args& args, Arena& arena);        // takes its memory; runs without memory when only the size is asked
//     void operator()(const Team& team, int64_t index);  // one element of the batch
//   };
#pragma once

#include <cstddef>
#include <cstdint>

#include "../builtin.h"
#include "blocked.h"
#include "lapack.h"

namespace mercer::cpu {

// Infos: 0 is success, k > 0 as LAPACK has it, and this where the matrix holds NaN or infinity: some iterations of LAPACK do not end
// on them.
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

inline size_t tileScratchBytes() {
  return std::max(tileKernels<float>().scratchBytes, tileKernels<double>().scratchBytes);
}

template <class Routine>
void runRoutine(const void* packed, int64_t begin, int64_t end, void* scratch) {
  Arena arena(scratch);
  const Team team(arena.take<uint8_t>(tileScratchBytes()), tileScratchBytes());
  Routine routine(*static_cast<const typename Routine::Args*>(packed), arena);
  for (int64_t index = begin; index < end; ++index) routine(team, index);
}

template <class Routine>
size_t routineScratch(const void* packed) {
  Arena counting(nullptr);
  counting.take<uint8_t>(tileScratchBytes());
  const Routine routine(*static_cast<const typename Routine::Args*>(packed), counting);
  return counting.used() + 64;  // never 0, so that there is memory to tell from counting
}

template <class Routine>
constexpr Builtin builtin(const char* name, bool needsLapack) {
  return {name, runRoutine<Routine>, routineScratch<Routine>, sizeof(typename Routine::Args),
          needsLapack};
}

}  // namespace mercer::cpu
