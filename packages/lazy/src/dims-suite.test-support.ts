import { REDUCTION_KINDS, type ReductionKind } from '@mercer/formula';
import type { Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import type { LazyDType } from './index.js';
import { byName } from './reductions-suite.test-support.js';
import {
  expectResult,
  lazyReduction,
  reference,
  upload,
  wholeNumbers,
  type Meaning,
  type Variable,
} from './reference.test-support.js';

/** Around the widths of tiles, and the dims that KeOps' users had trouble with. */
const DIMS = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65],
  ...[99, 100, 127, 128, 129, 146, 255, 256, 257, 1000],
] as const;

/** A reduction of points of dim `inner` to `outer` numbers. */
interface DimCase {
  readonly inner: number;
  readonly outer: number;
  readonly kind: ReductionKind;
  readonly axis: 'i' | 'j';
  readonly dtype: LazyDType;
  /** Kept rows, and rows that each reduces. */
  readonly rows: readonly [kept: number, reduced: number];
}

const SMALL = [19, 45] as const;

/** Every dim meets every data type and side, as does every reduction; `whole`: all with all. */
function dimCases(inner: number, at: number, whole: boolean): DimCase[] {
  const outerOf = (shift: number): number => DIMS[(at * 11 + shift) % DIMS.length] ?? 1;
  const sides = [
    ['j', 'float32'],
    ['i', 'float64'],
    ['i', 'float32'],
    ['j', 'float64'],
  ] as const;
  return REDUCTION_KINDS.flatMap((kind, k) =>
    sides
      .map(([axis, dtype]) => ({ inner, outer: outerOf(k), kind, axis, dtype, rows: SMALL }))
      .filter((_, side) => whole || (k + 10 * at) % 11 === side * 2),
  );
}

/** Sizes at which threads have whole tiles and reduced rows are cut into parts. */
const LARGE: readonly DimCase[] = ([33, 99] as const).flatMap((inner) =>
  (['Sum', 'LogSumExp', 'ArgMin', 'KMinArgKMin'] as const).map((kind, k) => ({
    ...{ inner, kind, outer: 1, rows: [300, 500] },
    axis: k % 2 === 0 ? 'j' : 'i',
    dtype: (k + inner) % 3 === 0 ? 'float64' : 'float32',
  })),
);

/** Reductions of formulas of every inner and outer dim against loops in float64. */
export function describeDims(device: () => Device, { whole = false } = {}): void {
  describe('dims', () => {
    it.each(DIMS.map((inner, at) => [inner, at] as const))(
      'inner %i, with the reductions of turn %i',
      async (inner, at) => {
        await Promise.all(dimCases(inner, at, whole).map((one) => check(one, device())));
      },
      300_000,
    );

    it.each(LARGE.map((one) => [one.inner, one.kind, one.axis, one.dtype, one] as const))(
      'whole tiles: inner %i, %s over %s in %s',
      async (_inner, _kind, _axis, _dtype, one) => {
        await check(one, device());
      },
      300_000,
    );
  });
}

async function check(one: DimCase, device: Device): Promise<void> {
  const { inner, outer, kind, axis, dtype, rows } = one;
  const [kept, reduced] = rows;
  const [rowsI, rowsJ] = axis === 'j' ? [kept, reduced] : [reduced, kept];
  const variables: Variable[] = [
    { data: wholeNumbers(1, rowsI, inner), side: 'i' },
    { data: wholeNumbers(2, rowsJ, inner), side: 'j' },
    ...(WEIGHTED.has(kind) ? [] : [{ data: wholeNumbers(3, rowsI, outer), side: 'i' } as const]),
    { data: wholeNumbers(4, rowsJ, outer), side: 'j' },
  ];
  const meaning = { axis, variables, ...meaningOf(one) };
  const tensors = await Promise.all(variables.map(({ data }) => upload(data, dtype, device)));
  const reduction = lazyReduction(meaning, tensors);
  const wanted = reference(meaning, dtype);
  const found = byName(await reduction.call());
  const name = JSON.stringify(one);
  expect((found.value ?? found.index)?.shape, name).toEqual([kept, reduction.dim]);
  try {
    await expectResult(found, wanted);
  } catch (error) {
    throw new Error(name, { cause: error });
  }
  for (const made of tensors) made.dispose();
}

const WEIGHTED: ReadonlySet<ReductionKind> = new Set([
  'LogSumExp',
  'SumSoftMaxWeight',
  'MaxSumShiftExp',
]);

/** A reduction of whole numbers: exact, or with few roundings. */
function meaningOf({ inner, kind }: DimCase): Pick<Meaning, 'kind' | 'k' | 'formula' | 'weight'> {
  if (WEIGHTED.has(kind)) {
    return {
      kind,
      formula: (x, y) => x.sqdist(y).div(-8 * inner),
      weight: (_x, _y, u) => u.abs().add(0.5),
    };
  }
  return {
    ...{ kind, ...(kind.includes('K') && { k: 3 }) },
    formula: (x, y, u, v) => {
      const [distance, columns] = [x.sqdist(y), u.sub(v)];
      switch (kind) {
        case 'Var':
          // less the mean of distances: a variance loses what the mean has in digits beyond the spread
          return distance.sub(8 * inner).add(columns);
        case 'Prod':
          return distance
            .div(-8 * inner)
            .add(columns)
            .mul(0.01)
            .add(1);
        case 'Count':
        case 'Any':
        case 'All':
          // about half of the distances are above their mean
          return distance
            .sub(8 * inner)
            .add(columns)
            .relu();
        default:
          return distance.add(columns);
      }
    },
  };
}
