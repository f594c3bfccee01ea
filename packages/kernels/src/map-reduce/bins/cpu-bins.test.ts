import { indexJ, ops, reduction, vi, vj } from '@mercer/formula';
import { describe, expect, it, test } from 'vitest';
import { cpuTestLimits, runnableLevels } from '../../testing/cpu-harness.test-support.js';
import { runCpuProgram, runInterpretedProgram } from '../../testing/cpu-program.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import { checkMapReduce } from '../map-reduce-check.test-support.js';
import { planMapReduce } from '../plan.js';
import { BINS, binsCases } from './bins-cases.test-support.js';

const limits = cpuTestLimits(runnableLevels().at(-1) ?? 'x86-64-v2');
const interpreter = { ...limits, interpreted: true } as const;
const sizes = { dtype: 'float32', rowsI: 37, rowsJ: 301, batch: 1 } as const;

describe('sums with components in memory, on the CPU', () => {
  test.each(binsCases(BINS))('%s', (_, one) => {
    checkMapReduce(one, limits, runCpuProgram);
    expect.assertions(1);
  });

  test.each(binsCases(BINS))('%s, interpreted', (_, one) => {
    checkMapReduce(one, interpreter, runInterpretedProgram);
    expect.assertions(1);
  });

  it('has as many components as are wanted', () => {
    const place = ops.mul(vi(0, 1), vj(1, 1));
    for (const [device, run] of [
      [limits, runCpuProgram],
      [interpreter, runInterpretedProgram],
    ] as const) {
      checkMapReduce(
        {
          ...sizes,
          rowsI: 2,
          reduction: reduction(
            'Sum',
            ops.oneHot(place, process.env['MERCER_TEST_FULL'] === '1' ? 50_000 : 10_000),
          ),
          units: 0,
          fill: ({ position, row }) => (position === 0 ? row + 100 : row),
        },
        device,
        run,
      );
    }
    expect.assertions(2);
  });
});

describe('the plan of a sum of vectors with one component each', () => {
  const planned = (
    formula: Parameters<typeof reduction>[1],
    device: typeof limits | typeof H200,
    rowsI = 1000,
  ) => planMapReduce({ ...sizes, rowsI, reduction: reduction('Sum', formula) }, device);
  const hot = ops.oneHot(vi(0, 1), BINS);

  it.each([
    ['itself', hot],
    ['a choice', ops.where(hot, vj(1, 1), 0)],
    ['a root of it', ops.sqrt(ops.where(hot, vj(1, 1), 0))],
  ])('keeps the components in memory, of %s', (_, formula) => {
    for (const device of [limits, interpreter, H200]) {
      const { bins, summary } = planned(formula, device);
      expect([bins, summary]).toEqual([BINS, expect.stringContaining('results in memory')]);
    }
  });

  it('compares each of them on a GPU where few rows are kept: few threads add to memory', () => {
    const many = ops.oneHot(vi(0, 1), 1000);
    for (const [formula, rows, isInMemory] of [
      [hot, 1, false],
      [hot, 1000, true],
      [many, 1, false],
      [many, 100, true],
    ] as const)
      expect([formula.dim, rows, planned(formula, H200, rows).bins !== undefined]).toEqual([
        formula.dim,
        rows,
        isInMemory,
      ]);
  });

  it.each([
    ['a product, which a NaN makes NaN everywhere', ops.mul(hot, vj(1, 1))],
    ['few components', ops.oneHot(vi(0, 1), 8)],
    ['what is added to all components', ops.add(hot, vj(1, 1))],
    ['what is chosen for all others', ops.where(hot, vj(1, 1), 1)],
    ['two places', ops.add(hot, ops.oneHot(vj(1, 1), BINS))],
    ['a vector of weights', ops.mul(hot, vj(1, BINS))],
    ['part of the components', ops.concat(hot, indexJ)],
  ])('keeps them in registers or loops, of %s', (_, formula) => {
    for (const device of [limits, H200]) expect(planned(formula, device).bins).toBeUndefined();
  });
});
