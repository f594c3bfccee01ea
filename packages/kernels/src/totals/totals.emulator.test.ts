import { describe, expect, it, test } from 'vitest';
import type { DType } from '../dtype.js';
import { PlanError } from '../plan-error.js';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { emitTotals, totalsBlocks } from './cuda-totals.js';
import { mostRuns, planTotals } from './plan-totals.js';
import { productsProblem, totalsProblem } from './totals-problems.test-support.js';

const value = (s: number, i: number): number => (((i * 7 + s * 3) % 23) - 11) / 8;

function run(dtype: DType, arrays: readonly (Float32Array | Float64Array)[]) {
  const problem = totalsProblem(
    dtype,
    arrays.map(({ length }) => length),
  );
  const { plan, scalars } = planTotals(problem, H200);
  const kernel = emitTotals(plan);
  const count = Int32Array.of(2);
  const out = [count, new Float32Array(1), new Float64Array(1), new Float32Array(1)] as const;
  const partials = new Float64Array(totalsBlocks(plan, scalars) * 2).fill(NaN);
  runCudaKernel(kernel, {
    scalars,
    pointers: [...arrays, count, ...out, partials, new Int32Array(1)],
  });
  return out.map((one) => one[0] ?? NaN);
}

describe('totals in the emulator', () => {
  const counts = [5, 20_001, 1, 8192, 33];

  test.each(['float32', 'float64'] as const)(
    'are sums over all runs, and what follows from them: %s',
    (dtype) => {
      const Kind = dtype === 'float32' ? Float32Array : Float64Array;
      const arrays = counts.map((count, s) => new Kind(count).map((_, i) => value(s, i)));
      const squares = arrays.reduce(
        (sum, one) => (one as Float64Array).reduce((all, x) => all + x * x, sum),
        0,
      );
      const [next, bad, norm, rate] = run(dtype, arrays);
      expect([next, bad]).toEqual([3, 0]);
      expect(norm).toBeCloseTo(Math.sqrt(squares), 10);
      expect(rate).toBeCloseTo(0.5 / (1 - 0.9 ** 3), 6);
      const lost = arrays.map((one) => one.slice());
      (lost[1] as Float64Array)[20_000] = NaN;
      (lost[4] as Float64Array)[0] = -Infinity;
      expect(run(dtype, lost)[1]).toBe(2);
    },
  );

  it('take runs that begin anywhere', () => {
    const memory = Float32Array.from({ length: 101 }, (_, i) => value(0, i));
    const [, , norm] = run('float32', [memory.subarray(1), memory.subarray(0, 1)]);
    expect(norm).toBeCloseTo(Math.hypot(...memory), 10);
  });

  it.each([
    [3, 0],
    [3, 1],
    [12, 0],
    [21, 0],
  ])('are products of %d vectors that begin %d elements behind a pack', (vectors, from) => {
    const count = 9001;
    const memory = Array.from({ length: vectors }, (_, s) =>
      Float32Array.from({ length: count + 1 }, (_, i) => value(s, i)),
    );
    const arrays = memory.map((one) => one.subarray(from, from + count));
    const { plan, scalars } = planTotals(productsProblem('float32', vectors, count), H200);
    const sums = new Float64Array(2 * vectors);
    const partials = new Float64Array(totalsBlocks(plan, scalars) * 2 * vectors).fill(NaN);
    runCudaKernel(emitTotals(plan), {
      scalars,
      pointers: [...arrays, sums, partials, new Int32Array(1)],
    });
    const [first, second] = arrays as [Float32Array, Float32Array];
    for (const [k, one] of arrays.entries()) {
      const [wanted, change] = [0, 1].map((less) =>
        one.reduce((sum, x, i) => sum + x * ((first[i] ?? NaN) - less * (second[i] ?? NaN)), 0),
      ) as [number, number];
      expect(sums[2 * k]).toBeCloseTo(wanted, 8);
      expect(sums[2 * k + 1]).toBeCloseTo(change, 8);
    }
  });

  it('have no more terms than sums of a warp fit in shared memory', () => {
    const emit = (vectors: number) =>
      emitTotals(planTotals(productsProblem('float32', vectors, 1), H200).plan);
    expect(emit(95).source).toContain('__launch_bounds__(32)');
    expect(() => emit(96)).toThrow(
      new PlanError('LIMIT', 'emitTotals: there are 192 terms. Pass 191 at most.'),
    );
  });

  it('take as many runs as parameters hold', () => {
    const most = mostRuns(totalsProblem('float32', []), H200);
    const counts_ = new Array<number>(most).fill(3);
    const kernel = emitTotals(planTotals(totalsProblem('float32', counts_), H200).plan);
    expect(8 * kernel.params.length).toBeLessThanOrEqual(4096);
    expect(8 * kernel.params.length).toBeGreaterThan(4096 - 24 - 8);
    const refused = (counts: readonly number[]): unknown => {
      try {
        return planTotals(totalsProblem('float32', counts), H200);
      } catch (error) {
        return error;
      }
    };
    expect(refused([...counts_, 1])).toBeInstanceOf(PlanError);
    expect(refused([...counts_, 1])).toMatchObject({
      code: 'LIMIT',
      message: `planTotals: there are ${most + 1} runs, and the parameters of a launch hold ${most}. Pass 1 to ${most}.`,
    });
    expect(refused([])).toBeInstanceOf(PlanError);
    expect(refused([])).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});
