// The floating-point control word of the calling thread, without its sticky exception flags.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace mercer::cpu {

#if defined(__x86_64__)
constexpr uint64_t kDefaultFpControl = 0x1F80;

inline uint64_t fpControl() { return _mm_getcsr() & 0xFFC0u; }
inline void setFpControl(uint64_t word) { _mm_setcsr(static_cast<unsigned>(word)); }
#elif defined(__aarch64__)
constexpr uint64_t kDefaultFpControl = 0;

inline uint64_t fpControl() {
  uint64_t word;
  __asm__ volatile("mrs %0, fpcr" : "=r"(word));
  return word;
}
inline void setFpControl(uint64_t word) { __asm__ volatile("msr fpcr, %0" ::"r"(word)); }
#else
#error "cpu-runtime supports x86-64 and arm64"
#endif

}  // namespace mercer::cpu
