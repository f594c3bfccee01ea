// Whole numbers of all kernels.
#pragma once

#define INLINE static inline __attribute__((always_inline, unused))

INLINE int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

// 64-bit division of numbers that are not negative; short where both fit in 32 bits.
INLINE int64_t quotient(int64_t a, int64_t b) {
  return (((uint64_t)a | (uint64_t)b) >> 32) == 0 ? (int64_t)((uint32_t)a / (uint32_t)b) : a / b;
}
