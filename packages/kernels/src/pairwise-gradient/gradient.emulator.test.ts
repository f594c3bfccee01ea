import { describe, expect, test } from 'vitest';
import { emitSum } from '../elementwise/emit-sum.js';
import { planSum } from '../elementwise/sum-plan.js';
import { runCudaKernel, runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { random } from '../testing/pairwise-check.test-support.js';
import {
  CASES,
  checkGradient,
  PARAMETER_CASES,
  type GradientRunner,
} from './gradient-check.test-support.js';
import { exchangeOperands } from './gradient-expressions.js';
import { emitRowsGradient, planRowsGradient } from './rows-gradient.js';

describe('gradient kernels in the emulator', () => {
  // Threads in a random order: a missing barrier shows.
  const runner: GradientRunner = {
    limits: H200,
    run: (program, launch) => {
      runCudaProgram(program, { ...launch, options: { blocks: 'shuffled' } });
    },
  };

  test.each(CASES)('rows: $name', (each) => {
    checkGradient(each, 'rows', runner);
    if (each.flags !== undefined) return;
    checkGradient({ ...each, forward: exchangeOperands(each.forward) }, 'rows', runner);
  });

  test.each(PARAMETER_CASES)('parameters: $name', (each) => {
    checkGradient(each, each.forward.parameters ?? ['p'], runner);
  });

  test.each(['each', 'block'] as const)('sums over an axis: %s', (mode) => {
    const [outer, count, inner] = mode === 'each' ? [3, 5, 70] : [2, 700, 3];
    const source = new Float32Array(outer * count * inner).map(() => random());
    const out = new Float32Array(outer * inner);
    const plan = planSum({ from: 'float32', to: 'float32', outputs: outer * inner, count });
    expect(plan.mode).toBe(mode);
    const scalars = { outer, count, inner, strideOuter: count * inner, strideCount: inner };
    runCudaKernel(emitSum(plan, 'cuda'), {
      scalars: { ...scalars, strideInner: 1 },
      pointers: [source, out],
    });
    out.forEach((x, index) => {
      const [o, i] = [Math.floor(index / inner), index % inner];
      let sum = 0;
      for (let j = 0; j < count; j++) sum += source[(o * count + j) * inner + i] ?? NaN;
      expect(Math.abs(x - sum)).toBeLessThan(2 ** -24 * sum * 1.001);
    });
  });

  test.each([true, false])('goes back through rows, normalised: %s', (normalise) => {
    const [m, k, batch] = [11, 37, 2];
    const x = new Float64Array(batch * m * k).map(() => random() - 0.5).fill(0, 0, k);
    const dy = new Float64Array(batch * m * k).map(() => random() - 0.5);
    const factors = new Float64Array(batch * k).map(() => random() + 0.5);
    for (const target of ['x', 'scale'] as const) {
      const out = new Float64Array(batch * m * k);
      const plan = planRowsGradient({ dtype: 'float64', normalise, target }, H200);
      runCudaProgram(emitRowsGradient(plan), {
        scalars: {
          m,
          k,
          batch,
          rowStrideX: k,
          stepStrideX: 1,
          batchStrideX: m * k,
          scaleBatchStride: k,
          scaleStride: 1,
          scaleValue: 0,
        },
        pointers: { x, dy, out, scaleAt: factors },
      });
      for (let row = 0; row < batch * m; row++) {
        const f = (t: number): number => factors[Math.floor(row / m) * k + t] ?? NaN;
        const z = Array.from({ length: k }, (_, t) => (x[row * k + t] ?? NaN) * f(t));
        const squares = z.reduce((total, value) => total + value * value, 0);
        const along = z.reduce((total, value, t) => total + value * (dy[row * k + t] ?? NaN), 0);
        z.forEach((value, t) => {
          const up = dy[row * k + t] ?? NaN;
          const turned = squares === 0 ? 0 : (up - (value * along) / squares) / Math.sqrt(squares);
          const dz = normalise ? turned : up;
          const want = dz * (target === 'x' ? f(t) : (x[row * k + t] ?? NaN));
          expect(Math.abs((out[row * k + t] ?? NaN) - want)).toBeLessThan(1e-12);
        });
      }
    }
  });
});
