import { add, lt, mul, variable, type RealExpr } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { memoryKept, NOTHING } from '../test/memory-kept.mjs';
import { untaken } from '../test/untaken.mjs';
import {
  device,
  empty,
  full,
  map,
  MercerError,
  sumTo,
  tensor,
  zeros,
  type Pending,
  type Tensor,
} from './index.js';
import { mapSuite } from './testing/map-suite.test-support.js';

mapSuite('the CPU', () => device('cpu'), { whole: process.env['MERCER_TEST_FULL'] === '1' });

const where = { device: 'cpu' } as const;
const x = variable('x');
const y = variable('y');

describe('map refuses', () => {
  const a = empty([2, 3], where);
  const disposed = empty([2, 3], where);
  disposed.dispose();

  test.each([
    ['no formula', () => map(1 as unknown as RealExpr, { x: a }), /formula is 1/],
    ['an unbound variable', () => map(add(x, y), { x: a }), /reads 'y'/],
    ['a name bound twice', () => map(x, { x: a }, { parameters: { x: 1 } }), /'x' is bound twice/],
    ['neither input nor out', () => map(add(1, 2), {}), /no shape. Pass out/],
    ['an input that is no tensor', () => map(x, { x: 3 as never }), /input 'x'/],
    ['inputs that are no object', () => map(x, null as never), /inputs is null/],
    [
      'a parameter that is no number',
      () => map(x, { x: a }, { parameters: { y: '3' as never } }),
      /parameter 'y' is "3"/,
    ],
    [
      'an axis that is not there',
      () => map(add(x, y), { x: a }, { indices: { y: 2 } }),
      /index 'y'.*axis 2.*\[2, 3\].*-2 to 1/,
    ],
    ['a dtype that is none', () => map(x, { x: a }, { dtype: 'float8' as never }), /float8/],
  ])('%s', async (_, call, message) => {
    const error: unknown = await call().catch((e: unknown) => e);
    expect(error).toBeInstanceOf(MercerError);
    expect((error as MercerError).code).toBe('INVALID_ARGUMENT');
    expect((error as MercerError).message).toMatch(message);
  });

  test('shapes, dtypes and memory that do not fit', async () => {
    const code = (promise: Promise<unknown>): Promise<unknown> =>
      promise.catch((e: unknown) => (e as MercerError).code);
    const other = empty([2, 4], where);
    expect(await code(map(add(x, y), { x: a, y: other }))).toBe('SHAPE_MISMATCH');
    expect(await code(map(x, { x: a }, { out: other }))).toBe('SHAPE_MISMATCH');
    expect(await code(map(x, { x: a }, { out: other.slice(0) }))).toBe('SHAPE_MISMATCH');
    const wide = empty([2, 3], { dtype: 'float64', ...where });
    expect(await code(map(x, { x: a }, { out: wide, dtype: 'float32' as never }))).toBe(
      'DTYPE_MISMATCH',
    );
    expect(await code(map(x, { x: disposed }))).toBe('DISPOSED');
    const square = empty([3, 3], where);
    expect(await code(map(x, { x: square }, { out: square.transpose() }))).toBe('OVERLAP');
    expect(await code(map(x, { x: square.slice(0) }, { out: square }))).toBe('OVERLAP');
    const repeated = empty([1, 3], where).broadcastTo([3, 3]);
    expect(await code(map(x, { x: square }, { out: repeated }))).toBe('OVERLAP');
  });

  test('nine dimensions that cannot be merged', async () => {
    const shape = new Array<number>(9).fill(3);
    const view = empty(shape, where).slice(...shape.map((): [number, number] => [1, 3]));
    await expect(map(x, { x: view })).rejects.toThrow(/9 dimensions/);
  });
});

test('the defaults of the dtype', async () => {
  const dtypes = ['float64', 'float32', 'float16', 'bfloat16', 'int64', 'uint8'] as const;
  const found: string[] = [];
  for (const dtype of dtypes) {
    found.push((await map(mul(x, 2), { x: await zeros([2], { dtype, ...where }) })).dtype);
  }
  expect(found).toEqual(['float64', ...new Array<string>(5).fill('float32')]);
  const mixed = { x: empty([2], where), y: empty([2], { dtype: 'float64', ...where }) };
  expect((await map(add(x, y), mixed)).dtype).toBe('float64');
  expect((await map(lt(x, y), mixed)).dtype).toBe('bool');
});

