import { mul, variable } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { emittedText } from '../testing/emitted-text.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { emitReduce, planReduce, type ReduceProblem } from './index.js';

const x = variable('x');
const squares: ReduceProblem = {
  kind: 'sum',
  expr: mul(x, x),
  kept: [300],
  reduced: [7],
  inputs: [{ name: 'x', dtype: 'float32', keptStrides: [7], reducedStrides: [1] }],
  out: 'float32',
  computesIn: 'float32',
  parameters: {},
  divisor: 1,
  spread: undefined,
};

describe('the text for a GPU', () => {
  it('of sums of squares along short rows, a thread each', () => {
    const program = emitReduce(planReduce(squares, H200).plan);
    expect(emittedText(program, 'kernel')).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(256)
      mercer_reduce(const float* x0, float* out, i64 outputs, i64 count, i64 parts, i64 perPart, double divisor, i64 kn0, i64 ks0_0, i64 rn0, i64 rs0_0) {
        const auto value = [&](T x0) {
          const float t0 = x0 * x0;
          return (T)(t0);
        };
        const int mine = threadIdx.x % 256, member = threadIdx.x / 256;
        const i64 groups = (outputs + 255) / 256;
        for (i64 task = blockIdx.x; task < groups * parts; task += gridDim.x) {
          const i64 part = task / groups, result = (task - part * groups) * 256 + mine;
          const i64 begin = part * perPart, end = begin + perPart < count ? begin + perPart : count;
          Accumulator own = Accumulator::none();
          if (result < outputs) {
            i64 kept0 = 0;
            kept0 += result * ks0_0;
      #pragma unroll 4
            for (i64 at = begin + member; at < end; at += 1) {
              i64 reduced0 = 0;
              reduced0 += at * rs0_0;
              own.add(value(load_f32(x0[kept0 + reduced0])), at);
            }
          }
          if (member == 0 && result < outputs) out[result] = store(own.result(divisor));
        }
      }
      "
    `);
  });

  it('of places of maxima that are merged out of parts', () => {
    const program = emitReduce(
      planReduce(
        {
          ...squares,
          kind: 'argMax',
          expr: x,
          kept: [],
          reduced: [40_000],
          inputs: [{ name: 'x', dtype: 'float32', keptStrides: [], reducedStrides: [1] }],
          out: 'int32',
        },
        H200,
      ).plan,
    );
    expect(emittedText(program, 'kernel', 1)).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(256)
      mercer_reduce_merge(i32* out, i64 outputs, i64 count, i64 parts, i64 perPart, double divisor, const Accumulator* workspace) {
        __shared__ Accumulator shared[256];
        const int member = threadIdx.x;
        for (i64 result = blockIdx.x; result < outputs; result += gridDim.x) {
          Accumulator own = Accumulator::none();
          for (i64 part = member; part < parts; part += 256) own.merge(workspace[part * outputs + result]);
          shared[threadIdx.x] = own;
      #pragma unroll 1
          for (int half = 128; half > 0; half /= 2) {
            __syncthreads();
            if (member < half) shared[threadIdx.x].merge(shared[threadIdx.x + half * 1]);
          }
          own = shared[threadIdx.x];
          if (member == 0) out[result] = store(own.result(divisor));
          __syncthreads();
        }
      }
      "
    `);
  });
});
