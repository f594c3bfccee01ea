import { expect, it } from 'vitest';
import { emittedText } from '../testing/emitted-text.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { emitRows, planRows } from './index.js';
import type { RowsProblem } from './plan-rows.js';

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
