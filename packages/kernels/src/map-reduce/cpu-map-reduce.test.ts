import { reduction, REDUCTION_KINDS } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import {
  compileKernel,
  compilerVerdict,
  compilers,
  cpuTestLimits,
  machines,
  runnableLevels,
} from '../testing/cpu-harness.test-support.js';
import { covering } from '../../../formula/test/covering.mjs';
import { runCpuKernel, runCpuProgram } from '../testing/cpu-program.test-support.js';
import { mapReduceProblems } from './default-map-reduce.test-support.js';
import { emitMapReduce } from './emit.js';
import { EVERY_PART_GROUPS, everyPartCase } from './every-part-cases.test-support.js';
import { planMapReduce } from './plan.js';
import {
  EQUAL_TERMS,
  FORM_CASES,
  GATHER_CASES,
  gaussian,
  HALF_CASES,
  KIND_CASES,
  MANY_CASES,
  SIZES,
} from './map-reduce-cases.test-support.js';
import { checkMapReduce } from './map-reduce-check.test-support.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = cpuTestLimits(level);
const planned = { rowsI: 1000, rowsJ: 1000 };

/** The largest, and of the others those whose turn it is. */
const sizesOf = (turn: number) => [...SIZES.slice(0, 1), ...covering(SIZES.slice(1), turn)];

// Every case meets one of both dtypes: they take turns.
describe.each([
  ['float32', 0],
  ['float64', 1],
] as const)('map-reduce on the CPU, %s', (dtype, turn) => {
  const dims = covering([1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 33], turn);
  test.each(dims.map((dim, n) => [dim, n] as const))('sums, points of dim %i', (dim, n) => {
    const one = { reduction: reduction('Sum', gaussian(dim)), dtype, units: 8 + 4 * dim, planned };
    for (const sizes of sizesOf(n)) checkMapReduce({ ...one, ...sizes }, limits, runCpuProgram);
  });

  const stored = GATHER_CASES.filter(([, { storage }]) => storage !== undefined);
  const numbers = GATHER_CASES.filter(([, { storage }]) => storage === undefined);
  test.each(
    [
      ...covering([...KIND_CASES, ...FORM_CASES, ...MANY_CASES, ...numbers], turn),
      ...(dtype === 'float32' ? stored : []),
    ].map((one, n) => [...one, n] as const),
  )('%s', (_, one, n) => {
    for (const sizes of sizesOf(n)) {
      checkMapReduce({ ...one, ...sizes, dtype, planned }, limits, runCpuProgram);
    }
  });

  test.each(EVERY_PART_GROUPS.map((kinds, n) => [kinds.join(', '), kinds, n] as const))(
    'parts that a second step merges: %s',
    (_, kinds, n) => {
      const axis = (n + turn) % 2 === 0 ? 1 : 0;
      const one = everyPartCase(kinds, { kept: 4, terms: 5900, axis });
      checkMapReduce({ ...one, dtype }, limits, (program, launch) => {
        expect(program.steps.length).toBe(limits.interpreted === true ? 1 : 2);
        // not optimized, which is quicker: those of lazy's tests are
        runCpuProgram(program, launch, level, { optimized: false });
      });
    },
  );

  test('few rows, many terms, at other sizes than planned', () => {
    const kinds = ['KMinArgKMin 8', 'Var', 'LogSumExp, weighted', 'MinArgMin with'];
    for (const kind of covering(kinds, turn)) {
      const [, one] = KIND_CASES.find(([name]) => name.startsWith(kind)) ?? [];
      if (one === undefined) throw new RangeError(`no case ${kind}`);
      const many = { ...one, dtype, planned: { rowsI: 2, rowsJ: 20_000 } };
      for (const sizes of [...SIZES, { rowsI: 2, rowsJ: 5000, batch: 2 }]) {
        checkMapReduce({ ...many, ...sizes }, limits, runCpuProgram);
      }
    }
    const sums = { reduction: reduction('Sum', gaussian(2)), dtype, units: 16 };
    checkMapReduce({ ...sums, rowsI: 2, rowsJ: 20_000 }, limits, runCpuProgram);
  });
});

test.each(HALF_CASES)('%s on the CPU', (_, one) => {
  for (const sizes of SIZES) {
    checkMapReduce({ ...one, ...sizes, dtype: 'float32', planned }, limits, runCpuProgram);
  }
});

const targets = machines().map(([compiler, level], turn) => [compiler, level, turn] as const);

describe.each(targets)('map-reduce by %s for %s', (compiler, level, turn) => {
  const own = { ...limits, level };

  test('four reductions', () => {
    const names = ['MinArgMin', 'KMinArgKMin 8', 'LogSumExp of special', 'Count with'];
    const cases = KIND_CASES.filter(([name]) => names.some((start) => name.startsWith(start)));
    const both = cases.flatMap(([, one]) =>
      (['float32', 'float64'] as const).map((dtype) => ({ ...one, dtype })),
    );
    for (const one of covering(both, turn)) {
      checkMapReduce({ ...one, rowsI: 37, rowsJ: 301 }, own, ({ steps }, launch) => {
        for (const { kernel } of steps) {
          if (kernel.dialect !== 'cpu') throw new TypeError(`${kernel.name} is no host kernel`);
          runCpuKernel(kernel, compileKernel(compiler, kernel.source, level), launch);
        }
      });
    }
  });
});

// in float64 the oracle, one running sum, is the one that is off
test('a sum of many equal terms holds its bound', () => {
  checkMapReduce({ ...EQUAL_TERMS, dtype: 'float32' }, limits, runCpuProgram);
});

test('every reduction has a case', () => {
  const kinds = KIND_CASES.map(([, one]) => one.reduction.kind);
  expect([...new Set(kinds)].sort()).toEqual([...REDUCTION_KINDS].sort());
  expect(EVERY_PART_GROUPS.flat().sort()).toEqual([...REDUCTION_KINDS].sort());
});

test('every default problem compiles without a warning', { timeout: 120_000 }, () => {
  const [compiler = 'c++'] = compilers();
  const sources = mapReduceProblems().flatMap((problem) =>
    emitMapReduce(planMapReduce(problem, limits)).steps.map(({ kernel }) => kernel.source),
  );
  for (const source of covering([...new Set(sources)], 0, 8)) {
    expect(compilerVerdict(compiler, source, level)).toEqual({ status: 0, log: '' });
  }
});
