import { REDUCTION_KINDS, traitsOf, type ReductionKind } from '@mercer/formula';
import type { Device, Tensor } from '@mercer/tensor';
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
export const DIMS = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65],
  ...[99, 100, 127, 128, 129, 146, 255, 256, 257, 1000],
] as const;

/** Types of the numbers: inputs of 16 bits are computed with in float32. */
export const NUMBERS = ['float32', 'float64', 'float16', 'bfloat16'] as const;
export const AXES = ['i', 'j'] as const;

/** A reduction of points of dim `inner` to `outer` numbers. */
export interface DimCase {
  readonly inner: number;
  readonly outer: number;
  readonly kind: ReductionKind;
  readonly axis: (typeof AXES)[number];
  readonly numbers: (typeof NUMBERS)[number];
  /** Kept rows, and rows that each reduces. */
  readonly rows: readonly [kept: number, reduced: number];
}

const SMALL = [19, 45] as const;

/** Points of dim number `at` with every reduction; results, sides and types take turns, so that all meet in pairs. `whole`: all with all. */
export function dimCases(at: number, whole = false): DimCase[] {
  return REDUCTION_KINDS.flatMap((kind, k) => {
    const one = { inner: DIMS[at] ?? 1, outer: DIMS[(at * 11 + k) % DIMS.length] ?? 1, kind };
    return AXES.flatMap((axis, a) =>
      NUMBERS.map((numbers) => ({ ...one, axis, numbers, rows: SMALL })).filter(
        (_, n) => whole || (a === ((at >> 1) + k) % 2 && n === (at + (k >> 1)) % 4),
      ),
    );
  });
}

/** Sizes at which threads have whole tiles and reduced rows are cut into parts. */
const LARGE: readonly DimCase[] = ([33, 99] as const).flatMap((inner) =>
  (['Sum', 'LogSumExp', 'ArgMin', 'KMinArgKMin'] as const).map((kind, k) => ({
    inner,
    kind,
    outer: 1,
    rows: [300, 500],
    axis: k % 2 === 0 ? 'j' : 'i',
    numbers: (k + inner) % 3 === 0 ? 'float64' : 'float32',
  })),
);

/** Reductions of formulas of every inner and outer dim against loops in float64. */
export function describeDims(device: () => Device, { whole = false } = {}): void {
  describe('dims', () => {
    it.each(DIMS.map((inner, at) => [inner, at] as const))(
      'inner %i, turn %i',
      async (_, at) => {
        await Promise.all(dimCases(at, whole).map((one) => check(one, device())));
      },
      300_000,
    );

    it.each(LARGE.map((one) => [one.inner, one.kind, one.axis, one.numbers, one] as const))(
      'whole tiles: inner %i, %s over %s in %s',
      async (_inner, _kind, _axis, _numbers, one) => {
        await check(one, device());
      },
      300_000,
    );
  });
}

async function check(one: DimCase, device: Device): Promise<void> {
  const { inner, outer, kind, axis, numbers, rows } = one;
  const dtype = numbers === 'float64' ? 'float64' : 'float32';
  const [kept, reduced] = rows;
  const [rowsI, rowsJ] = axis === 'j' ? [kept, reduced] : [reduced, kept];
  const variables: Variable[] = [
    { data: wholeNumbers(1, rowsI, inner), side: 'i' },
    { data: wholeNumbers(2, rowsJ, inner), side: 'j' },
    ...(WEIGHTED.has(kind) ? [] : [{ data: wholeNumbers(3, rowsI, outer), side: 'i' } as const]),
    { data: wholeNumbers(4, rowsJ, outer), side: 'j' },
  ];
  const meaning = { axis, variables, ...meaningOf(one) };
  const tensors = await Promise.all(
    variables.map(async ({ data }): Promise<Tensor<LazyDType>> => {
      const whole = await upload(data, dtype, device);
      if (numbers === dtype) return whole;
      using made = whole;
      return (await made.cast(numbers)) as Tensor as Tensor<LazyDType>;
    }),
  );
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
    kind,
    ...(traitsOf(kind).takesK && { k: 3 }),
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
