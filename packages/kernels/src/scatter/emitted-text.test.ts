import { describe, expect, it } from 'vitest';
import { emittedText } from '../testing/emitted-text.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import {
  emitCountRows,
  emitGatherRows,
  emitScatterAdd,
  planCountRows,
  planGatherRows,
  planScatterAdd,
} from './index.js';

const sizes = { index: 'int32', count: 100, rows: 10, columns: 3 } as const;
const sums = { ...sizes, from: 'float32', to: 'float32' } as const;

describe('the text for a GPU', () => {
  it('of sums by index', () => {
    const program = emitScatterAdd(planScatterAdd(sums, H200));
    expect(emittedText(program, 'kernel')).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(256)
      scatter_direct(const float* __restrict__ values, const i32* __restrict__ index, float* __restrict__ out, i64 count, i64 rows, i64 columns, i64 valueStride) {
        __shared__ double sums[8][16];
        const i64 row = blockIdx.x, first = (i64)blockIdx.y * 16;
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        double sum[16] = {};
        for (i64 from = threadIdx.x; from < count; from += 2048) {
          bool mine[8];
          #pragma unroll
          for (int j = 0; j < 8; ++j) {
            const i64 n = from + j * 256;
            mine[j] = n < count && (i64)index[n] == row;
          }
          #pragma unroll
          for (int j = 0; j < 8; ++j)
            if (mine[j]) {
              const float* const value = values + (from + j * 256) * valueStride + first;
              #pragma unroll
              for (int c = 0; c < 16; ++c)
                if (first + c < columns) sum[c] += (double)value[c];
            }
        }
        #pragma unroll
        for (int c = 0; c < 16; ++c) {
          if (first + c >= columns) break;
          #pragma unroll
          for (int step = 16; step > 0; step /= 2) {
            const double other = __shfl_down_sync(0xffffffffu, sum[c], step);
            sum[c] += other;
          }
          if (lane == 0) sums[warp][c] = sum[c];
        }
        __syncthreads();
        const int c = threadIdx.x;
        if (c >= 16 || first + c >= columns) return;
        double all = sums[0][c];
        #pragma unroll
        for (int w = 1; w < 8; ++w) all += sums[w][c];
        out[row * columns + first + c] = (float)all;
      }
      "
    `);
  });

  it('of counts', () => {
    const program = emitCountRows(planCountRows({ ...sizes, to: 'int32' }, H200));
    expect(emittedText(program, 'kernel')).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(256)
      count_rows_direct(const i32* __restrict__ index, i32* __restrict__ out, i64 count, i64 rows) {
        __shared__ u32 sums[8];
        const i64 row = blockIdx.x;
        u32 sum = 0u;
        for (i64 from = threadIdx.x; from < count; from += 2048) {
          bool mine[8];
          #pragma unroll
          for (int j = 0; j < 8; ++j) {
            const i64 n = from + j * 256;
            mine[j] = n < count && (i64)index[n] == row;
          }
          #pragma unroll
          for (int j = 0; j < 8; ++j)
            if (mine[j]) ++sum;
        }
        {
          #pragma unroll
          for (int step = 16; step > 0; step /= 2) {
            const u32 other = __shfl_down_sync(0xffffffffu, sum, step);
            sum += other;
          }
        }
        if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
        __syncthreads();
        if (threadIdx.x > 0) return;
        u32 all = sums[0];
        #pragma unroll
        for (int w = 1; w < 8; ++w) all += sums[w];
        out[row] = (i32)all;
      }
      "
    `);
  });

  it('of rows by index', () => {
    const program = emitGatherRows(planGatherRows({ ...sizes, dtype: 'float32' }, H200));
    expect(emittedText(program, 'kernel')).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(256)
      gather_rows(const u32* __restrict__ x, const i32* __restrict__ index, u32* __restrict__ out, i64 count, i64 rows, i64 columns, i64 tableStride) {
        for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < count * columns; i += (i64)gridDim.x * 256) {
          const i64 n = row_of(i, columns), r = (i64)index[n];
          out[i] = (u64)r < (u64)rows ? x[r * tableStride + (i - n * columns)] : (u32)0x7fc00000u;
        }
      }
      "
    `);
  });
});
