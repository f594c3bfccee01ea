import { traitsOf, type ReductionKind } from '@mercer/formula';
import type { Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import type { LazyAxis, LazyDType } from './index.js';
import { byName } from './reductions-suite.test-support.js';
import {
  expectResult,
  lazyReduction,
  numbers,
  reference,
  upload,
  wholeNumbers,
  type Meaning,
  type Variable,
} from './reference.test-support.js';

/** Formulas of that many squared distances of different dims, each long enough for a loop of its own. */
const CASES: readonly (readonly [sums: number, kind: ReductionKind, axis: LazyAxis])[] = [
  [2, 'Sum', 'j'],
  [3, 'Sum', 'i'],
  [3, 'LogSumExp', 'j'],
  [3, 'KMinArgKMin', 'j'],
  [5, 'ArgMin', 'i'],
  [5, 'KMinArgKMin', 'i'],
  [9, 'Sum', 'j'],
];

/**
 * Several long inner sums in one formula: their copies share the room that a GPU has for them. `full`: all in both dtypes, with
 * more rows.
 */
export function describeSeveralSums(device: () => Device, { full = false } = {}): void {
  describe.each(['float32', 'float64'] as const)('several long sums, %s', (dtype) => {
    const cases = CASES.filter((_, at) => full || at % 2 === (dtype === 'float32' ? 0 : 1));
    it.each(cases)(
      '%i sums of different dims, %s over %s',
      async (sums, kind, axis) => {
        for (const [kept, reduced] of [[7, 33], full ? [70, 160] : [20, 48]] as const) {
          const [m, n] = axis === 'j' ? [kept, reduced] : [reduced, kept];
          await check({ sums, kind, axis, dtype, m, n }, device());
        }
      },
      120_000,
    );
  });
}

interface SumsCase {
  readonly sums: number;
  readonly kind: ReductionKind;
  readonly axis: LazyAxis;
  readonly dtype: LazyDType;
  readonly m: number;
  readonly n: number;
}

async function check({ sums, kind, axis, dtype, m, n }: SumsCase, device: Device): Promise<void> {
  const isWhole = traitsOf(kind).extremum === 'least';
  const variables = Array.from({ length: sums }, (_, s) => 60 + 7 * s).flatMap((dim, s) =>
    (['i', 'j'] as const).map((side, at): Variable => {
      const [seed, rows] = [2 * s + at, side === 'i' ? m : n];
      return { data: isWhole ? wholeNumbers(seed, rows, dim) : numbers(seed, rows, dim), side };
    }),
  );
  const tensors = await Promise.all(variables.map(({ data }) => upload(data, dtype, device)));
  const meaning: Meaning = {
    kind,
    axis,
    variables,
    ...(traitsOf(kind).takesK && { k: 3 }),
    formula: (...all) => {
      // whole numbers for what is compared; each weighed differently
      const terms = Array.from({ length: sums }, (_, s) =>
        all[2 * s]!.sqdist(all[2 * s + 1]!).mul(isWhole ? s + 1 : -0.01 * (s + 1)),
      );
      const total = terms.reduce((sum, one) => sum.add(one));
      return kind === 'Sum' ? total.exp() : total;
    },
  };
  const reduction = lazyReduction(meaning, tensors);
  const wanted = reference(meaning, dtype);
  const found = byName(await reduction.call());
  const name = `${sums} ${kind} ${axis} ${dtype} ${m} x ${n}`;
  expect((found.value ?? found.index)?.shape, name).toEqual([axis === 'j' ? m : n, reduction.dim]);
  await expectResult(found, wanted);
  for (const one of [...tensors, found.value, found.index]) one?.dispose();
}
