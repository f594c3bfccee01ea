import { describe, expect, test } from 'vitest';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { cudaLimitKernels } from './cuda-limit-kernels.js';

const STEPS = 5;
const P = 1.3;
const loops = cudaLimitKernels({ ...H200, multiprocessors: 1 });

type Step = (sum: number, x: number, y: number) => number;
const power: Step = (sum, x, y) => sum + Math.abs(x - y) ** P;

const CASES: readonly (readonly [
  limit: string,
  columns: number,
  issueSlots: number,
  step: Step,
])[] = [
  ['fp32-add-add', 8, 2, (sum, x, y) => sum + Math.abs(x - y)],
  ['fp32-fma-add', 8, 2, (sum, x, y) => sum + Math.abs(x - y)],
  ['fp32-add-fma', 8, 2, (sum, x, y) => sum + (x - y) ** 2],
  ['fp32-add-max', 8, 2, (sum, x, y) => Math.max(sum, Math.abs(x - y))],
  ['fp32-fma', 8, 1, (sum, x, y) => sum + x * y],
  ['fp32-power-special', 8, 6, power],
  ['fp32-power-mixed', 8, 10.5, power],
  ['fp64-add-fma', 4, 2, (sum, x, y) => sum + (x - y) ** 2],
  ['fp64-add-max', 4, 2, (sum, x, y) => Math.max(sum, Math.abs(x - y))],
];

/** What a thread adds up over a tile of 8 rows. */
function tileTotal(thread: number, columns: number, step: Step): number {
  let total = 0;
  for (let i = 0; i < 8; i++) {
    for (let j = 0; j < columns; j++) {
      const x = ((thread % 29) + i * 3) * 0.37;
      const y = ((thread % 31) + j * 5) * 0.41;
      let sum = 0;
      for (let k = 1; k <= STEPS; k++) sum = step(sum, x, y + k * P * 1e-4);
      total += sum;
    }
  }
  return total;
}

describe('the limit loops', () => {
  test('are all the ones that count pairs', () => {
    const names = loops.map(({ limit }) => limit).filter((limit) => limit.startsWith('fp'));
    expect(names.sort()).toEqual(CASES.map(([limit]) => limit).sort());
  });

  test.each(CASES)(
    '%s does the arithmetic of its norm in every step',
    (limit, columns, issueSlots, step) => {
      const kernel = loops.find((loop) => loop.limit === limit)?.kernel;
      if (kernel === undefined) throw new Error(`there is no loop ${limit}`);
      const scalars = { k: STEPS, p: P };
      const { grid, block } = kernel.geometry(scalars);
      const threads = grid[0] * block[0];
      const out = limit.startsWith('fp32') ? new Float32Array(threads) : new Float64Array(threads);
      runCudaKernel(kernel, { scalars, pointers: [out] });
      for (let thread = 0; thread < threads; thread++) {
        const want = tileTotal(thread % block[0], columns, step);
        expect(Math.abs((out[thread] ?? NaN) / want - 1)).toBeLessThan(1e-5);
      }
      const pairs = threads * 8 * columns * STEPS;
      expect(kernel.cost?.(scalars).issueSlots).toBe(issueSlots * pairs);
    },
  );
});
