import { expect, it } from 'vitest';
import { CPU, emittedText } from '../testing/emitted-text.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { emitRows, planRows } from './index.js';
import type { RowsProblem } from './rows-problem.js';

const scaled: RowsProblem = {
  dtype: 'float32',
  m: 100,
  k: 30,
  batch: 1,
  layout: 'row',
  scale: true,
  normalise: false,
  norms: false,
};

it('the text of scaled rows for a GPU', () => {
  expect(emittedText(emitRows(planRows(scaled, H200)))).toMatchInlineSnapshot(`
    "extern "C" __global__ void __launch_bounds__(256)
    rows_prepare(const float* __restrict__ x, float* __restrict__ out, long long m, long long k, long long batch,
        long long ldx, long long ldo, long long batchStrideX, long long batchStrideOut,
        const float* __restrict__ scaleAt, long long scaleBatchStride, long long scaleStride, double scaleValue) {
      const int lane = threadIdx.x % 32;
      const long long index = (long long)blockIdx.x * 8 + threadIdx.x / 32;
      if (index >= m * batch) return;
      const long long layer = index / m, row = index - layer * m;
      const float* const source = x + layer * batchStrideX + row * ldx;
      float* const target = out + layer * batchStrideOut + row * ldo;
      const auto value = [&](long long c) { return (double)source[c] * (scaleAt == nullptr ? scaleValue : (double)scaleAt[layer * scaleBatchStride + c * scaleStride]); };
      for (long long c = lane; c < k; c += 32) target[c] = (float)value(c);
    }
    "
  `);
});

it('the text of scaled rows for a CPU', () => {
  expect(emittedText(emitRows(planRows(scaled, CPU)), 'arguments')).toMatchInlineSnapshot(`
    "struct Args {
      const T* x;
      T* out;
      int64_t m, k, batch, ldx, ldo, batch_x, batch_out;
      const T* scale_at;
      int64_t scale_batch, scale_stride;
      double scale_value;
    };

    extern "C" void mercer_rows(const void* args, int64_t begin, int64_t end, void*) {
      const Args& g = *(const Args*)args;
      const int64_t blocks = (g.m + ROWS - 1) / ROWS;
      for (int64_t task = begin; task < end; task++) {
        const int64_t layer = task / blocks, start = task % blocks * ROWS;
        const int64_t rows = g.m - start < ROWS ? g.m - start : ROWS;
        const T* source = g.x + layer * g.batch_x + start * g.ldx;
        T* target = g.out + layer * g.batch_out + start * g.ldo;
        const T* scales = g.scale_at == nullptr ? nullptr : g.scale_at + layer * g.scale_batch;
        const auto scale = [&](int64_t c) { return scales == nullptr ? g.scale_value : (double)scales[c * g.scale_stride]; };
        const auto value = [&](int64_t r, int64_t c) { return (double)source[r * g.ldx + c] * scale(c); };
        for (int64_t r = 0; r < rows; r++) {
          for (int64_t c = 0; c < g.k; c++) target[r * g.ldo + c] = (T)(value(r, c));
        }
      }
    }
    "
  `);
});
