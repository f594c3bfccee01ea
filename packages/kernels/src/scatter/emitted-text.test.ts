import { describe, expect, it } from 'vitest';
import { CPU, emittedText } from '../testing/emitted-text.test-support.js';
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

describe('the text for a CPU', () => {
  it('of sums by index', () => {
    const program = emitScatterAdd(planScatterAdd(sums, CPU));
    expect(emittedText(program, 'arguments')).toMatchInlineSnapshot(`
      "struct Args {
        const S* values;
        const i32* index;
        D* out;
        i64 count, rows, columns, value_stride, rows_per_task, columns_per_task;
      };
      FN i64 least(i64 x, i64 y) { return x < y ? x : y; }
      // the row counted from another; one that is below it or below 0 is a huge number
      FN u64 row_from(const Args& g, i64 n, i64 first) { return (u64)(i64)g.index[n] - (u64)first; }

      extern "C" void mercer_scatter_direct(const void* args, int64_t begin, int64_t end, void* scratch) {
        const Args& g = *(const Args*)args;
        double* const sums = (double*)scratch;
        const i64 strips = (g.columns + g.columns_per_task - 1) / g.columns_per_task;
        for (i64 task = begin; task < end; task++) {
          const i64 r0 = task / strips * g.rows_per_task, rows = least(g.rows_per_task, g.rows - r0);
          const i64 c0 = task % strips * g.columns_per_task, columns = least(g.columns_per_task, g.columns - c0);
          for (i64 i = 0; i < rows * columns; i++) sums[i] = 0;
          for (i64 n = 0; n < g.count; n++) {
            const u64 r = row_from(g, n, r0);
            if (r >= (u64)rows) continue;
            const S* const from = g.values + n * g.value_stride + c0;
            double* const to = sums + r * columns;
            for (i64 c = 0; c < columns; c++) to[c] += (double)from[c];
          }
          for (i64 r = 0; r < rows; r++)
            for (i64 c = 0; c < columns; c++) g.out[(r0 + r) * g.columns + c0 + c] = (D)sums[r * columns + c];
        }
      }
      "
    `);
  });

  it('of counts', () => {
    const program = emitCountRows(planCountRows({ ...sizes, to: 'int32' }, CPU));
    expect(emittedText(program, 'arguments')).toMatchInlineSnapshot(`
      "struct Args { const i32* index; D* out; i64 count, rows, rows_per_task; };

      extern "C" void mercer_count_rows(const void* args, int64_t begin, int64_t end, void*) {
        const Args& g = *(const Args*)args;
        for (i64 task = begin; task < end; task++) {
          const i64 r0 = task * g.rows_per_task;
          const i64 rows = g.rows - r0 < g.rows_per_task ? g.rows - r0 : g.rows_per_task;
          D* const to = g.out + r0;
          for (i64 r = 0; r < rows; r++) to[r] = 0;
          for (i64 n = 0; n < g.count; n++) {
            const u64 r = (u64)(i64)g.index[n] - (u64)r0;
            if (r < (u64)rows) to[r]++;
          }
        }
      }
      "
    `);
  });

  it('of rows by index', () => {
    const program = emitGatherRows(planGatherRows({ ...sizes, dtype: 'float32' }, CPU));
    expect(emittedText(program, 'arguments')).toMatchInlineSnapshot(`
      "struct Args { const T* x; const i32* index; T* out; i64 count, rows, columns, table_stride; };

      extern "C" void mercer_gather_rows(const void* args, int64_t begin, int64_t end, void*) {
        const Args& g = *(const Args*)args;
        const i64 last = end * 256 < g.count ? end * 256 : g.count;
        for (i64 n = begin * 256; n < last; n++) {
          const u64 r = (u64)(i64)g.index[n];
          T* const to = g.out + n * g.columns;
          if (r < (u64)g.rows) {
            const T* const from = g.x + (i64)r * g.table_stride;
            for (i64 c = 0; c < g.columns; c++) to[c] = from[c];
          } else {
            for (i64 c = 0; c < g.columns; c++) to[c] = (T)0x7fc00000u;
          }
        }
      }
      "
    `);
  });
});
