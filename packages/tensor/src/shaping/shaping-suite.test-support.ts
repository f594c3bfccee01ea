import { DTYPES, type DType } from '@mercer/kernels';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concat, flip, pad, split, stack, tile, type Device, type Tensor } from '../index.js';
import { castOracle } from '../testing/cast-oracle.test-support.js';
import { CountTable } from '../testing/count-table.test-support.js';
import {
  castAll,
  hostValues,
  placed,
  stored,
  type HostValues,
} from '../testing/host-values.test-support.js';
import { LAYOUTS, viewOf, type LayoutName } from '../testing/view-layouts.test-support.js';

const dtypeOf = fc.constantFrom(...DTYPES);
const layoutOf = fc.constantFrom(...LAYOUTS);
const extentOf = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 4 }) },
  fc.constant(0),
  fc.constant(17),
);
const shapeOf = (minLength: number): fc.Arbitrary<number[]> =>
  fc.array(extentOf, { minLength, maxLength: 4 });
const seedOf = fc.integer({ min: 1, max: 1e6 });

const FLOATS: readonly DType[] = ['float64', 'float32', 'float16', 'bfloat16'];

/** Where tensors of several dtypes meet, as the documentation says. */
function joinedDType(dtypes: readonly DType[]): DType {
  const [first = 'float32'] = dtypes;
  if (dtypes.every((one) => one === first)) return first;
  if (dtypes.includes('float64')) return 'float64';
  if (dtypes.some((one) => FLOATS.includes(one))) return 'float32';
  return (
    (['int64', 'int32', 'uint8', 'bool'] as const).find((one) => dtypes.includes(one)) ?? first
  );
}

/** Counts dtypes and layouts that came up. */
const counted = (): CountTable =>
  new CountTable()
    .expect('dtype', DTYPES)
    .expect('layout', LAYOUTS)
    .expect('out', ['none', ...LAYOUTS])
    .expect('rank', ['0', '1', '2', '3', '4'])
    .expect('elements', ['none', 'some']);