describe('a map of results that are not awaited', () => {
  const both = { sum: add(x, y), product: mul(x, y) };

  test('reads them at its place among other calls', async () => {
    using a = await tensor([1, 2], where);
    const found = map(add(x, y), { x: a.clone(), y: a.mul(10) });
    const several = map(both, { x: tensor([3, 4], where), y: a });
    await a.fill(100);
    expect(await found.toNested()).toEqual([11, 22]);
    expect(await several.then(({ sum }) => sum.toNested())).toEqual([4, 6]);
    expect(await several.then(({ product }) => product.toNested())).toEqual([3, 8]);
  });

  test('of which lists hold some', async () => {
    using a = await tensor([1, 2], where);
    const lists = { x: [a, a.mul(2)], y: [a.slice(0).clone(), a] };
    const sums = await map(add(x, y), lists);
    expect(await Promise.all(sums.map((one) => one.toNested()))).toEqual([
      [2, 3],
      [3, 6],
    ]);
    const { product } = await map(both, { x: [a.add(1), a], y: a.clone() });
    expect(await Promise.all(product.map((one) => one.toNested()))).toEqual([
      [2, 6],
      [1, 4],
    ]);
  });

  test('fails as the first of them, once, and keeps no memory', async () => {
    using a = await tensor([1, 2], where);
    const failing = (): Pending<Tensor<'float32'>> => sumTo(a, [5]);
    const calls: readonly (() => Promise<unknown>)[] = [
      () => map(x, { x: failing() }),
      () => map(add(x, y), { x: failing(), y: failing() }),
      () => map(both, { x: a, y: failing() }),
      () => map(both, { x: [a, failing()], y: a }),
    ];
    const kept = await memoryKept(a.device, async () => {
      for (const call of calls) {
        const rejected = await untaken(async () => {
          await expect(call()).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
        });
        expect(rejected).toEqual([]);
        expect(await untaken(async () => void call())).toHaveLength(1);
      }
      for (const one of [a.mul(2), a.clone()]) {
        const made = [await map(x, { x: one }), ...(await map(x, { x: [one, a] }))];
        for (const each of [...made, one]) each.dispose();
      }
    });
    expect(kept).toEqual(NOTHING);
  });
});

describe('a map of layouts seen before', () => {
  const scale = variable('scale');
  const scaled = mul(scale, add(x, y));

  test('takes other data, parameters, indices and outputs', async () => {
    const out = empty([2, 2], where);
    for (const factor of [1, 2, -3]) {
      const a = await tensor(
        [
          [1, factor],
          [3, 4],
        ],
        where,
      );
      const inputs = { x: a, y: await tensor([10, 20], where) };
      const parameters = { scale: factor };
      const wanted = [
        [11, factor + 20],
        [13, 24],
      ].map((row) => row.map((n) => n * factor));
      expect(await (await map(scaled, inputs, { parameters })).toNested()).toEqual(wanted);
      expect(await map(scaled, inputs, { parameters, out })).toBe(out);
      expect(await out.toNested()).toEqual(wanted);
      // the same tensors under each other's names, and another broadcast of one of them
      const turned = { x: inputs.y.reshape([2, 1]), y: a };
      expect(await (await map(scaled, turned, { parameters })).toNested()).toEqual(
        [
          [11, factor + 10],
          [23, 24],
        ].map((row) => row.map((n) => n * factor)),
      );
    }
    const ones = await full([2, 3], 1, where);
    for (const [axis, wanted] of [
      [0, [1, 1, 1, 2, 2, 2]],
      [1, [1, 2, 3, 1, 2, 3]],
    ] as const) {
      const numbered = await map(add(x, y), { x: ones }, { indices: { y: axis } });
      expect([...(await numbered.toTypedArray())]).toEqual(wanted);
    }
  });

  test('still refuses what depends on more than layouts', async () => {
    const code = (promise: Promise<unknown>): Promise<unknown> =>
      promise.catch((e: unknown) => (e as MercerError).code);
    const [a, b] = [await full([3, 3], 2, where), await full([3, 3], 5, where)];
    const transposed = empty([3, 3], where).transpose();
    const twice = mul(x, 2);
    await map(twice, { x: a }, { out: transposed });
    expect(await code(map(twice, { x: a }, { out: a.transpose() }))).toBe('OVERLAP');
    await map(twice, { x: a }, { out: b });
    await map(twice, { x: a }, { out: a });
    expect(await a.toNested()).toEqual([
      [4, 4, 4],
      [4, 4, 4],
      [4, 4, 4],
    ]);
    b.dispose();
    expect(await code(map(twice, { x: a }, { out: b }))).toBe('DISPOSED');
    expect(await code(map(twice, { x: b }, { out: a }))).toBe('DISPOSED');
    expect(await code(map(scaled, { x: a, y: a }, { parameters: { scale: '1' as never } }))).toBe(
      'INVALID_ARGUMENT',
    );
  });
});
