import { expect, test } from 'vitest';
import { userKernels } from './user-kernels.test-support.js';
import { emitUserKernel } from './user-kernel.js';

test('one list of parameters is the signature in both dialects', () => {
  const [, mixed] = userKernels();
  expect(emitUserKernel(mixed, 'cuda').source).toMatchInlineSnapshot(`
    "typedef unsigned char u8;
    typedef unsigned short u16;
    typedef int i32;
    typedef unsigned int u32;
    typedef long long i64;
    typedef unsigned long long u64;
    #define FN static __device__ __forceinline__
    FN u32 bits_of(float x) { return __float_as_uint(x); }
    FN float float_of(u32 x) { return __uint_as_float(x); }
    FN float float_of_half(u16 h) {
      const u32 sign = ((u32)h & 0x8000u) << 16, a = ((u32)h & 0x7fffu) << 13;
      const u32 finite = bits_of(float_of(a) * 5192296858534827628530496329220096.0f);
      const u32 special = a | 0x7f800000u;
      return float_of(sign | (a >= 0x0f800000u ? special : finite));
    }
    FN float from_float16(u16 x) { return (float)(float_of_half(x)); }
    #line 1 "helpers of mixed.cuda"
    #define ONE 1
    #line 1 "signature of mixed.cuda"
    extern "C" __global__ void user_mixed(i32 n, const u16* __restrict__ x, double scale, i64* __restrict__ count) {
    #line 1 "mixed.cuda"
    count[0] = ONE + n * (i64)(scale * from_float16(x[0]));
    }
    "
  `);
  expect(emitUserKernel(mixed, 'cpu').source).toMatchInlineSnapshot(`
    "#include <stdint.h>
    #include <stddef.h>
    typedef unsigned char u8;
    typedef unsigned short u16;
    typedef int i32;
    typedef unsigned int u32;
    typedef long long i64;
    typedef unsigned long long u64;
    #define FN static inline __attribute__((always_inline))
    FN u32 bits_of(float x) { u32 u; __builtin_memcpy(&u, &x, 4); return u; }
    FN float float_of(u32 u) { float x; __builtin_memcpy(&x, &u, 4); return x; }
    FN float float_of_half(u16 h) {
      const u32 sign = ((u32)h & 0x8000u) << 16, a = ((u32)h & 0x7fffu) << 13;
      const u32 finite = bits_of(float_of(a) * 5192296858534827628530496329220096.0f);
      const u32 special = a | 0x7f800000u;
      return float_of(sign | (a >= 0x0f800000u ? special : finite));
    }
    FN float from_float16(u16 x) { return (float)(float_of_half(x)); }
    #line 1 "helpers of mixed.cpu"
    #define ONE 1
    #line 1 "signature of mixed.cpu"
    static inline void user_body(i32 n, const u16* __restrict__ x, double scale, i64* __restrict__ count, const i64 begin, const i64 end) {
    #line 1 "mixed.cpu"
    count[0] = ONE + n * (i64)(scale * from_float16(x[0]));
    }
    struct Args { i32 n; const u16* x; double scale; i64* count; };
    extern "C" void user_mixed(const void* args, int64_t begin, int64_t end, void*) {
      const Args& p = *(const Args*)args;
      user_body(p.n, p.x, p.scale, p.count, begin, end);
    }
    "
  `);
});
