import { cpu } from '@mercer/cpu-runtime';
import { ops, reduction, vi, vj } from '@mercer/formula';
import { afterAll, describe, expect, it } from 'vitest';
import type { KernelProgram, LaunchableKernel } from '../emitted-kernel.js';
import { binsCases } from '../map-reduce/bins/bins-cases.test-support.js';
import { EVERY_PART_GROUPS, everyPartCase } from '../map-reduce/every-part-cases.test-support.js';
import { gaussian, KIND_CASES } from '../map-reduce/map-reduce-cases.test-support.js';
import { checkMapReduce, type MapReduceCase } from '../map-reduce/map-reduce-check.test-support.js';
import type { KeptRanges } from '../map-reduce/ranges/ranges.js';
import { SUM_CASES } from '../map-reduce/sum-cases.test-support.js';
import { runnableLevels, type HostMemory } from '../testing/cpu-harness.test-support.js';
import { runInterpretedProgram, type ProgramLaunch } from '../testing/cpu-program.test-support.js';
import { covering } from '../../../formula/test/covering.mjs';

// Few kept rows and so many reduced ones that the interpreter splits them: into parts that several threads take, and whose results are
// added up in order.
const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = {
  ...({ kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 } as const),
  interpreted: true,
} as const;

/** The last part has 3 rows: fewer than lists have places. */
const TERMS = 40 * 256 + 3;
const planned = { rowsI: 3, rowsJ: TERMS };
const SIZES = [
  { rowsI: 1, rowsJ: TERMS },
  { rowsI: 3, rowsJ: TERMS, batch: 2 },
  { rowsI: 65, rowsJ: 2 * 2048 + 3 },
] as const;

/** A row alone with long spans and a short one, and rows with a span that parts begin and end in. */
const ranges: KeptRanges = {
  rangesI: [
    [0, 1],
    [1, 4],
  ],
  slicesI: [3, 4],
  redrangesJ: [
    [5, 4100],
    [4100, 4101],
    [4200, TERMS],
    [7, TERMS - 1],
  ],
};

const threads = cpu.threads;
afterAll(() => {
  cpu.setThreads(threads);
});

const isResult = (name: string): boolean => /^(out|index)\d*$/.test(name);
const bytesOf = ({ buffer, byteOffset, byteLength }: HostMemory): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);
const resultsOf = ({ pointers }: ProgramLaunch): Buffer[] =>
  Object.entries(pointers).flatMap(([name, memory]) =>
    memory !== null && isResult(name) ? [bytesOf(memory)] : [],
  );

/** On one thread and on three, which must give the same bits. */
function run(program: KernelProgram<LaunchableKernel>, launch: ProgramLaunch): void {
  cpu.setThreads(1);
  runInterpretedProgram(program, launch, level);
  const alone = resultsOf(launch).map((bytes) => Buffer.from(bytes));
  cpu.setThreads(3);
  runInterpretedProgram(program, launch, level);
  expect(resultsOf(launch)).toEqual(alone);
}

const check = (one: MapReduceCase): void => {
  checkMapReduce({ planned, ...one }, limits, run);
};

/** Whether the results have the bits of 64 batch entries with the same inputs, which are so many tasks that nothing is split. */
function isAsInOnePart(one: Omit<MapReduceCase, keyof typeof planned>): boolean {
  let isSame = true;
  const sizes = { rowsI: 3, rowsJ: TERMS, growth: (terms: number) => terms };
  checkMapReduce({ ...one, ...sizes }, limits, (program, launch) => {
    run(program, launch);
    const scalars = Object.entries(launch.scalars).map(([name, value]) => [
      name,
      name === 'batch' ? 64 : name.startsWith('batchStride') ? 0 : value,
    ]);
    const pointers = Object.entries(launch.pointers).map(([name, memory]) => [
      name,
      memory !== null && isResult(name) ? new Uint8Array(64 * memory.byteLength) : memory,
    ]);
    const many = {
      scalars: Object.fromEntries(scalars) as ProgramLaunch['scalars'],
      pointers: Object.fromEntries(pointers) as ProgramLaunch['pointers'],
    };
    runInterpretedProgram(program, many, level);
    const unsplit = resultsOf(many);
    isSame = resultsOf(launch).every((bytes, n) =>
      unsplit[n]?.subarray(0, bytes.length).equals(bytes),
    );
  });
  return isSame;
}

/** With so many sums parts are as short as they may be: 512 of these rows, and 3. */
const SHORT_PARTS = reduction('Sum', vj(2, 64));

// A product of so many terms leaves the range of numbers: one that does not is among those of every part.
const KINDS = KIND_CASES.filter(([, one]) => one.reduction.kind !== 'Prod');

