import { ops, reduction, REDUCTION_KINDS, vi, vj } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import {
  compileKernel,
  cpuTestLimits,
  machines,
  runnableLevels,
} from '../../testing/cpu-harness.test-support.js';
import { runCpuKernel, runCpuProgram } from '../../testing/cpu-program.test-support.js';
import { checkMapReduce, wholeNumber } from '../map-reduce-check.test-support.js';
import {
  caseOf,
  DIMS,
  STRUCTURE_CASES,
  SWEEP,
  sweepCase,
  VARIANT_CASES,
  LOOPED_SIZES,
} from './cases.test-support.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = cpuTestLimits(level);
/** Sizes whose plan takes several vectors of rows, which is a longer text. */
const MANY = { rowsI: 1000, rowsJ: 1000 };

describe('map-reduce of long vectors on the CPU', () => {
  test.each(SWEEP.map((one, n) => ({ ...one, n })))(
    '$kind over axis $axis, points of $inner, results of $outer, $numbers',
    ({ n, ...sweep }) => {
      const many = n % 8 === 0 || Math.max(sweep.inner, sweep.outer) <= 8;
      for (const sizes of LOOPED_SIZES) {
        const one = { ...caseOf(sweep), ...sizes, ...(many && { planned: MANY }) };
        checkMapReduce(one, limits, runCpuProgram);
      }
    },
  );

  // pairs of them are in cpu-every-pair.test.ts
  test('the sweep has every dim and every reduction', () => {
    expect([...new Set(SWEEP.map(({ inner }) => inner))]).toEqual([...DIMS]);
    const kinds = new Set(SWEEP.map(({ kind }) => kind));
    expect(REDUCTION_KINDS.filter((kind) => !kinds.has(kind))).toEqual([]);
  });

  test.each(STRUCTURE_CASES)('%s', (_, one) => {
    for (const sizes of LOOPED_SIZES) {
      checkMapReduce({ ...one, ...sizes, dtype: 'float32' }, limits, runCpuProgram);
    }
  });

  test.each(VARIANT_CASES)('%s', (_, one) => {
    checkMapReduce({ ...one, dtype: 'float32' }, limits, runCpuProgram);
  });

  test('few rows, many terms', () => {
    const sizes = { rowsI: 3, rowsJ: 9000 };
    for (const [kind, dtype] of [
      ['Sum', 'float64'],
      ['MinArgMin', 'float32'],
    ] as const) {
      const one = { ...sweepCase(kind, 20, 1, 1), dtype };
      checkMapReduce(
        { ...one, ...sizes, batch: 2 },
        { ...limits, cores: 16 },
        (program, launch) => {
          expect(program.steps.length).toBe(limits.interpreted === true ? 1 : 2);
          runCpuProgram(program, launch);
        },
      );
    }
  });

  test.each([
    ['the nearest in each of 990', reduction('ArgMin', ops.sub(vi(0, 990), vj(1, 990)))],
    [
      'the smallest in each of 24705',
      reduction('KMin', ops.abs(ops.sub(vi(0, 24_705), vj(1, 24_705))), { k: 1 }),
    ],
    ['the best match of dim 99', reduction('ArgMax', ops.dot(vi(0, 99), vj(1, 99)))],
    ['the seventy nearest', reduction('KMinArgKMin', ops.sqDist(vi(0, 20), vj(1, 20)), { k: 70 })],
    ['points of dim 70000', reduction('Sum', ops.sqDist(vi(0, 70_000), vj(1, 70_000)))],
    ['nothing to see', reduction('Sum', ops.mul(ops.sqDist(vi(0, 20), vj(1, 20)), vj(2, 20)))],
  ])('%s', (name, one) => {
    const common = { reduction: one, fill: wholeNumber, units: 0, dtype: 'float32' } as const;
    const rows = name === 'nothing to see' ? [0, 17] : [7];
    for (const rowsJ of rows) checkMapReduce({ ...common, rowsI: 3, rowsJ }, limits, runCpuProgram);
  });

  test('columns that do not fit the cache are several tasks', () => {
    const one = {
      reduction: reduction('MinArgMin', ops.sub(vi(0, 300), vj(1, 300))),
      fill: wholeNumber,
    };
    const small = { ...limits, l2Bytes: 1 << 16 };
    checkMapReduce(
      { ...one, units: 0, dtype: 'float32', rowsI: 40, rowsJ: 70, planned: MANY },
      small,
      runCpuProgram,
    );
  });

  test('NaN and infinities', () => {
    const fills = [NaN, Infinity, -Infinity, 0, 1, 2, 3, -1];
    let at = 0;
    const fill = (): number => fills[(at = (at * 5 + 3) % 64) % 8] ?? 0;
    for (const kind of ['MinArgMin', 'KMaxArgKMax', 'Count'] as const) {
      const one = reduction(
        kind,
        ops.add(vi(0, 70), vj(1, 70)),
        kind === 'KMaxArgKMax' ? { k: 3 } : {},
      );
      checkMapReduce(
        { reduction: one, fill, units: 0, dtype: 'float32', rowsI: 5, rowsJ: 9 },
        limits,
        runCpuProgram,
      );
    }
  });
});

// equal terms: in one running sum their roundings add up
describe('long sums hold their bound', () => {
  const equal = { fill: () => 0.1, dtype: 'float32' } as const;

  test('over components', () => {
    const dim = 20_000;
    const one = {
      reduction: reduction('Max', ops.dot(vi(0, dim), vj(1, dim))),
      units: 2 * Math.sqrt(dim),
    };
    checkMapReduce({ ...equal, ...one, rowsI: 2, rowsJ: 3 }, limits, runCpuProgram);
  });

  test('over rows, in columns', () => {
    const one = { reduction: reduction('Sum', ops.mul(vj(0, 70), 1)), units: Number.MIN_VALUE };
    checkMapReduce({ ...equal, ...one, rowsI: 1, rowsJ: 20_000 }, limits, runCpuProgram);
  });
});

test.each(machines())('long vectors by %s for %s', (compiler, own) => {
  for (const [kind, inner, outer] of [
    ['KMinArgKMin', 33, 1],
    ['SumSoftMaxWeight', 17, 19],
  ] as const) {
    const one = {
      ...sweepCase(kind, inner, outer, 1),
      dtype: 'float32',
      rowsI: 37,
      rowsJ: 41,
    } as const;
    checkMapReduce({ ...one, planned: MANY }, { ...limits, level: own }, ({ steps }, launch) => {
      for (const { kernel } of steps) {
        if (kernel.dialect !== 'cpu') throw new TypeError(`${kernel.name} is no host kernel`);
        runCpuKernel(kernel, compileKernel(compiler, kernel.source, own), launch);
      }
    });
  }
});
