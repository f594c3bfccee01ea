import { DTYPES, type DType } from '@mercer/kernels';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compress,
  empty,
  index,
  take,
  takeAlongAxis,
  tensor,
  type AxisIndices,
  type Device,
  type Tensor,
} from '../index.js';
import { castAll, hostValues, placed, stored } from '../testing/host-values.test-support.js';
import { CountTable } from '../testing/count-table.test-support.js';
import { LAYOUTS, viewOf } from '../testing/view-layouts.test-support.js';

const extentOf = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 4 }) },
  fc.constant(0),
  fc.constant(17),
);
const layoutOf = fc.constantFrom(...LAYOUTS);
const INDEX_DTYPES = ['int64', 'int32', 'uint8'] as const;
const FORMS = [...INDEX_DTYPES, 'host'] as const;

const common = {
  shape: fc.array(extentOf, { minLength: 1, maxLength: 4 }),
  axis: fc.nat(),
  negative: fc.boolean(),
  dtype: fc.constantFrom(...DTYPES),
  layout: layoutOf,
  out: fc.option(layoutOf, { nil: undefined }),
  form: fc.constantFrom(...FORMS),
  numbers: fc.array(fc.nat(), { minLength: 4, maxLength: 40 }),
  seed: fc.integer({ min: 1, max: 1e6 }),
};

const RUNS = { numRuns: 150, seed: 7 };

const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/** Row-major. */
const placeOf = (index: readonly number[], shape: readonly number[]): number =>
  index.reduce((at, k, axis) => at * (shape[axis] ?? 1) + k, 0);

function nested(flat: readonly number[], shape: readonly number[]): unknown {
  const [first, ...rest] = shape;
  if (first === undefined) return flat[0];
  const step = sizeOf(rest);
  return Array.from({ length: first }, (_, k) =>
    nested(flat.slice(k * step, (k + 1) * step), rest),
  );
}

/** Indices of both signs, where the dtype has them, of an axis with elements. */
const indicesOf = (
  count: number,
  extent: number,
  { numbers, form }: { readonly numbers: readonly number[]; readonly form: string },
): readonly number[] =>
  Array.from({ length: count }, (_, k) => {
    const drawn = (numbers[k % numbers.length] ?? 0) + k;
    const at = drawn % extent;
    return form !== 'uint8' && drawn % 3 === 0 ? at - extent : at;
  });

const fromStart = (index: number, extent: number): number => (index < 0 ? index + extent : index);

/** Indices on a device, or nested arrays; some as views whose elements lie two apart. */
async function given(
  flat: readonly number[],
  shape: readonly number[],
  form: (typeof FORMS)[number],
  device: Device,
): Promise<Tensor<'int32'>> {
  // no array says the other extents of one without elements
  if (form === 'host' && flat.length > 0) return nested(flat, shape) as Tensor<'int32'>;
  const dtype = form === 'host' ? 'int32' : form;
  const apart = flat.flatMap((one) => [one, 0]);
  const wide = await tensor(Float64Array.from(apart), { dtype, shape: [...shape, 2], device });
  const all = wide.slice(...shape.map(() => null), 0);
  wide.dispose();
  return all as Tensor as Tensor<'int32'>;
}

const disposeIt = (one: unknown): void => {
  if (typeof one === 'object' && one !== null && 'dispose' in one) (one as Tensor).dispose();
};