describe.each([
  ['float32', 0],
  ['float64', 1],
] as const)('reduced rows in parts, %s', (dtype, turn) => {
  it.each(KINDS.map((each, n) => [...each, n] as const))('%s', (_, one, n) => {
    for (const size of covering(SIZES, n + turn)) check({ ...one, ...size, dtype });
  });

  it.each(EVERY_PART_GROUPS.map((kinds) => [kinds.join(', '), kinds] as const))(
    'every part counts: %s',
    (_, kinds) => {
      for (const kept of [1, 4]) {
        check({ ...everyPartCase(kinds, { kept, terms: 5900, axis: 1 }), dtype });
      }
    },
  );

  it('of blocks of kept rows, which more threads halve', () => {
    const kinds = ['Sum', 'Mean', 'Var', 'LogSumExp', 'KMin'] as const;
    check({ ...everyPartCase(kinds, { kept: 400, terms: 700, axis: 0 }), dtype });
  });

  it.each(covering(KINDS, turn))('ranges: %s', (_, one) => {
    check({ ...one, rowsI: 4, rowsJ: TERMS, batch: 2, ranges, dtype });
  });

  it('rows of ranges keep their order', () => {
    // at the end of a long span, and at the beginning of another
    const fill: MapReduceCase['fill'] = ({ row }) => (row === 4050 || row === 4200 ? 0 : 1);
    const further = [reduction('ArgKMin', vj(1, 1), { k: 3 }), SHORT_PARTS];
    const first = reduction('ArgMin', vj(1, 1));
    const sizes = { rowsI: 4, rowsJ: TERMS, ranges };
    check({ reduction: first, further, fill, units: 0, dtype, ...sizes });
  });

  it.each([0, 1, 2, 3, 6])('lists of 8 where the last %i rows are numbers', (numbers) => {
    const value = (row: number): number => (row < TERMS - numbers ? NaN : 9 - (row % 4));
    const fill: MapReduceCase['fill'] = ({ position, row }) => (position === 1 ? value(row) : 1);
    const formula = ops.add(vi(0, 1), vj(1, 1));
    const [smallest, largest] = (['KMinArgKMin', 'KMaxArgKMax'] as const).map((kind) =>
      reduction(kind, formula, { k: 8 }),
    );
    if (smallest === undefined || largest === undefined) throw new RangeError('no lists');
    const further = [largest, reduction('ArgMin', formula), SHORT_PARTS];
    check({ reduction: smallest, further, fill, units: 0, dtype, rowsI: 1, rowsJ: TERMS });
  });

  it('lists of rows of one part that is not the first', () => {
    const fill: MapReduceCase['fill'] = ({ row }) => Math.abs(row - 7000);
    const further = [reduction('KMaxArgKMax', ops.neg(vj(1, 1)), { k: 8 })];
    const smallest = reduction('KMinArgKMin', vj(1, 1), { k: 8 });
    check({ reduction: smallest, further, fill, units: 0, dtype, rowsI: 1, rowsJ: TERMS });
  });

  it('a NaN in the last row alone', () => {
    const fill: MapReduceCase['fill'] = ({ row }) => (row < TERMS - 1 ? row % 7 : NaN);
    const kinds = ['Max', 'MaxArgMax', 'ArgMin', 'Sum', 'Var', 'LogSumExp'] as const;
    const [first, ...further] = kinds.map((kind) => reduction(kind, vj(1, 1)));
    if (first === undefined) throw new RangeError('no kinds');
    check({ reduction: first, further, fill, units: 0, dtype, rowsI: 1, rowsJ: TERMS });
  });

  it('has the bits of one part where nothing is rounded', () => {
    const further = [
      reduction('MaxArgMax', gaussian(2)),
      reduction('KMinArgKMin', gaussian(2), { k: 9 }),
      reduction('Count', ops.lessThan(gaussian(2), 0.3)),
    ];
    const exact = { reduction: reduction('MinArgMin', gaussian(2)), further, dtype };
    expect(isAsInOnePart({ ...exact, units: 40 })).toBe(true);
    const sum = { reduction: reduction('Sum', gaussian(2)), dtype, sumScheme: 'direct' } as const;
    expect(isAsInOnePart(sum), 'a sum shows whether anything was split').toBe(false);
  });
});

describe('reduced rows in parts', () => {
  it.each(SUM_CASES.map((each, n) => [...each, n] as const))('sums, %s', (name, one, n) => {
    const own = name.startsWith('beside') ? {} : { ranges };
    for (const size of [{ rowsI: 1 + (n % 3) }, { rowsI: 4, ...own }])
      check({ ...one, ...size, rowsJ: TERMS });
  });

  it.each([
    ['kahan', { sumScheme: 'kahan' }],
    ['float64 term by term', { accumulate: 'float64', sumScheme: 'direct' }],
  ] as const)('keep digits of sums that cancel, %s', (_, how) => {
    const fill: MapReduceCase['fill'] = ({ row }) => (row < TERMS / 2 ? 4000.25 : -3999.25);
    const sizes = { rowsI: 1, rowsJ: TERMS, dtype: 'float32', units: 1 } as const;
    const weighted = reduction('MaxSumShiftExp', ops.mul(vi(0, 1), 0), { weight: vj(1, 1) });
    check({ ...sizes, ...how, reduction: weighted, fill, growth: () => 4 });
    // the bound is relative to the sizes of the terms, which are 4500 times the sum
    const sum = reduction('Sum', vj(0, 1));
    check({
      ...sizes,
      ...how,
      reduction: sum,
      fill,
      units: Number.MIN_VALUE,
      growth: () => 2 ** -7,
    });
  });

  it.each(binsCases(83).filter(([name]) => /few rows|in parts|term by term/.test(name)))(
    'components in memory, %s',
    (_, one) => {
      check({ ...one, rowsI: 2, rowsJ: TERMS });
    },
  );
});
