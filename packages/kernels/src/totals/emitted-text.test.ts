import { mul, sqrt, variable } from '@mercer/formula';
import { expect, it } from 'vitest';
import { emittedText } from '../testing/emitted-text.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { emitTotals, planTotals } from './index.js';

it('the text of the norm of two runs for a GPU', () => {
  const x = variable('x');
  const { plan } = planTotals(
    {
      terms: { squares: mul(x, x) },
      elements: ['x'],
      dtype: 'float32',
      counts: [10, 20_000],
      numbers: [],
      parameters: {},
      results: [{ expr: sqrt(variable('squares')), dtype: 'float32' }],
      sums: false,
    },
    H200,
  );
  expect(emittedText(emitTotals(plan), 'kernel')).toMatchInlineSnapshot(`
    "extern "C" __global__ void __launch_bounds__(256)
    mercer_totals(const float* x0_of0, i64 n0_of0, i64 end_of0, const float* x0_of1, i64 n0_of1, i64 end_of1, float* out0, double* partials, int* ticket) {
      __shared__ Sums shared[256];
      __shared__ int is_last;
      const float* x0;
      i64 n0, block = blockIdx.x, blocks;
      if (block < end_of0) {
        x0 = x0_of0; n0 = n0_of0;
        blocks = end_of0;
      } else {
        x0 = x0_of1; n0 = n0_of1;
        block -= end_of0; blocks = end_of1 - end_of0;
      }
      Sums own = {};
      const auto add = [&](double x) {
        const double t0 = x * x;
        own.v[0] += t0;
      };
      const i64 first = block * 256 + threadIdx.x, step = blocks * 256;
      i64 done = 0;
      if ((u64)x0 % sizeof(Pack) == 0) {
        const i64 packs = n0 / 4;
    #pragma unroll 2
        for (i64 i = first; i < packs; i += step) {
          const Pack pack = reinterpret_cast<const Pack*>(x0)[i];
    #pragma unroll
          for (int j = 0; j < 4; ++j) add(load_f32(pack.v[j]));
        }
        done = packs * 4;
      }
      for (i64 i = done + first; i < n0; i += step) add(load_f32(x0[i]));
      add_up(shared, own);
      if (threadIdx.x == 0) {
        for (int r = 0; r < 1; ++r) partials[(i64)blockIdx.x * 1 + r] = shared[0].v[r];
        __threadfence();
        is_last = atomicAdd(ticket, 1) == (int)gridDim.x - 1;
      }
      __syncthreads();
      if (!is_last) return;
      __threadfence();
      for (int r = 0; r < 1; ++r) own.v[r] = 0;
      for (i64 i = threadIdx.x; i < gridDim.x; i += 256)
        for (int r = 0; r < 1; ++r) own.v[r] += __ldcg(partials + i * 1 + r);
      add_up(shared, own);
      if (threadIdx.x != 0) return;
      const double sum0 = shared[0].v[0];
      const double z0 = sqrt(sum0);
      *out0 = store_f32(z0);
    }
    "
  `);
});
