import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MOST_BATCH, planBatches, type Factors, type Group } from './batches.js';
import { placeOf, type Strided } from './strided.js';

const matrix = (
  rows: number,
  columns: number,
  strides: readonly [row: number, column: number],
  batchStrides: readonly number[] = [],
): Strided => ({ rows, columns, rowStride: strides[0], columnStride: strides[1], batchStrides });

/** Where element (i, j) of a matrix lies, from the first one on. */
const at = ({ rowStride, columnStride }: Strided, i: number, j: number): number =>
  i * rowStride + j * columnStride;

/** For each element of c, by its place: the places of all that is multiplied for it. */
function termsOf({ a, b, c }: Factors, start: Omit<Group, 'batch'>): [number, string][] {
  const terms: [number, string][] = [];
  for (let i = 0; i < c.rows; i++)
    for (let j = 0; j < c.columns; j++) {
      const pairs: string[] = [];
      for (let l = 0; l < a.columns; l++)
        pairs.push(`${start.a + at(a, i, l)}*${start.b + at(b, l, j)}`);
      terms.push([start.c + at(c, i, j), pairs.join('+')]);
    }
  return terms;
}

function naive(factors: Factors, batchShape: readonly number[]): [number, string][] {
  let starts = [{ a: 0, b: 0, c: 0 }];
  batchShape.forEach((extent, axis) => {
    starts = starts.flatMap((start) =>
      Array.from({ length: extent }, (_, z) => ({
        a: start.a + z * (factors.a.batchStrides[axis] ?? 0),
        b: start.b + z * (factors.b.batchStrides[axis] ?? 0),
        c: start.c + z * (factors.c.batchStrides[axis] ?? 0),
      })),
    );
  });
  return starts.flatMap((start) => termsOf(factors, start));
}

function planned(factors: Factors, batchShape: readonly number[]): [number, string][] {
  const plan = planBatches(factors, batchShape);
  const [stepA = 0] = plan.factors.a.batchStrides;
  const [stepB = 0] = plan.factors.b.batchStrides;
  const [stepC = 0] = plan.factors.c.batchStrides;
  return [...plan.groups].flatMap(({ batch, a, b, c }) =>
    Array.from({ length: batch }, (_, z) => ({
      a: a + z * stepA,
      b: b + z * stepB,
      c: c + z * stepC,
    }))
      .map((start) => termsOf(plan.factors, start))
      .flat(),
  );
}

const sorted = (terms: readonly [number, string][]): [number, string][] =>
  [...terms].sort(([x], [y]) => x - y);

/** Strides of matrices in any order of the axes, some of them repeated and some with a gap. */
const strides = (rows: number, columns: number, batch: readonly number[], repeats: boolean) =>
  fc
    .record({
      order: fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 5 }),
      single: fc.array(repeats ? fc.boolean() : fc.constant(false), { minLength: 5, maxLength: 5 }),
      gap: fc.array(fc.constantFrom(0, 0, 0, 2), { minLength: 5, maxLength: 5 }),
    })
    .map(({ order, single, gap }) => {
      const extents = [...batch, rows, columns];
      const out = extents.map(() => 0);
      let step = 1;
      for (const axis of order.filter((one) => one < extents.length)) {
        if (axis < batch.length && single[axis] === true) continue;
        out[axis] = step;
        step *= (extents[axis] ?? 1) + (gap[axis] ?? 0);
      }
      const count = batch.length;
      return matrix(rows, columns, [out[count] ?? 0, out[count + 1] ?? 0], out.slice(0, count));
    });

const problem = fc
  .record({
    sizes: fc.tuple(
      ...(([1, 2, 3] as const).map(() => fc.integer({ min: 1, max: 3 })) as [
        fc.Arbitrary<number>,
        fc.Arbitrary<number>,
        fc.Arbitrary<number>,
      ]),
    ),
    batch: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
  })
  .chain(({ sizes: [m, n, k], batch }) =>
    fc.record({
      a: strides(m, k, batch, true),
      b: strides(k, n, batch, true),
      c: strides(m, n, batch, false),
      batch: fc.constant(batch),
    }),
  );

