import { add, mul, variable } from '@mercer/formula';
import { expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../test/memory-kept.mjs';
import { countRows } from './count-rows.js';
import { empty, full, tensor } from './create.js';
import { device } from './devices.js';
import { gatherRows } from './gather-rows.js';
import { map } from './map.js';
import { startProfile } from './profiler.js';
import { scatterAdd } from './scatter-add.js';
import { sumTo } from './sum-to.js';
import type { Tensor } from './tensor.js';

const where = { device: 'cpu' } as const;
const matrix = (rows: number, columns: number, from = 0) =>
  tensor(
    Float32Array.from({ length: rows * columns }, (_, at) => from + at),
    {
      shape: [rows, columns],
      ...where,
    },
  );
const scaled = mul(variable('scale'), variable('x'));
const sum = add(variable('x'), variable('y'));

it('a prepared map takes other sizes, parameters and results', async () => {
  const x = await matrix(2, 3);
  const twice = await map.prepare(scaled, { x }, { parameters: { scale: 2 } });
  expect(await twice({ x }).toNested()).toEqual([
    [0, 2, 4],
    [6, 8, 10],
  ]);
  const other = await matrix(3, 1, 1);
  const out = empty([3, 1], where);
  for (const scale of [5, 7]) {
    expect(twice({ x: other }, { parameters: { scale }, out })).toBe(out);
    expect(await out.toNested()).toEqual([[scale], [2 * scale], [3 * scale]]);
  }
  expect(await twice({ x: other }).toNested()).toEqual([[2], [4], [6]]);
});

it('a prepared map takes each parameter of each call, whatever was packed before', async () => {
  const x = await tensor(Float64Array.of(1, 10), where);
  const rows = await tensor(Float64Array.of(1, 2, 3), where);
  const line = add(mul(variable('scale'), variable('x')), variable('shift'));
  const at = await map.prepare(line, { x }, { parameters: { scale: 1, shift: 0 } });
  const results: number[][] = [];
  for (const parameters of [
    { scale: 2, shift: 0 },
    { scale: 2, shift: 1 },
    { shift: 1, scale: 3 },
    { scale: NaN, shift: 1 },
    { scale: 0.5, shift: 0.25 },
  ]) {
    results.push([...(await at({ x }, { parameters }).toTypedArray())]);
    // a call of another size between two
    expect(await at({ x: rows }).toNested()).toEqual([1, 2, 3]);
  }
  expect(results).toEqual([
    [2, 20],
    [3, 21],
    [4, 31],
    [NaN, NaN],
    [0.75, 5.25],
  ]);
  const zero = at({ x }, { parameters: { scale: -0, shift: -0 } });
  expect(Object.is(await zero.slice(0).item(), -0)).toBe(true);
  for (const parameters of [
    { scale: '2', shift: 0 },
    { scale: 2 },
    { scale: 2, shift: 0, more: 1 },
  ]) {
    const call = (): unknown => at({ x }, { parameters: parameters as never });
    if ('more' in parameters) expect(await (call() as Tensor).toNested()).toEqual([2, 20]);
    else expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  }
  const given: { scale: number; shift: number } = { scale: 5, shift: 0 };
  const before = at({ x }, { parameters: given });
  given.scale = 6;
  const after = at({ x }, { parameters: given });
  expect(await before.toNested()).toEqual([5, 50]);
  expect(await after.toNested()).toEqual([6, 60]);
});

it('a prepared map refuses null in the place of parameters, as an ordinary one does', async () => {
  const x = await full([2], 1, where);
  const twice = mul(variable('x'), variable('by'));
  const given = { parameters: null as never };
  const prepared = await map.prepare(twice, { x }, { parameters: { by: 2 } });
  expect(() => prepared({ x }, given)).toThrow('map: parameters is null');
  await expect(map(twice, { x }, given)).rejects.toThrow('map: parameters is null');
});

it('a profile has the parameters of each launch', async () => {
  const x = await matrix(1, 2);
  const by = await map.prepare(scaled, { x }, { parameters: { scale: 1 } });
  await by({ x }).ready();
  const profile = startProfile();
  for (const scale of [2, 3]) by({ x }, { parameters: { scale } });
  const records = await profile.stop();
  expect(records.map(({ scalars }) => scalars['p0'])).toEqual([2, 3]);
});

it('a prepared call says that it needs another kernel, and changes nothing', async () => {
  const x = await matrix(2, 3);
  const twice = await map.prepare(scaled, { x }, { parameters: { scale: 2 } });
  const gapped = (await matrix(4, 4)).slice([null, null, 2], [null, null, 2]);
  expect(() => twice({ x: gapped })).toThrow(
    /^map: prepared for float32 \[2, 3\] tensor #\d+ on cpu with strides \[3, 1\], called with float32 \[2, 2\] tensor #\d+ on cpu with strides \[8, 2\], which needs other kernels\. Prepare another/,
  );
  const out = await matrix(2, 3, 100);
  expect(() => twice({ x: out.slice([0, 1]) }, { out })).toThrow(/shares memory|OVERLAP/);
  expect(await out.slice(0).toNested()).toEqual([100, 101, 102]);
  expect(() => twice({ x }, { dtype: 'float64' } as never)).toThrow(/no option 'dtype'/);
  expect(() => twice({ x: undefined as never })).toThrow(/input 'x'/);
  x.dispose();
  expect(() => twice({ x })).toThrow(expect.objectContaining({ code: 'DISPOSED' }));
});

it('prepared rows by index take other sizes', async () => {
  const x = await matrix(3, 2);
  const index = await tensor(Int32Array.of(2, 0), where);
  const gather = await gatherRows.prepare(x, index);
  const wide = await matrix(5, 4);
  const more = await tensor(Int32Array.of(4, 4, 9), where);
  expect(await gather(wide, more).toNested()).toEqual([
    [16, 17, 18, 19],
    [16, 17, 18, 19],
    [NaN, NaN, NaN, NaN],
  ]);
  const add = await scatterAdd.prepare(x, await tensor(Int32Array.of(1, 1, 0), where), 2);
  const labels = await tensor(Int32Array.of(0, 1, 1), where);
  expect(await add(x, labels, 2).toNested()).toEqual([
    [0, 1],
    [6, 8],
  ]);
  const counts = await countRows.prepare(labels, 2);
  expect(await counts(labels, 2).toNested()).toEqual([1, 2]);
  expect(() => add(x, index as never, 2)).toThrow(
    expect.objectContaining({ code: 'SHAPE_MISMATCH' }),
  );
});

it('a prepared sum takes out, and other sizes', async () => {
  const x = await matrix(2, 3);
  const columns = await sumTo.prepare(x, [3]);
  expect(await columns(x, [3]).toNested()).toEqual([3, 5, 7]);
  const out = empty([2], where);
  expect(columns(await matrix(4, 2), [2], { out })).toBe(out);
  expect(await out.toNested()).toEqual([12, 16]);
});

it('sums write what is given, whatever its strides, and refuse what overlaps', async () => {
  const x = await matrix(2, 3);
  const out = (await matrix(3, 2)).transpose();
  for (const _ of [1, 2]) {
    expect(await sumTo(x, [2, 3], { out })).toBe(out);
    expect(await out.toNested()).toEqual(await x.toNested());
    expect(await sumTo(x, [1, 3], { out: out.slice([0, 1]) }).toNested()).toEqual([[3, 5, 7]]);
  }
  const wide = empty([1, 3], { dtype: 'float64', ...where });
  expect((await sumTo(x, [1, 3], { out: wide })).dtype).toBe('float64');
  await expect(sumTo(x, [1, 3], { out: x.slice([0, 1]) })).rejects.toMatchObject({
    code: 'OVERLAP',
  });
  await expect(sumTo(x, [1, 3], { out: wide as never, dtype: 'float32' })).rejects.toMatchObject({
    code: 'DTYPE_MISMATCH',
  });
  await expect(sumTo(x, null as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

it('a map into its input is made again like any other, and other overlaps are refused each time', async () => {
  const x = await matrix(2, 2, 1);
  for (const _ of [1, 2, 3])
    expect(await map(scaled, { x }, { parameters: { scale: 2 }, out: x })).toBe(x);
  expect(await x.toNested()).toEqual([
    [8, 16],
    [24, 32],
  ]);
  const turned = x.transpose();
  for (const _ of [1, 2]) {
    await expect(
      map(scaled, { x: turned }, { parameters: { scale: 2 }, out: x }),
    ).rejects.toMatchObject({ code: 'OVERLAP' });
  }
});

it('scratch memory of calls made again returns to the pool', async () => {
  const x = (await matrix(64, 32)).transpose();
  const index = await tensor(Int32Array.of(3, 1), where);
  const kept = await memoryKept(device('cpu'), async () => {
    for (const _ of [1, 2, 3]) {
      (await sumTo(x, [32, 1])).dispose();
      (await gatherRows(x, index)).dispose();
    }
  });
  expect(kept).toEqual(NOTHING);
});

it('a prepared call outlives the kernels that are remembered, takes inputs in any order, and keeps no example', async () => {
  const inputs = { x: await matrix(1, 3), y: await matrix(1, 3, 10) };
  const both = await map.prepare(sum, inputs);
  const strided = (await matrix(4, 4)).transpose();
  const columns = await sumTo.prepare(strided, [4, 1]);
  for (let n = 0; n < 400; n++)
    (
      await map(sum, { x: n % 2 === 0 ? inputs.x : inputs.y, [`z${n}`]: inputs.x, y: inputs.y })
    ).dispose();
  for (let n = 1; n < 300; n++)
    (
      await (
        await tensor(new Float32Array(8), { shape: [2, 2, 2], ...where })
      )
        .permute([n % 3, (n + 1) % 3, (n + 2) % 3])
        .cast(n % 2 === 0 ? 'float64' : 'int32')
    ).dispose();
  expect(await both({ y: inputs.y, x: inputs.x }).toNested()).toEqual([[10, 12, 14]]);
  expect(await columns(strided, [4, 1]).toNested()).toEqual([[24], [28], [32], [36]]);
  await expect(
    map.prepare(sum, inputs, { signal: AbortSignal.abort(new Error('no')) }),
  ).rejects.toThrow('no');
});

it('an argument that is changed after a call changes nothing of it, nor of later ones', async () => {
  const all = await tensor([1, 2, 3, 4, 0, 0, 0, 0], where);
  const [one, high] = [all.slice([0, 1]), all.slice([4, 8])];
  const single = await tensor([5], where);
  const other = await tensor([7, 7, 7, 7], where);
  const hundredfold = mul(variable('x'), 100);
  for (const _ of [1, 2]) await map(hundredfold, { x: one }, { out: high });
  const inputs = { x: one };
  const changed = map(hundredfold, inputs, { out: high });
  inputs.x = other;
  expect(await changed.toNested()).toEqual([100, 100, 100, 100]);
  const out = empty([4], where);
  expect(await map(hundredfold, { x: single }, { out }).toNested()).toEqual([500, 500, 500, 500]);

  const parameters: Record<string, number> = {};
  const results = [1, 2, 3].map((scale) => {
    parameters['scale'] = scale;
    return map(scaled, { x: single }, { parameters });
  });
  expect(await Promise.all(results.map((result) => result.item()))).toEqual([5, 10, 15]);
  const prepared = await map.prepare(scaled, { x: single }, { parameters });
  parameters['scale'] = 50;
  expect(await prepared({ x: single }).item()).toBe(15);

  const x = await matrix(2, 3);
  const target = empty([1, 3], where);
  for (const _ of [1, 2, 3]) {
    const shape = [1, 3];
    const sums = sumTo(x, shape, { out: target });
    shape[0] = 2;
    expect(await sums.toNested()).toEqual([[3, 5, 7]]);
  }
});

it('dtypes and flags that there are not are refused each time', async () => {
  const x = await matrix(2, 3);
  const labels = await tensor(Int32Array.of(0, 1), where);
  for (const _ of [1, 2, 3]) {
    await sumTo(x, [3]);
    for (const dtype of ['float16', 'int32', 'bool', 'undefined']) {
      await expect(sumTo(x, [3], { dtype: dtype as never })).rejects.toMatchObject({
        code: dtype === 'undefined' ? 'INVALID_ARGUMENT' : 'DTYPE_MISMATCH',
      });
    }
    await expect(
      sumTo(x, [3], { out: empty([3], { dtype: 'float16', ...where }) as never }),
    ).rejects.toMatchObject({ code: 'DTYPE_MISMATCH' });
    await scatterAdd(x, labels, 2);
    await expect(scatterAdd(x, labels, 2, { deterministic: 'no' as never })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    for (const shape of [[1.5], [NaN, 3]]) {
      await expect(sumTo(x, shape)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
    await expect(map(scaled, x as never)).rejects.toThrow(/the inputs are a tensor/);
  }
  expect(() => x.permute(1 as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
  expect(() => x.reshape(3 as never)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
});

it.each([
  ['no elements', [0], [3]],
  ['no rows', [0, 2], [3, 2]],
  ['no columns', [2, 0], [2, 3]],
])(
  'a map is prepared with an example of %s, and with a row that is broadcast',
  async (_, none, some) => {
    const both = add(variable('x'), variable('row'));
    const whole = await map.prepare(both, { x: empty(none, where), row: empty(none, where) });
    const spread = await map.prepare(both, {
      x: empty(none, where),
      row: empty(none.slice(-1), where),
    });
    const x = await full(some, 2, where);
    const row = await full(some.slice(-1), 1, where);
    const wanted = Array.from({ length: x.size }, () => 3);
    expect([...(await whole({ x, row: await full(some, 1, where) }).toTypedArray())]).toEqual(
      wanted,
    );
    if (some.length > 1) expect([...(await spread({ x, row }).toTypedArray())]).toEqual(wanted);
    expect(whole({ x: empty(none, where), row: empty(none, where) }).shape).toEqual(none);
  },
);
