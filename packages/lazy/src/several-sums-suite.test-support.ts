import type { ReductionKind } from '@mercer/formula';
import type { Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { lazyI, lazyJ, type LazyAxis, type LazyDType, type LazyTensor } from './index.js';
import { byName } from './reductions-suite.test-support.js';
import {
  expectResult,
  numbers,
  reference,
  upload,
  wholeNumbers,
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
  const isWhole = kind.includes('Min');
  const data = Array.from({ length: sums }, (_, s) => 60 + 7 * s).flatMap((dim, s) =>
    [m, n].map((rows, side) =>
      isWhole ? wholeNumbers(2 * s + side, rows, dim) : numbers(2 * s + side, rows, dim),
    ),
  );
  const tensors = await Promise.all(data.map((one) => upload(one, dtype, device)));
  const terms = Array.from({ length: sums }, (_, s): LazyTensor => {
    const [x, y] = [tensors[2 * s], tensors[2 * s + 1]];
    if (x === undefined || y === undefined) throw new Error('a sum has two inputs');
    const distance = lazyI(x).sqdist(lazyJ(y));
    // whole numbers for what is compared; each weighed differently
    return isWhole ? distance.mul(s + 1) : distance.mul(-0.01 * (s + 1));
  });
  const total = terms.reduce((sum, one) => sum.add(one));
  const reduction = (kind === 'Sum' ? total.exp() : total).reduction(kind, axis, {
    ...(kind.includes('K') && { k: 3 }),
  });
  const wanted = reference(reduction.reduction, data, { rowsI: m, rowsJ: n });
  const found = byName(await reduction.call());
  const name = `${String(sums)} ${kind} ${axis} ${dtype} ${String(m)} x ${String(n)}`;
  expect((found.value ?? found.index)?.shape, name).toEqual([axis === 'j' ? m : n, reduction.dim]);
  await expectResult(found, wanted, { terms: axis === 'j' ? n : m, units: 60 * sums });
  for (const one of [...tensors, found.value, found.index]) one?.dispose();
}
