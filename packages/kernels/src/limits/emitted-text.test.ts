import { expect, it } from 'vitest';
import { CPU, emittedText } from '../testing/emitted-text.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { cpuFmaKernel } from './cpu-limit-kernels.js';
import { cudaLimitKernels, type LimitKernel } from './cuda-limit-kernels.js';

const limit = (wanted: string): LimitKernel['kernel'] => {
  const found = cudaLimitKernels(H200).find((one) => one.limit === wanted);
  if (found === undefined) throw new RangeError(`there is no limit '${wanted}'`);
  return found.kernel;
};

it('the loop of additions and maxima for a GPU, with the maximum that it calls', () => {
  expect(emittedText(limit('fp32-add-max'))).toMatchInlineSnapshot(`
    "// the larger, NaN if either is NaN
    __device__ __forceinline__ float max_nan(float x, float y) {
      float r;
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
      return r;
    }
    __device__ __forceinline__ float accumulate(float sum, float x, float y) {
      return max_nan(sum, fabsf(x - y));
    }

    extern "C" __global__ void __launch_bounds__(256, 2)
    limit_add_max(float* __restrict__ out, long long k, double p) {
      
      float x[8], y[8], sum[8][8] = {};
      #pragma unroll
      for (int i = 0; i < 8; ++i) x[i] = (float)(threadIdx.x % 29 + i * 3) * (float)0.37;
      #pragma unroll
      for (int j = 0; j < 8; ++j) y[j] = (float)(threadIdx.x % 31 + j * 5) * (float)0.41;
      const float change = (float)p * (float)1e-4;
      #pragma unroll 1
      for (int step = 0; step < (int)k; ++step) {
        #pragma unroll
        for (int j = 0; j < 8; ++j) y[j] += change;
        #pragma unroll
        for (int i = 0; i < 8; ++i)
          #pragma unroll
          for (int j = 0; j < 8; ++j) sum[i][j] = accumulate(sum[i][j], x[i], y[j]);
      }
      float total = 0;
      #pragma unroll
      for (int i = 0; i < 8; ++i)
        #pragma unroll
        for (int j = 0; j < 8; ++j) total += sum[i][j];
      out[(long long)blockIdx.x * 256 + threadIdx.x] = total;
    }
    "
  `);
});

it('the loop of multiply-adds for a GPU calls no helper', () => {
  const [helpers] = emittedText(limit('fp32-fma')).split('\nextern');
  expect(helpers).toMatchInlineSnapshot(`
    "__device__ __forceinline__ float accumulate(float sum, float x, float y) {
      return fmaf(x, y, sum);
    }
    "
  `);
});

it('the loop of multiply-adds for a CPU', () => {
  expect(emittedText(cpuFmaKernel(CPU, 'float32'), 'arguments')).toMatchInlineSnapshot(`
    "struct Args { T* out; int64_t tasks; int64_t iterations; double x; double y; };

    extern "C" void limit_cpu_fma_f32(const void* raw, int64_t begin, int64_t end, void*) {
      const Args& args = *(const Args*)raw;
      const V x = splat((T)args.x), y = splat((T)args.y);
      for (int64_t task = begin; task < end; ++task) {
        V s0 = y + (T)0 / (T)12, s1 = y + (T)1 / (T)12, s2 = y + (T)2 / (T)12, s3 = y + (T)3 / (T)12, s4 = y + (T)4 / (T)12, s5 = y + (T)5 / (T)12, s6 = y + (T)6 / (T)12, s7 = y + (T)7 / (T)12, s8 = y + (T)8 / (T)12, s9 = y + (T)9 / (T)12, s10 = y + (T)10 / (T)12, s11 = y + (T)11 / (T)12;
        for (int64_t i = 0; i < args.iterations; ++i) {
          s0 = s0 * x + y;
          s1 = s1 * x + y;
          s2 = s2 * x + y;
          s3 = s3 * x + y;
          s4 = s4 * x + y;
          s5 = s5 * x + y;
          s6 = s6 * x + y;
          s7 = s7 * x + y;
          s8 = s8 * x + y;
          s9 = s9 * x + y;
          s10 = s10 * x + y;
          s11 = s11 * x + y;
        }
        const V total = s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;
        T value = 0;
        for (int64_t lane = 0; lane < LANES; ++lane) value += total[lane];
        args.out[task] = value;
      }
    }
    "
  `);
});