describe('a batch of products', () => {
  it('is computed completely, each entry once, whatever the strides', () => {
    let merged = 0;
    fc.assert(
      fc.property(problem, ({ batch, ...factors }) => {
        const plan = planBatches(factors, batch);
        if (plan.factors.c.rows * plan.factors.c.columns > factors.c.rows * factors.c.columns)
          merged++;
        expect(sorted(planned(factors, batch))).toEqual(sorted(naive(factors, batch)));
      }),
      { numRuns: 3000 },
    );
    expect(merged).toBeGreaterThan(50);
  });

  it('keeps what the library takes', () => {
    fc.assert(
      fc.property(problem, ({ batch, ...factors }) => {
        const { a, b, c } = factors;
        fc.pre([a, b, c].every((one) => placeOf(one) !== undefined));
        const plan = planBatches(factors, batch);
        const kept: readonly Strided[] = [plan.factors.a, plan.factors.b, plan.factors.c];
        for (const one of kept) {
          expect(placeOf(one)).toBeDefined();
          expect(Math.min(0, ...one.batchStrides)).toBe(0);
        }
      }),
      { numRuns: 1000 },
    );
  });

  const calls = (factors: Factors, batchShape: readonly number[]) => {
    const plan = planBatches(factors, batchShape);
    return { ...plan.factors, groups: [...plan.groups] };
  };

  it('with several axes that follow each other is one call', () => {
    const a = matrix(2, 3, [3, 1], [30, 6]);
    const b = matrix(3, 4, [4, 1], [60, 12]);
    const c = matrix(2, 4, [4, 1], [40, 8]);
    expect(calls({ a, b, c }, [7, 5]).groups).toEqual([{ a: 0, b: 0, c: 0, batch: 35 }]);
  });

  it('with one b for all is one tall product, with one a for all a wide one', () => {
    const a = matrix(2, 3, [3, 1], [6]);
    const c = matrix(2, 4, [4, 1], [8]);
    const tall = calls({ a, b: matrix(3, 4, [4, 1], [0]), c }, [5]);
    expect([tall.a.rows, tall.c.rows, tall.groups]).toEqual([
      10,
      10,
      [{ a: 0, b: 0, c: 0, batch: 1 }],
    ]);
    const wide = calls(
      { a: matrix(2, 3, [3, 1], [0]), b: matrix(3, 4, [1, 3], [12]), c: matrix(2, 4, [1, 2], [8]) },
      [5],
    );
    expect([wide.b.columns, wide.c.columns, wide.groups]).toEqual([
      20,
      20,
      [{ a: 0, b: 0, c: 0, batch: 1 }],
    ]);
  });

  it('loops over what cannot be merged, the longest axis within a call', () => {
    const a = matrix(1, 1, [1, 1], [0, 1]);
    const b = matrix(1, 1, [1, 1], [1, 0]);
    const c = matrix(1, 1, [1, 1], [1, 3]);
    const { groups } = calls({ a, b, c }, [3, 9]);
    expect(groups).toHaveLength(3);
  });

  it('walks an axis backwards by a loop', () => {
    const a = matrix(2, 2, [2, 1], [-4]);
    const b = matrix(2, 2, [2, 1], [4]);
    const { groups } = calls({ a, b, c: b }, [3]);
    expect(groups).toEqual([0, 1, 2].map((z) => ({ a: -4 * z + 0, b: 4 * z, c: 4 * z, batch: 1 })));
  });

  it('is cut where it is longer than a grid', () => {
    const one = matrix(2, 2, [2, 1], [4]);
    const { groups } = calls({ a: one, b: one, c: one }, [MOST_BATCH + 7]);
    expect(groups.map(({ batch, c }) => [batch, c])).toEqual([
      [MOST_BATCH, 0],
      [7, 4 * MOST_BATCH],
    ]);
  });
});

describe('the place of a matrix', () => {
  it.each([
    ['rows after rows', matrix(3, 4, [4, 1]), 'row', 4],
    ['rows with a gap', matrix(3, 4, [9, 1]), 'row', 9],
    ['columns after columns', matrix(3, 4, [1, 3]), 'column', 3],
    ['one row of any stride', matrix(1, 4, [0, 1]), 'row', 4],
    ['a row that steps over elements', matrix(1, 4, [1, 5]), 'column', 5],
    ['a column that steps over elements', matrix(4, 1, [5, 77]), 'row', 5],
    ['a single number', matrix(1, 1, [0, 0]), 'row', 1],
  ])('%s', (_, one, order, leadingDimension) => {
    expect(placeOf(one)).toEqual({ order, leadingDimension });
  });

  it('is in the preferred order where both fit', () => {
    const row = matrix(1, 4, [4, 1]);
    expect(placeOf(row)).toEqual({ order: 'row', leadingDimension: 4 });
    expect(placeOf(row, 'column')).toEqual({ order: 'column', leadingDimension: 1 });
    expect(placeOf(matrix(4, 1, [1, 1]), 'column')).toEqual({
      order: 'column',
      leadingDimension: 4,
    });
  });

  it.each([
    ['no contiguous axis', matrix(3, 4, [8, 2])],
    ['a repeated row', matrix(3, 4, [0, 1])],
    ['rows that overlap', matrix(3, 4, [2, 1])],
    ['rows backwards', matrix(3, 4, [-4, 1])],
    ['columns backwards', matrix(3, 4, [4, -1])],
  ])('is none for %s', (_, one) => {
    expect(placeOf(one)).toBeUndefined();
  });
});
