import { expect, it } from 'vitest';
import { emittedText } from '../testing/emitted-text.test-support.js';
import { emitTf32Split } from './emit-tf32-split.js';

it('the text of parts for tensor cores', () => {
  expect(emittedText(emitTf32Split('parts'), 'kernel')).toMatchInlineSnapshot(`
    "extern "C" __global__ void __launch_bounds__(256)
    mercer_tf32_parts(const float* __restrict__ from, float* __restrict__ hi, float* __restrict__ lo, i64 length, i64 lines, i64 batch, i64 ldx, i64 batchStrideX, i64 ldo) {
      const i64 firstRow = (i64)blockIdx.y * blockDim.y + threadIdx.y, rowStep = (i64)gridDim.y * blockDim.y;
      const i64 firstX = (i64)blockIdx.x * blockDim.x + threadIdx.x, xStep = (i64)gridDim.x * blockDim.x;
      for (i64 row = firstRow; row < lines * batch; row += rowStep) {
        const i64 layer = row / lines, line = row - layer * lines;
        const i64 at = layer * batchStrideX + line * ldx, to = row * ldo;
        for (i64 i = firstX; i < length; i += xStep) {
          const float x = from[at + i];
          const u32 bits = __float_as_uint(x);
          const u32 rounded = (bits + 0x1000u) & 0xffffe000u;
          const u32 top = (rounded & 0x7f800000u) == 0x7f800000u ? bits & 0xffffe000u : rounded;
          const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
          const float high = __uint_as_float(finite ? top : 0u);
          hi[to + i] = high;
          lo[to + i] = finite ? x - high : 0.0f;
        }
      }
    }
    "
  `);
});

it('the text of numbers that are not finite', () => {
  expect(emittedText(emitTf32Split('specials'), 'kernel')).toMatchInlineSnapshot(`
    "extern "C" __global__ void __launch_bounds__(256)
    mercer_tf32_specials(const float* __restrict__ from, float* __restrict__ hi, i64 length, i64 lines, i64 batch, i64 ldx, i64 batchStrideX, i64 ldo) {
      const i64 firstRow = (i64)blockIdx.y * blockDim.y + threadIdx.y, rowStep = (i64)gridDim.y * blockDim.y;
      const i64 firstX = (i64)blockIdx.x * blockDim.x + threadIdx.x, xStep = (i64)gridDim.x * blockDim.x;
      for (i64 row = firstRow; row < lines * batch; row += rowStep) {
        const i64 layer = row / lines, line = row - layer * lines;
        const i64 at = layer * batchStrideX + line * ldx, to = row * ldo;
        for (i64 i = firstX; i < length; i += xStep) {
          const float x = from[at + i];
          if ((__float_as_uint(x) & 0x7f800000u) == 0x7f800000u) hi[to + i] = x;
        }
      }
    }
    "
  `);
});