/** Elements by index and by mask on a device, against plain loops over places. */
export function indexingSuite(where: () => Device): void {
  const counted = (): CountTable =>
    new CountTable()
      .expect('dtype', DTYPES)
      .expect('layout', LAYOUTS)
      .expect('out', ['none', ...LAYOUTS])
      .expect('indices', FORMS);

  const outFor = (dtype: DType, shape: readonly number[], layout: (typeof LAYOUTS)[number]) =>
    viewOf(dtype, shape, layout, where());

  describe('take', () => {
    it('takes elements of all dtypes and layouts along an axis', { timeout: 600_000 }, async () => {
      const counts = counted().expect('axis', ['one', 'all']);
      const cases = fc.record({
        ...common,
        indices: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }),
        flat: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(cases, async ({ shape, dtype, layout, form, flat, ...rest }) => {
          const axis = rest.axis % shape.length;
          const extent = flat ? sizeOf(shape) : (shape[axis] ?? 0);
          const own = extent === 0 ? [0, ...rest.indices] : rest.indices;
          const values = hostValues(dtype, shape, rest.seed);
          const x = await placed(values, layout, where());
          const numbers = indicesOf(sizeOf(own), extent, { ...rest, form });
          const indices = await given(numbers, own, form, where());
          const at = flat ? 0 : axis;
          const whole = flat ? [extent] : shape;
          const result = whole.toSpliced(at, 1, ...own);
          const expected = castAll(result, dtype, (index) => {
            const which = numbers[placeOf(index.slice(at, at + own.length), own)] ?? 0;
            const source = index.toSpliced(at, own.length, fromStart(which, extent));
            if (!flat) return values.at(source);
            let place = source[0] ?? 0;
            const places = shape.toReversed().map((one) => {
              const k = place % one;
              place = Math.floor(place / one);
              return k;
            });
            return values.at(places.reverse());
          });
          const out = rest.out && outFor(dtype, result, rest.out);
          const along = flat ? undefined : rest.negative ? axis - shape.length : axis;
          const found = await take(x, indices, along, { out });
          expect(found.shape).toEqual(result);
          if (out !== undefined) expect(found).toBe(out);
          expect(await stored(found)).toEqual(expected);
          counts.add('dtype', dtype);
          counts.add('layout', layout);
          counts.add('out', rest.out ?? 'none');
          counts.add('indices', form);
          counts.add('axis', flat ? 'all' : 'one');
          for (const one of [x, found, indices]) disposeIt(one);
        }),
        RUNS,
      );
      expect(counts.report(`take on ${where().id}`)).toEqual([]);
    });

    it('gives a missing element where an index of a tensor names none', async () => {
      const device = where();
      using x = await tensor([1, 2, 3], { device });
      using whole = await x.cast('int32');
      for (const dtype of ['int32', 'int64'] as const) {
        using indices = await tensor(Float64Array.of(3, -3, -4, 2), { dtype, device });
        expect(await take(x, indices, 0).toNested()).toEqual([NaN, 1, NaN, 3]);
        expect(await whole.take(indices, 0).toNested()).toEqual([0, 1, 0, 3]);
      }
    });

    it('names rows beyond those that int32 counts exactly in float32', async () => {
      const device = where();
      const extent = 2 ** 24 + 3;
      const data = new Uint8Array(2 * extent);
      data[extent - 2] = 5;
      data[2 * extent - 2] = 7;
      using x = await tensor(data, { device, shape: [2, extent] });
      using indices = await tensor(Int32Array.of(extent - 2, -2), { device });
      expect(await take(x, indices, 1).toNested()).toEqual([
        [5, 5],
        [7, 7],
      ]);
    });
  });

  it('takeAlongAxis has indices for each place', { timeout: 600_000 }, async () => {
    const counts = counted().expect('indices beside the axis', ['full', 'one']);
    const cases = fc.record({
      ...common,
      count: fc.integer({ min: 0, max: 5 }),
      ones: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, dtype, layout, form, ones, ...rest }) => {
        const axis = rest.axis % shape.length;
        const extent = shape[axis] ?? 0;
        const count = extent === 0 ? 0 : rest.count;
        const own = shape.map((one, k) => (k === axis ? count : ones[k] === true ? 1 : one));
        const values = hostValues(dtype, shape, rest.seed);
        const x = await placed(values, layout, where());
        const numbers = indicesOf(sizeOf(own), extent, { ...rest, form });
        const indices = await given(numbers, own, form, where());
        const result = shape.with(axis, count);
        const expected = castAll(result, dtype, (index) => {
          const at = index.map((k, one) => (own[one] === 1 ? 0 : k));
          const which = numbers[placeOf(at, own)] ?? 0;
          return values.at(index.with(axis, fromStart(which, extent)));
        });
        const out = rest.out && outFor(dtype, result, rest.out);
        const along = rest.negative ? axis - shape.length : axis;
        const found = await takeAlongAxis(x, indices, along, { out });
        expect(found.shape).toEqual(result);
        if (out !== undefined) expect(found).toBe(out);
        expect(await stored(found)).toEqual(expected);
        counts.add('dtype', dtype);
        counts.add('layout', layout);
        counts.add('out', rest.out ?? 'none');
        counts.add('indices', form);
        const full = own.every((one, k) => k === axis || one === shape[k]);
        counts.add('indices beside the axis', full ? 'full' : 'one');
        for (const one of [x, found, indices]) disposeIt(one);
      }),
      RUNS,
    );
    expect(counts.report(`takeAlongAxis on ${where().id}`)).toEqual([]);
  });

  it('compress keeps what a mask says', { timeout: 600_000 }, async () => {
    const counts = new CountTable()
      .expect('dtype', DTYPES)
      .expect('layout', LAYOUTS)
      .expect('out', ['none', ...LAYOUTS])
      .expect('axis', ['one', 'all']);
    const cases = fc.record({ ...common, flat: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, dtype, layout, flat, numbers, ...rest }) => {
        const axis = rest.axis % shape.length;
        const own = flat ? shape : [shape[axis] ?? 0];
        const flags = Array.from({ length: sizeOf(own) }, (_, k) => {
          return ((numbers[k % numbers.length] ?? 0) + k) % 2;
        });
        const values = hostValues(dtype, shape, rest.seed);
        const x = await placed(values, layout, where());
        const mask = await tensor(Uint8Array.from(flags), {
          dtype: 'bool',
          shape: own,
          device: where(),
        });
        const places = flags.flatMap((flag, k) => (flag === 1 ? [k] : []));
        const result = flat ? [places.length] : shape.with(axis, places.length);
        const expected = castAll(result, dtype, (index) => {
          if (!flat) return values.at(index.with(axis, places[index[axis] ?? 0] ?? 0));
          let place = places[index[0] ?? 0] ?? 0;
          const at = shape.toReversed().map((one) => {
            const k = place % one;
            place = Math.floor(place / one);
            return k;
          });
          return values.at(at.reverse());
        });
        const out = rest.out && outFor(dtype, result, rest.out);
        const along = flat ? undefined : rest.negative ? axis - shape.length : axis;
        const found = await compress(x, mask, along, { out });
        expect(found.shape).toEqual(result);
        if (out !== undefined) expect(found).toBe(out);
        expect(await stored(found)).toEqual(expected);
        counts.add('dtype', dtype);
        counts.add('layout', layout);
        counts.add('out', rest.out ?? 'none');
        counts.add('axis', flat ? 'all' : 'one');
        for (const one of [x, mask, found]) one.dispose();
      }),
      RUNS,
    );
    expect(counts.report(`compress on ${where().id}`)).toEqual([]);
  });

  describe('index', () => {
    const shape = [3, 4, 2, 5];
    const valueAt = (at: readonly number[]): number => placeOf(at, shape) % 101;
    /** The elements where numpy's rule for `x[i, :, j]` takes them from, place by place. */
    const expected = (
      entries: readonly (readonly number[][] | null)[],
      rows: number,
      columns: number,
    ): readonly number[] => {
      const axes = entries.flatMap((entry, axis) => (entry === null ? [] : [axis]));
      const others = [...shape.keys()].filter((axis) => !axes.includes(axis));
      const isRun = axes.every((axis, k) => axis === (axes[0] ?? 0) + k);
      const front = isRun ? others.filter((axis) => axis < (axes[0] ?? 0)) : [];
      const back = others.filter((axis) => !front.includes(axis));
      const every = (of: readonly number[]): number[][] =>
        of.reduce<number[][]>(
          (all, axis) =>
            all.flatMap((at) => Array.from({ length: shape[axis] ?? 0 }, (_, k) => [...at, k])),
          [[]],
        );
      const values: number[] = [];
      for (const before of every(front)) {
        for (let r = 0; r < rows; r++) {
          for (let c = 0; c < columns; c++) {
            for (const behind of every(back)) {
              const at = shape.map(() => 0);
              front.forEach((axis, k) => (at[axis] = before[k] ?? 0));
              back.forEach((axis, k) => (at[axis] = behind[k] ?? 0));
              for (const axis of axes) {
                const entry = entries[axis] ?? [];
                const line = entry[entry.length === 1 ? 0 : r] ?? [];
                const own = line[line.length === 1 ? 0 : c] ?? 0;
                at[axis] = own < 0 ? own + (shape[axis] ?? 0) : own;
              }
              values.push(valueAt(at));
            }
          }
        }
      }
      return values;
    };

    it.each<readonly [string, readonly (number[][] | null)[]]>([
      ['the first axis', [[[2, 0, -1]]]],
      ['neighbours', [null, [[3, -4, 1]], [[1], [0]]]],
      ['the last two', [null, null, [[0], [-1]], [[4, 0, -2]]]],
      ['no neighbours, in front', [[[0, 1, 2]], null, [[1], [-2]]]],
      ['the ends', [[[1]], null, null, [[0, 4, 2]]]],
      ['all', [[[0, 1, 2]], [[3], [0]], [[0]], [[-5, 2, 2]]]],
    ])('takes along several axes at once: %s', async (_, entries) => {
      const place = { device: where() };
      const data = Float32Array.from({ length: sizeOf(shape) }, (_, k) => k % 101);
      const x = await tensor(data, { shape, ...place });
      const turned = (await x.permute([3, 2, 1, 0]).contiguous()).permute([3, 2, 1, 0]);
      const given = entries.flatMap((entry) => (entry === null ? [] : [entry]));
      const rows = Math.max(...given.map((entry) => entry.length));
      const columns = Math.max(...given.map(([line = []]) => line.length));
      const wanted = expected(entries, rows, columns);
      for (const dtype of ['host', 'int32', 'int64'] as const) {
        const list = await Promise.all(
          entries.map(async (entry) =>
            entry === null || dtype === 'host' ? entry : await tensor(entry, { dtype, ...place }),
          ),
        );
        for (const one of [x, turned]) {
          const found = await one.index(list);
          expect([...(await found.toTypedArray())]).toEqual(wanted);
          const out = empty(found.shape, place);
          expect(await index(one, list as never, { out })).toBe(out);
          expect([...(await out.toTypedArray())]).toEqual(wanted);
          found.dispose();
          out.dispose();
        }
      }
    });

    /** Elements of the tensor by a formula for each place of the result, which is a plain loop. */
    const elements = (extents: readonly number[], from: (at: readonly number[]) => number[]) =>
      Float32Array.from({ length: sizeOf(extents) }, (_, place) => {
        let rest = place;
        const at = extents.toReversed().map((extent) => {
          const k = rest % extent;
          rest = Math.floor(rest / extent);
          return k;
        });
        return valueAt(from(at.reverse()));
      });

    it('takes by masks of several axes and by ranges, as numpy', async () => {
      const place = { device: where() };
      const data = Float32Array.from({ length: sizeOf(shape) }, (_, k) => k % 101);
      const x = await tensor(data, { shape, ...place });
      const truths = [
        [false, true, false, true],
        [true, false, false, false],
        [false, false, true, true],
      ];
      const pairs = truths.flatMap((line, i) => line.flatMap((one, j) => (one ? [[i, j]] : [])));
      const mask = await tensor(truths, place);
      const line = await tensor([true, false], place);
      const i = (k = 0): number => pairs[k]?.[0] ?? NaN;
      const j = (k = 0): number => pairs[k]?.[1] ?? NaN;
      const by = [4, 0, 1, 1, -5];
      const own = (k = 0): number => ((by[k] ?? 0) + 5) % 5;
      const cases: readonly (readonly [
        entries: readonly AxisIndices[],
        extents: readonly number[],
        from: (at: readonly number[]) => number[],
      ])[] = [
        [[mask], [5, 2, 5], ([k, c = 0, d = 0]) => [i(k), j(k), c, d]],
        [[mask, 1], [5, 5], ([k, d = 0]) => [i(k), j(k), 1, d]],
        [[mask, 1, by], [5], ([k]) => [i(k), j(k), 1, own(k)]],
        // no neighbours: in front
        [[mask, null, by], [5, 2], ([k, c = 0]) => [i(k), j(k), c, own(k)]],
        [[mask, { step: -1 }, by], [5, 2], ([k, c = 0]) => [i(k), j(k), 1 - c, own(k)]],
        [[mask, line, by], [5], ([k]) => [i(k), j(k), 0, own(k)]],
        [[{ start: 1 }, [0, -1], line], [2, 2, 5], ([a = 0, k = 0, d = 0]) => [a + 1, 3 * k, 0, d]],
        [
          [[2, 0], { start: -3, stop: 3 }, null, { start: 4, stop: 0, step: -2 }],
          [2, 2, 2, 2],
          ([k = 0, b = 0, c = 0, d = 0]) => [2 - 2 * k, b + 1, c, 4 - 2 * d],
        ],
        [[{ stop: 0 }, [1, 2]], [0, 2, 2, 5], () => []],
      ];
      for (const [entries, extents, from] of cases) {
        for (const one of [x, (await x.permute([1, 3, 0, 2]).contiguous()).permute([2, 0, 3, 1])]) {
          const found = await index(one, entries);
          expect(found.shape).toEqual(extents);
          expect(await found.toTypedArray()).toEqual(elements(extents, from));
          found.dispose();
        }
      }
    });

    it('takes where masks are true, and nothing that is there by an index outside', async () => {
      const place = { device: where() };
      const x = await tensor(
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
        place,
      );
      const mask = await tensor([true, false, true], place);
      expect(await x.index([null, mask]).toNested()).toEqual([
        [1, 3],
        [4, 6],
      ]);
      expect(await x.index([1, mask]).toNested()).toEqual([4, 6]);
      const outside = await tensor(
        [
          [1, 2],
          [-3, -1],
        ],
        { dtype: 'int32', ...place },
      );
      expect(await x.index([outside, 1]).toNested()).toEqual([
        [5, NaN],
        [NaN, 5],
      ]);
      const whole = await x.cast('int32');
      expect(await whole.index([outside, [3 - 1, 0]]).toNested()).toEqual([
        [6, 0],
        [0, 4],
      ]);
    });
  });
}
