import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isDense, isRowMajor, rowMajorStrides, columnMajorStrides, type Layout } from './layout.js';
import { MercerError } from './mercer-error.js';
import { overlapsItself, viewsOverlap } from './overlap.js';
import { forEachPosition } from './strided-host.js';
import { CountTable } from './testing/count-table.test-support.js';
import {
  broadcastLayout,
  broadcastShapes,
  permuteLayout,
  reshapeLayout,
  sliceLayout,
  type SliceRange,
} from './views.js';

const base = (shape: readonly number[]): Layout => ({
  shape,
  strides: rowMajorStrides(shape),
  offset: 0,
});

function positions(layout: Layout): number[] {
  const found: number[] = [];
  forEachPosition(layout, (position) => found.push(position));
  return found;
}

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return error instanceof MercerError ? error.code : String(error);
  }
  return 'no error';
}

/** Python's slice semantics, from its documentation: clamp, then walk. */
function pythonRange(
  extent: number,
  start: number | null,
  stop: number | null,
  step: number,
): number[] {
  const walk: number[] = [];
  const bound = (value: number, low: number, high: number): number =>
    Math.min(Math.max(value < 0 ? value + extent : value, low), high);
  if (step > 0) {
    const end = stop === null ? extent : bound(stop, 0, extent);
    for (let i = start === null ? 0 : bound(start, 0, extent); i < end; i += step) walk.push(i);
  } else {
    const end = stop === null ? -1 : bound(stop, -1, extent - 1);
    for (let i = start === null ? extent - 1 : bound(start, -1, extent - 1); i > end; i += step)
      walk.push(i);
  }
  return walk;
}

describe('slice', () => {
  it('selects what Python selects', () => {
    const end = fc.option(fc.integer({ min: -8, max: 8 }), { nil: null });
    const counts = new CountTable()
      .expect('step', ['forward', 'backward'])
      .expect('result', ['empty', 'some']);
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 6 }),
        end,
        end,
        fc.integer({ min: -3, max: 3 }).filter((s) => s !== 0),
        (extent, start, stop, step) => {
          const expected = pythonRange(extent, start, stop, step);
          const view = sliceLayout(base([extent]), [[start, stop, step]]);
          expect(positions(view)).toEqual(expected);
          counts.add('step', step > 0 ? 'forward' : 'backward');
          counts.add('result', expected.length === 0 ? 'empty' : 'some');
        },
      ),
      { numRuns: 500, seed: 7 },
    );
    expect(counts.report('slice')).toEqual([]);
  });

  it('drops indexed dimensions and keeps the rest', () => {
    const view = sliceLayout(base([3, 4, 5]), [-1, null, 2]);
    expect(view).toEqual({ shape: [4], strides: [5], offset: 42 });
  });

  it('names what is wrong', () => {
    const cases: [SliceRange[], string][] = [
      [[3], 'INVALID_ARGUMENT'],
      [[-4], 'INVALID_ARGUMENT'],
      [[0.5], 'INVALID_ARGUMENT'],
      [[[0, 1, 0]], 'INVALID_ARGUMENT'],
      [[[0, 1.5]], 'INVALID_ARGUMENT'],
      [[[0, 1, 1, 1] as unknown as SliceRange], 'INVALID_ARGUMENT'],
      [['all' as unknown as SliceRange], 'INVALID_ARGUMENT'],
      [[null, null], 'SHAPE_MISMATCH'],
    ];
    for (const [ranges, code] of cases) {
      expect(codeOf(() => sliceLayout(base([3]), ranges))).toBe(code);
    }
  });
});

describe('permute, broadcast, reshape', () => {
  it('permutes', () => {
    expect(permuteLayout(base([2, 3, 4]), [2, 0, -2])).toEqual({
      shape: [4, 2, 3],
      strides: [1, 12, 4],
      offset: 0,
    });
    for (const axes of [
      [0, 1],
      [0, 0, 1],
      [0, 1, 3],
      [0, 1, 0.5],
    ]) {
      expect(codeOf(() => permuteLayout(base([2, 3, 4]), axes))).toBe('INVALID_ARGUMENT');
    }
  });

  it('broadcasts with stride 0', () => {
    expect(broadcastLayout(base([3, 1]), [2, 3, 4])).toEqual({
      shape: [2, 3, 4],
      strides: [0, 1, 0],
      offset: 0,
    });
    expect(broadcastShapes([3, 1], [4], [2, 1, 1])).toEqual([2, 3, 4]);
    expect(broadcastShapes([0], [1])).toEqual([0]);
    expect(codeOf(() => broadcastLayout(base([3]), [2]))).toBe('SHAPE_MISMATCH');
    expect(codeOf(() => broadcastLayout(base([3, 4]), [4]))).toBe('SHAPE_MISMATCH');
    expect(codeOf(() => broadcastShapes([3], [4]))).toBe('SHAPE_MISMATCH');
  });

  it('reshapes without moving an element, or says that it cannot', () => {
    const counts = new CountTable().expect('outcome', ['view', 'needs a copy']);
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(1, 2, 3, 4), { maxLength: 4 }),
        fc.array(fc.constantFrom(1, 2, 3, 4, 6, 8, 12), { maxLength: 4 }),
        fc.integer({ min: 0, max: 3 }),
        (shape, target, turn) => {
          const axes = shape.map((_, i) => (i + turn) % shape.length);
          const view = permuteLayout(base(shape), axes);
          const size = (shape as number[]).reduce((a: number, b: number) => a * b, 1);
          fc.pre((target as number[]).reduce((a: number, b: number) => a * b, 1) === size);
          let reshaped: Layout;
          try {
            reshaped = reshapeLayout(view, target);
          } catch (error) {
            expect(error).toMatchObject({ code: 'NOT_CONTIGUOUS' });
            counts.add('outcome', 'needs a copy');
            return;
          }
          counts.add('outcome', 'view');
          expect(positions(reshaped)).toEqual(positions(view));
        },
      ),
      { numRuns: 400, seed: 7, maxSkipsPerRun: 1000 },
    );
    expect(counts.report('reshape')).toEqual([]);
  });

  it('finds a view whenever one exists', () => {
    const matrix = permuteLayout(base([4, 6]), [1, 0]);
    expect(reshapeLayout(matrix, [2, 3, 4])).toEqual({
      shape: [2, 3, 4],
      strides: [3, 1, 6],
      offset: 0,
    });
    expect(reshapeLayout(matrix, [6, 1, 2, -1]).strides.filter((_, i) => i !== 1)).toEqual([
      1, 12, 6,
    ]);
    expect(codeOf(() => reshapeLayout(matrix, [24]))).toBe('NOT_CONTIGUOUS');
    expect(codeOf(() => reshapeLayout(matrix, [5, -1]))).toBe('SHAPE_MISMATCH');
    expect(codeOf(() => reshapeLayout(matrix, [-1, -1]))).toBe('SHAPE_MISMATCH');
    expect(codeOf(() => reshapeLayout(matrix, [25]))).toBe('SHAPE_MISMATCH');
    expect(codeOf(() => reshapeLayout(matrix, [-2, -12]))).toBe('INVALID_ARGUMENT');
    expect(reshapeLayout(base([0, 3]), [5, 0]).shape).toEqual([5, 0]);
  });
});

