import { expect } from 'vitest';
import type { DeviceLimits } from '../device-limits.js';
import { DTYPES, dtypeBytes } from '../dtype.js';
import type { LaunchableKernel, KernelProgram } from '../emitted-kernel.js';
import type { ProgramLaunch } from '../testing/cpu-program.test-support.js';
import { emitCountRows, emitGatherRows, emitScatterAdd } from './emit-scatter.js';
import {
  chooseSorted,
  countRowsScalars,
  planCountRows,
  planGatherRows,
  planScatterAdd,
  scatterAddScalars,
} from './plan-scatter.js';
import type { IndexDType, ScatterAddProblem, ScatterSizes } from './scatter-plan-types.js';

type Run = (program: KernelProgram<LaunchableKernel>, launch: ProgramLaunch) => void;

/** How the indices of a case lie: at random, most in row 0, all in the last row, or half of them outside. */
export type IndexKind = 'random' | 'skewed' | 'last' | 'outside';

/** Numbers from 0 to 1 from a seed. */
function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    const z = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    const y = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((y ^ (y >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** Indices of a kind below `rows`. */
export function indices(
  kind: IndexKind,
  { count, rows }: { readonly count: number; readonly rows: number },
  dtype: IndexDType,
  random: () => number,
): Int32Array | BigInt64Array {
  const row = (): number => Math.floor(random() * rows);
  const far = dtype === 'int64' ? 2 ** 40 : 2 ** 31 - 1;
  const one = {
    random: row,
    skewed: () => (random() < 0.9 ? 0 : row()),
    last: () => rows - 1,
    outside: () => [row(), rows, -1, far, -far, row()][Math.floor(random() * 6)] ?? 0,
  }[kind];
  const all = Array.from({ length: count }, one);
  return dtype === 'int32' ? Int32Array.from(all) : BigInt64Array.from(all.map(BigInt));
}

/** Runs a sum by index on random values and compares it with float64; gives the result. */
export function checkScatterAdd(
  problem: ScatterAddProblem,
  kind: IndexKind,
  limits: DeviceLimits,
  run: Run,
  {
    planned = problem,
    seed = 1,
    sorted = false,
  }: { readonly planned?: ScatterSizes; readonly seed?: number; readonly sorted?: boolean } = {},
): Float32Array | Float64Array {
  const { from, to, rows, columns, count } = problem;
  const random = numbers(seed);
  const chosen = planScatterAdd({ ...problem, ...planned }, limits);
  const plan =
    sorted && limits.kind === 'cuda' ? { ...chosen, ...chooseSorted(planned, limits) } : chosen;
  const valueStride = columns + 2;
  const arrayOf = { float32: Float32Array, float64: Float64Array };
  const values = new arrayOf[from](Math.max(1, count * valueStride)).map(() => random() - 0.5);
  const index = indices(kind, problem, problem.index, random);
  const out = new arrayOf[to](rows * columns).fill(plan.needsZeros ? 0 : -12345.5);
  const scalars = scatterAddScalars(plan, { count, rows, columns, valueStride });
  run(emitScatterAdd(plan), { scalars, pointers: { values, index, out } });
  const sums = new Float64Array(rows * columns);
  const sizes = new Float64Array(rows * columns);
  index.forEach((r: number | bigint, n: number) => {
    if (r < 0 || r >= rows) return;
    for (let c = 0; c < columns; c += 1) {
      const [at, value] = [Number(r) * columns + c, values[n * valueStride + c] ?? NaN];
      sums[at] = (sums[at] ?? NaN) + value;
      sizes[at] = (sizes[at] ?? NaN) + Math.abs(value);
    }
  });
  const terms = count * 2 ** -52;
  let wrong = '';
  out.forEach((value, at) => {
    const sum = sums[at] ?? NaN;
    const size = sizes[at] ?? NaN;
    const rounding =
      to === 'float32' ? 2 ** -24 * (plan.mode !== 'atomic' ? Math.abs(sum) : count * size) : 0;
    if (!(Math.abs(value - sum) <= rounding + terms * size)) {
      const place = `[${Math.floor(at / columns)}, ${at % columns}]`;
      wrong ||= `${plan.summary}, ${kind}, ${JSON.stringify(problem)}: ${place} is ${value}, not ${sum}`;
    }
  });
  expect(wrong).toBe('');
  return out;
}

/** Counts indices of every kind, and compares with a loop. */
export function checkCountRows(
  sizes: { readonly count: number; readonly rows: number },
  [index, to]: readonly [IndexDType, IndexDType],
  kind: IndexKind,
  limits: DeviceLimits,
  run: Run,
): void {
  const plan = planCountRows({ ...sizes, index, to }, limits);
  const given = indices(kind, sizes, index, numbers(sizes.rows));
  const out = to === 'int32' ? new Int32Array(sizes.rows) : new BigInt64Array(sizes.rows);
  if (!plan.needsZeros) new Uint8Array(out.buffer).fill(7);
  const scalars = countRowsScalars(plan, sizes);
  run(emitCountRows(plan), { scalars, pointers: { index: given, out } });
  const expected = new Array<number>(sizes.rows).fill(0);
  given.forEach((r: number | bigint) => {
    if (r >= 0 && r < sizes.rows) expected[Number(r)] = (expected[Number(r)] ?? NaN) + 1;
  });
  expect(Array.from(out as ArrayLike<number | bigint>, Number), plan.summary).toEqual(expected);
}

const ARRAYS = { 1: Uint8Array, 2: Uint16Array, 4: Int32Array, 8: BigInt64Array } as const;

/** Takes rows of every dtype, some of which are not there, and compares the bits. */
export function checkGatherRows(index: IndexDType, limits: DeviceLimits, run: Run): void {
  const random = numbers(3);
  const [rows, columns, count, tableStride] = [9, 5, 600, 7];
  for (const dtype of DTYPES) {
    const bytes = dtypeBytes(dtype) as 1 | 2 | 4 | 8;
    const bits = ARRAYS[bytes];
    const x = new bits(rows * tableStride);
    for (let i = 0; i < x.length; i += 1) {
      const value = Math.floor(random() * 256);
      x[i] = typeof x[i] === 'bigint' ? BigInt(value) : value;
    }
    const given = indices('outside', { count, rows }, index, random);
    const out = new bits(count * columns);
    const plan = planGatherRows({ dtype, index }, limits);
    run(emitGatherRows(plan), {
      scalars: { count, rows, columns, tableStride },
      pointers: { x, index: given, out },
    });
    const missing: Readonly<Record<string, bigint>> = {
      float64: 0x7ff8n << 48n,
      float32: 0x7fc00000n,
      float16: 0x7e00n,
      bfloat16: 0x7fc0n,
    };
    const expected = Array.from({ length: count * columns }, (_, at) => {
      const r = Number(given[Math.floor(at / columns)]);
      const there = r >= 0 && r < rows;
      return there ? BigInt(x[r * tableStride + (at % columns)] ?? 0) : (missing[dtype] ?? 0n);
    });
    const found = Array.from(out as ArrayLike<number | bigint>, (v) =>
      BigInt.asUintN(bytes * 8, BigInt(v)),
    );
    expect(found, plan.summary).toEqual(expected);
  }
}

/** Sizes, types and kinds of indices that meet every pair of choices at least once. */
export const SCATTER_CASES: readonly (readonly [ScatterAddProblem, IndexKind])[] = (
  [
    [1, 1000, 1, 'random'],
    [7, 31, 3, 'skewed'],
    [1000, 2500, 10, 'outside'],
    [3, 700, 130, 'random'],
    [5000, 900, 17, 'skewed'],
    [300, 1, 1, 'last'],
    [255, 5000, 1, 'outside'],
    [100_000, 3000, 2, 'random'],
    [40, 4200, 33, 'last'],
    [2, 0, 4, 'random'],
    [4, 10, 0, 'random'],
  ] as const
).flatMap(([rows, count, columns, kind], i) =>
  [0, 1].map((j) => {
    const from = (i + j) % 2 === 0 ? 'float32' : 'float64';
    const to = (i >> 1) % 2 === j ? 'float32' : 'float64';
    const index = i % 3 === j ? 'int64' : 'int32';
    return [{ from, to, index, rows, count, columns }, kind] as const;
  }),
);