/** What changes shapes and joins tensors, on a device, against plain loops over places. */
export function shapingSuite(where: () => Device): void {
  const RUNS = { numRuns: 150, seed: 7 };
  const outOf = fc.option(layoutOf, { nil: undefined });

  const outFor = (dtype: DType, shape: readonly number[], layout: LayoutName | undefined) =>
    layout === undefined ? undefined : viewOf(dtype, shape, layout, where());

  const count = (counts: CountTable, one: Tensor, layout: string, out?: string): void => {
    counts.add('dtype', one.dtype);
    counts.add('layout', layout);
    counts.add('out', out ?? 'none');
    counts.add('rank', String(one.rank));
    counts.add('elements', one.size === 0 ? 'none' : 'some');
  };

  describe.each(['concat', 'stack'] as const)('%s', (what) => {
    it('joins tensors of all dtypes, shapes and layouts', { timeout: 600_000 }, async () => {
      const counts = counted().expect('dtypes', ['one', 'several']);
      const cases = fc.record({
        shape: shapeOf(what === 'concat' ? 1 : 0),
        axis: fc.nat(),
        negative: fc.boolean(),
        mixed: fc.boolean(),
        parts: fc.array(fc.record({ dtype: dtypeOf, layout: layoutOf, extent: extentOf }), {
          minLength: 1,
          maxLength: 4,
        }),
        out: outOf,
        seed: seedOf,
      });
      await fc.assert(
        fc.asyncProperty(cases, async ({ shape, parts, out: outLayout, mixed, ...given }) => {
          const rank = what === 'concat' ? shape.length : shape.length + 1;
          const axis = given.axis % rank;
          const all = parts.map(({ dtype, extent }, k) =>
            hostValues(
              mixed ? dtype : (parts[0]?.dtype ?? dtype),
              what === 'concat' ? shape.with(axis, extent) : shape,
              given.seed + k,
            ),
          );
          const tensors = await Promise.all(
            all.map((one, k) => placed(one, parts[k]?.layout ?? 'plain', where())),
          );
          const dtype = joinedDType(all.map((one) => one.dtype));
          // part and place in it, of every place along the axis
          const along = all.flatMap((one): { one: HostValues; at: number | undefined }[] =>
            what === 'stack'
              ? [{ one, at: undefined }]
              : Array.from({ length: one.shape[axis] ?? 0 }, (_, at) => ({ one, at })),
          );
          const result = what === 'concat' ? shape.with(axis, along.length) : [...shape];
          if (what === 'stack') result.splice(axis, 0, along.length);
          const expected = castAll(result, dtype, (index) => {
            const { one, at } = along[index[axis] ?? 0] as (typeof along)[number];
            const own = [...index];
            own.splice(axis, 1, ...(at === undefined ? [] : [at]));
            return one.at(own);
          });
          const out = outFor(dtype, result, outLayout);
          const join = what === 'concat' ? concat : stack;
          const found = await join(tensors, given.negative ? axis - rank : axis, { out });
          expect(found.shape).toEqual(result);
          expect(found.dtype).toBe(dtype);
          if (out !== undefined) expect(found).toBe(out);
          expect(await stored(found)).toEqual(expected);
          counts.add('dtypes', all.every((one) => one.dtype === dtype) ? 'one' : 'several');
          tensors.forEach((one, k) => {
            count(counts, one, parts[k]?.layout ?? '', outLayout);
          });
          for (const one of [...tensors, found]) one.dispose();
        }),
        RUNS,
      );
      const missing = counts.report(`${what} on ${where().id}`);
      expect(missing.filter((one) => !(what === 'concat' && one === 'rank 0'))).toEqual([]);
    });
  });

  it('tile repeats along all axes', { timeout: 600_000 }, async () => {
    const counts = counted().expect('counts', ['fewer', 'as many', 'more']);
    const cases = fc.record({
      shape: shapeOf(0),
      times: fc.array(
        fc.oneof({ weight: 6, arbitrary: fc.integer({ min: 1, max: 3 }) }, fc.constant(0)),
        {
          maxLength: 5,
        },
      ),
      dtype: dtypeOf,
      layout: layoutOf,
      out: outOf,
      seed: seedOf,
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, times, dtype, layout, out: outLayout, seed }) => {
        const values = hostValues(dtype, shape, seed);
        const x = await placed(values, layout, where());
        const rank = Math.max(shape.length, times.length);
        const long = [...new Array<number>(rank - shape.length).fill(1), ...shape];
        const counts1 = [...new Array<number>(rank - times.length).fill(1), ...times];
        const result = long.map((extent, axis) => extent * (counts1[axis] ?? 1));
        const expected = castAll(result, dtype, (index) =>
          values.at(index.map((k, axis) => k % (long[axis] ?? 1)).slice(rank - shape.length)),
        );
        const out = outFor(dtype, result, outLayout);
        const found = await tile(x, times, { out });
        expect(found.shape).toEqual(result);
        expect(await stored(found)).toEqual(expected);
        count(counts, x, layout, outLayout);
        const difference = Math.sign(times.length - shape.length);
        counts.add('counts', ['fewer', 'as many', 'more'][difference + 1] ?? '');
        x.dispose();
        found.dispose();
      }),
      RUNS,
    );
    expect(counts.report(`tile on ${where().id}`)).toEqual([]);
  });

  it('tile repeats along more axes than a copy has', async () => {
    const shape = [2, 3, 1, 2, 2, 2];
    const times = [2, 2, 2, 3, 2, 2];
    const values = hostValues('int32', shape, 3);
    using x = await placed(values, 'turned', where());
    const result = shape.map((extent, axis) => extent * (times[axis] ?? 1));
    const expected = castAll(result, 'int32', (index) =>
      values.at(index.map((k, axis) => k % (shape[axis] ?? 1))),
    );
    using found = await x.tile(times);
    expect(await stored(found)).toEqual(expected);
  });

  it('pad puts a value around', { timeout: 600_000 }, async () => {
    const counts = counted().expect('widths', ['number', 'pair', 'one pair', 'pairs']);
    const width = fc.integer({ min: 0, max: 3 });
    const cases = fc.record({
      shape: shapeOf(0),
      pairs: fc.array(fc.tuple(width, width), { minLength: 4, maxLength: 4 }),
      form: fc.constantFrom('number', 'pair', 'one pair', 'pairs'),
      value: fc.constantFrom(undefined, 0, 1, 2.5, -3, true, 7n, Infinity),
      dtype: dtypeOf,
      layout: layoutOf,
      out: outOf,
      seed: seedOf,
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, pairs, form, value, dtype, layout, ...given }) => {
        const values = hostValues(dtype, shape, given.seed);
        const x = await placed(values, layout, where());
        const first = pairs[0] ?? [0, 0];
        const own = shape.map((_, axis) => {
          if (form === 'number') return [first[0], first[0]] as const;
          return form === 'pairs' ? (pairs[axis] ?? first) : first;
        });
        const widths = { number: first[0], pair: first, 'one pair': [first], pairs: own }[form];
        const result = shape.map(
          (extent, axis) => (own[axis]?.[0] ?? 0) + extent + (own[axis]?.[1] ?? 0),
        );
        const border = typeof value === 'boolean' ? BigInt(value) : (value ?? 0);
        const expected = castAll(result, dtype, () => 0n).map((_, at) => at);
        const wanted = expected.map((place) => {
          let rest = place;
          const index = result
            .map((extent) => extent)
            .reverse()
            .map((extent) => {
              const k = rest % extent;
              rest = Math.floor(rest / extent);
              return k;
            })
            .reverse()
            .map((k, axis) => k - (own[axis]?.[0] ?? 0));
          const inside = index.every((k, axis) => k >= 0 && k < (shape[axis] ?? 0));
          return castOracle(inside ? values.at(index) : border, dtype);
        });
        const out = outFor(dtype, result, given.out);
        const found = await pad(x, widths as never, { value, out });
        expect(found.shape).toEqual(result);
        expect(await stored(found)).toEqual(wanted);
        count(counts, x, layout, given.out);
        counts.add('widths', form);
        x.dispose();
        found.dispose();
      }),
      RUNS,
    );
    expect(counts.report(`pad on ${where().id}`)).toEqual([]);
  });

  it('split and flip are views of what they are of', { timeout: 600_000 }, async () => {
    const counts = counted().expect('sections', ['number', 'sizes']);
    const cases = fc.record({
      shape: shapeOf(1),
      axis: fc.nat(),
      cuts: fc.array(fc.nat(), { maxLength: 3 }),
      equal: fc.boolean(),
      flips: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
      dtype: dtypeOf,
      layout: layoutOf,
      seed: seedOf,
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ shape, cuts, equal, flips, dtype, layout, ...given }) => {
        const values = hostValues(dtype, shape, given.seed);
        const x = await placed(values, layout, where());
        const axis = given.axis % shape.length;
        const extent = shape[axis] ?? 0;
        const ends = [0, ...cuts.map((cut) => cut % (extent + 1)).sort((a, b) => a - b), extent];
        const divisors = [1, 2, 3, 4, 17].filter((one) => extent % one === 0);
        const sections = divisors[given.seed % divisors.length] ?? 1;
        const sizes = equal
          ? new Array<number>(sections).fill(extent / sections)
          : ends.slice(1).map((end, k) => end - (ends[k] ?? 0));
        const parts = split(x, equal ? sections : sizes, axis - (given.seed % 2) * shape.length);
        expect(parts.map((one) => one.shape)).toEqual(sizes.map((size) => shape.with(axis, size)));
        let start = 0;
        for (const [k, part] of parts.entries()) {
          const begin = start;
          expect(part.storage).toBe(x.storage);
          const expected = castAll(part.shape, dtype, (index) =>
            values.at(index.with(axis, begin + (index[axis] ?? 0))),
          );
          expect(await stored(part)).toEqual(expected);
          start += sizes[k] ?? 0;
          part.dispose();
        }
        const turned = shape.flatMap((_, k) => (flips[k] === true ? [k] : []));
        const flipped = flip(x, turned);
        expect(flipped.storage).toBe(x.storage);
        const expected = castAll(shape, dtype, (index) =>
          values.at(index.map((k, at) => (turned.includes(at) ? (shape[at] ?? 0) - 1 - k : k))),
        );
        expect(await stored(flipped)).toEqual(expected);
        count(counts, x, layout);
        counts.add('sections', equal ? 'number' : 'sizes');
        flipped.dispose();
        x.dispose();
      }),
      RUNS,
    );
    const missing = counts.report(`split and flip on ${where().id}`);
    expect(missing.filter((one) => !/^out |^rank 0/.test(one))).toEqual([]);
  });
}