const layouts = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: -7, max: 7 })), {
    maxLength: 3,
  })
  .chain((dims) =>
    fc.integer({ min: 30, max: 60 }).map((offset) => ({
      shape: dims.map(([extent]) => extent),
      strides: dims.map(([, stride]) => stride),
      offset,
    })),
  );

describe('layout facts agree with a list of positions', () => {
  it('row-major, dense', () => {
    const counts = new CountTable()
      .expect('dense', ['yes', 'no'])
      .expect('row-major', ['yes', 'no']);
    const shapes = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 });
    const orders = fc.constantFrom(rowMajorStrides, columnMajorStrides);
    const regular = fc
      .tuple(shapes, orders)
      .map(([shape, order]) => ({ shape, strides: order(shape), offset: 40 }));
    fc.assert(
      fc.property(fc.oneof(layouts, regular), (layout) => {
        const found = positions(layout);
        const sorted = [...found].sort((a, b) => a - b);
        const consecutive = sorted.every((p, i) => i === 0 || p === (sorted[i - 1] ?? 0) + 1);
        const rowMajor = found.every((p, i) => p === layout.offset + i);
        const dense = consecutive && (sorted[0] ?? layout.offset) === layout.offset;
        expect(isRowMajor(layout.shape, layout.strides)).toBe(rowMajor);
        expect(isDense(layout.shape, layout.strides)).toBe(dense);
        counts.add('dense', dense ? 'yes' : 'no');
        counts.add('row-major', rowMajor ? 'yes' : 'no');
      }),
      { numRuns: 1000, seed: 7 },
    );
    expect(counts.report('layouts')).toEqual([]);
  });

  it('overlap: never missed; false alarms only where the views interleave', () => {
    const counts = new CountTable()
      .expect('pair', ['apart', 'touching', 'false alarm'])
      .expect('self', ['yes', 'no']);
    const storage = {};
    const asView = (layout: Layout) => ({
      ...layout,
      dtype: 'float32' as const,
      storage,
      label: 'x',
    });
    fc.assert(
      fc.property(layouts, layouts, (a, b) => {
        const own = positions(a);
        const twice = new Set(own).size < own.length;
        counts.add('self', twice ? 'yes' : 'no');
        if (twice) expect(overlapsItself(a)).toBe(true);
        const other = new Set(positions(b));
        const touching = own.some((p) => other.has(p));
        const said = viewsOverlap(asView(a), asView(b));
        if (touching) expect(said).toBe(true);
        counts.add('pair', touching ? 'touching' : said ? 'false alarm' : 'apart');
      }),
      { numRuns: 2000, seed: 7 },
    );
    expect(counts.report('overlap')).toEqual([]);
  });

  it('overlap: exact for rows, columns and blocks of one matrix', () => {
    const storage = {};
    const matrix = base([8, 10]);
    const view = (...ranges: SliceRange[]) => ({
      ...sliceLayout(matrix, ranges),
      dtype: 'float32' as const,
      storage,
      label: 'x',
    });
    const range = (n: number) =>
      fc
        .tuple(fc.integer({ min: 0, max: n - 1 }), fc.integer({ min: 1, max: n }))
        .filter(([a, b]) => a < b);
    fc.assert(
      fc.property(range(8), range(10), range(8), range(10), (r1, c1, r2, c2) => {
        const [a, b] = [view(r1, c1), view(r2, c2)];
        const cells = new Set(positions(b));
        expect(viewsOverlap(a, b)).toBe(positions(a).some((p) => cells.has(p)));
      }),
      { numRuns: 500, seed: 7 },
    );
    expect(viewsOverlap(view(null, [0, null, 2]), view(null, [1, null, 2]))).toBe(false);
    expect(viewsOverlap(view(null, [0, null, 2]), { ...view(null, 1), storage: {} })).toBe(false);
  });
});
