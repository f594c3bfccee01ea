import { describe, expect, test } from 'vitest';
import { runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { random } from '../testing/pairwise-check.test-support.js';
import { emitRowsGradient, planRowsGradient } from './rows-gradient.js';

describe('gradients of prepared rows in the emulator', () => {
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
