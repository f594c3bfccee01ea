import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { full, tensor, zeros, type Device, type DType, type Tensor } from '../index.js';
import { undisposedBytes } from '../../test/memory-kept.mjs';

type Values = readonly number[];

/** What a reduction of terms means, in float64. */
interface Meaning {
  readonly value: (terms: Values) => number;
  /** How far float32 may be off, in u = 2^-24. */
  readonly bound: (terms: Values) => number;
}

const sum = (terms: Values): number => terms.reduce((a, b) => a + b, 0);
const magnitudes = (terms: Values): number => sum(terms.map(Math.abs));
const most = (terms: Values): number => terms.reduce((a, b) => Math.max(a, b), -Infinity);
const mean = (terms: Values): number => sum(terms) / terms.length;
const squares = (terms: Values): number => sum(terms.map((x) => (x - mean(terms)) ** 2));
const logSumExp = (terms: Values): number => {
  const shift = most(terms);
  return shift + Math.log(sum(terms.map((x) => Math.exp(x - shift))));
};
const largest = (terms: Values): number => most(terms.map(Math.abs));

/** Deviations are rounded once beside the mean's rounding, their squares twice. */
const varianceBound = (terms: Values): number => 8 * largest(terms) ** 2 + 4 * squares(terms);

const MEANINGS = {
  sum: { value: sum, bound: (terms) => magnitudes(terms) },
  mean: { value: mean, bound: (terms) => 2 * largest(terms) },
  prod: {
    value: (terms) => terms.reduce((a, b) => a * b, 1),
    bound: (terms) => 2 * Math.abs(terms.reduce((a, b) => a * b, 1)),
  },
  min: { value: (terms) => -most(terms.map((x) => -x)), bound: () => 0 },
  max: { value: most, bound: () => 0 },
  argMin: { value: (terms) => terms.indexOf(Math.min(...terms)), bound: () => 0 },
  argMax: { value: (terms) => terms.indexOf(Math.max(...terms)), bound: () => 0 },
  any: { value: (terms) => Number(terms.some((x) => x !== 0)), bound: () => 0 },
  all: { value: (terms) => Number(terms.every((x) => x !== 0)), bound: () => 0 },
  var: { value: (terms) => squares(terms) / terms.length, bound: varianceBound },
  std: {
    value: (terms) => Math.sqrt(squares(terms) / terms.length),
    bound: (terms) =>
      varianceBound(terms) /
      Math.max(2 * Math.sqrt(squares(terms) / terms.length), Number.MIN_VALUE),
  },
  norm: {
    value: (terms) => Math.sqrt(sum(terms.map((x) => x * x))),
    bound: (terms) => 6 * Math.sqrt(sum(terms.map((x) => x * x))),
  },
  logSumExp: {
    value: logSumExp,
    bound: (terms) => 16 + 8 * largest(terms) + 2 * Math.abs(logSumExp(terms)),
  },
} as const satisfies Readonly<Record<string, Meaning>>;

type Name = keyof typeof MEANINGS;
const NAMES = Object.keys(MEANINGS) as Name[];

const cells = (shape: Values): number[][] =>
  shape.reduce<number[][]>(
    (all, extent) => all.flatMap((at) => Array.from({ length: extent }, (_, i) => [...at, i])),
    [[]],
  );

/** The terms of every result, in the order of results and of terms. */
function termsOf(nested: unknown, shape: Values, axes: Values): number[][] {
  const at = (index: Values): number =>
    Number(index.reduce<unknown>((inner, i) => (inner as unknown[])[i], nested));
  const kept = shape.map((_, axis) => axis).filter((axis) => !axes.includes(axis));
  const extents = (of: Values): number[] => of.map((axis) => shape[axis] ?? 1);
  return cells(extents(kept)).map((outer) =>
    cells(extents(axes)).map((inner) => {
      const index = shape.map((_, axis) =>
        axes.includes(axis) ? inner[axes.indexOf(axis)] : outer[kept.indexOf(axis)],
      );
      return at(index as number[]);
    }),
  );
}

const flat = async (x: Tensor): Promise<number[]> => [...(await x.toTypedArray())].map(Number);

const WHERE_NONE = {
  sum: 0,
  mean: NaN,
  prod: 1,
  min: Infinity,
  max: -Infinity,
  argMin: -1,
  argMax: -1,
  any: 0,
  all: 1,
  var: NaN,
  std: NaN,
  norm: 0,
  logSumExp: -Infinity,
} as const satisfies Readonly<Record<Name, number>>;

/** Reductions over axes on a device; without `whole` half of the random cases. */
export function reductionsSuite(where: () => Device, { whole = true } = {}): void {
  const make = (data: unknown, dtype: DType = 'float32'): Promise<Tensor> =>
    tensor(data as number[], { device: where(), dtype });

  it('are what they mean over any axes of any view', { timeout: 240_000 }, async () => {
    const seen = Object.fromEntries(NAMES.map((name) => [name, 0])) as Record<Name, number>;
    const cases = fc.record({
      name: fc.constantFrom(...NAMES),
      shape: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }),
      picks: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
      keepDims: fc.boolean(),
      view: fc.constantFrom('whole', 'transposed', 'reversed', 'chain'),
      seed: fc.integer({ min: 1, max: 10_000 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ name, shape, picks, keepDims, view, seed }) => {
        seen[name]++;
        const size = shape.reduce((a, b) => a * b, 1);
        const data = Float32Array.from({ length: size }, (_, i) => ((i * seed) % 13) / 4 - 1.25);
        const whole = await tensor(data, { device: where(), shape });
        const x =
          view === 'transposed'
            ? whole.transpose()
            : view === 'reversed'
              ? whole.slice([null, null, -1])
              : whole.view();
        const given = view === 'chain' ? x.mul(2).add(0.5) : x;
        const nested = await (view === 'chain' ? x.mul(2).add(0.5) : x).toNested();
        const axes = x.shape.flatMap((_, axis) => (picks[axis] === true ? [axis] : []));
        const result = await given[name](axes, { keepDims });
        expect(result.shape).toEqual(
          keepDims
            ? x.shape.map((extent, axis) => (axes.includes(axis) ? 1 : extent))
            : x.shape.filter((_, axis) => !axes.includes(axis)),
        );
        const { value, bound }: Meaning = MEANINGS[name];
        const terms = termsOf(nested, x.shape, axes);
        for (const [at, found] of (await flat(result)).entries()) {
          const own = terms[at] ?? [];
          const wanted = value(own);
          const allowed = 2 ** -24 * (bound(own) + Math.abs(wanted));
          // the root of a variance that is rounding alone
          const isRounding = name === 'std' && wanted < 2 ** -20 * largest(own);
          if (isRounding) expect(found).toBeLessThanOrEqual(2 ** -20 * largest(own));
          else
            expect(Math.abs(found - wanted), `${name} of ${own.join()}`).toBeLessThanOrEqual(
              allowed,
            );
        }
        for (const one of [whole, x, result]) one.dispose();
      }),
      { numRuns: whole ? 260 : 130, seed: 7 },
    );
    for (const name of NAMES) expect(seen[name], name).toBeGreaterThan(3);
  });

  it.each([
    ['float64', 'float64', 'float64', 'float64'],
    ['float32', 'float32', 'float32', 'float32'],
    ['float16', 'float32', 'float32', 'float32'],
    ['bfloat16', 'float32', 'float32', 'float32'],
    ['int64', 'int64', 'float32', 'int64'],
    ['int32', 'int64', 'float32', 'int32'],
    ['uint8', 'int64', 'float32', 'uint8'],
    ['bool', 'int64', 'float32', 'bool'],
  ] as const)(
    'of %s sum to %s, have a mean in %s and a maximum in %s',
    async (dtype, total, average, top) => {
      const x = (await make([1, 0, 1], 'float32')).cast(dtype) as unknown as Promise<Tensor>;
      const data = await x;
      expect((await data.sum()).dtype).toBe(total);
      expect(Number(await data.sum().item())).toBe(2);
      expect((await data.mean()).dtype).toBe(average);
      expect(await data.mean().item()).toBeCloseTo(2 / 3, 6);
      expect((await data.max()).dtype).toBe(top);
      expect(Number(await data.max().item())).toBe(1);
      expect((await data.argMax()).dtype).toBe('int32');
      expect((await data.all()).dtype).toBe('bool');
    },
  );

  it('are exact for whole numbers beyond float32', async () => {
    const x = await make([2 ** 31 - 1, 2 ** 31 - 2, -(2 ** 31)], 'int32');
    expect(await x.sum().item()).toBe(BigInt(2 ** 31 - 3));
    expect(await x.max().item()).toBe(2 ** 31 - 1);
    expect(await x.argMin().item()).toBe(2);
  });

  it('take whole numbers as they would be stored', async () => {
    const bytes = await make([255, 3], 'uint8');
    expect(await bytes.add(1).sum().item()).toBe(259n);
    const halves = await make([2, 2, 1], 'int32');
    expect(await halves.pow(-1).sum().item()).toBe(1n);
    expect(await bytes.gt(100).sum().item()).toBe(1n);
  });

  describe.each(NAMES)('%s', (name) => {
    it(`of nothing is ${WHERE_NONE[name]}`, async () => {
      const x = await tensor(new Float32Array(0), { device: where(), shape: [0, 2] });
      expect(await flat(await x[name](0))).toEqual([WHERE_NONE[name], WHERE_NONE[name]]);
      expect((await x[name](1)).shape).toEqual([0]);
    });

    it('of NaN follows the rule', async () => {
      const x = await make([3, NaN, 1, NaN]);
      const wanted = { argMin: 1, argMax: 1, any: 1, all: 1 }[name as string] ?? NaN;
      expect(Number(await x[name]().item())).toBe(wanted);
    });
  });

  it('take infinities', async () => {
    const x = await make([
      [Infinity, 1],
      [-Infinity, -Infinity],
      [-Infinity, 2],
    ]);
    expect(await x.logSumExp(1).toNested()).toEqual([Infinity, -Infinity, 2]);
    expect(await x.max(0).toNested()).toEqual([Infinity, 2]);
    expect((await x.softmax(1).toNested<number[][]>())[2]).toEqual([0, 1]);
  });

  it('of many elements are added in float64', async () => {
    const count = 300_000;
    const x = await tensor(new Float32Array(count).fill(0.1), { device: where() });
    const exact = Math.fround(0.1) * count;
    expect(Math.abs((await x.sum().item()) - exact)).toBeLessThanOrEqual(2 ** -24 * exact);
    const places = Float32Array.from({ length: count }, (_, i) => (i === count - 2 ? 2 : 1));
    expect(await (await tensor(places, { device: where() })).argMax().item()).toBe(count - 2);
  });

  it('whole numbers neither saturate nor lose digits on the way', async () => {
    const place = { device: where() };
    const bytes = await tensor(Uint8Array.of(200, 3, 100), place);
    expect(await bytes.softmax().toNested()).toEqual([1, 0, Math.fround(Math.exp(-100))]);
    expect(await bytes.logSoftmax().toNested()).toEqual([0, -197, -100]);
    expect(await bytes.logSumExp().item()).toBe(200);
    expect(await bytes.norm().item()).toBeCloseTo(Math.hypot(200, 3, 100), 4);
    expect(await bytes.norm(0, { ord: 3 }).item()).toBeCloseTo(Math.cbrt(9000027), 4);
    const int = await tensor(Int32Array.of(16777217, 16777219), place);
    expect(await int.var().item()).toBe(1);
    expect(await int.std().item()).toBe(1);
    const large = await tensor(Int32Array.of(50000, 50000), place);
    expect(await large.norm().item()).toBeCloseTo(Math.hypot(50000, 50000), 1);
    const long = await tensor(BigInt64Array.of(100000001n, 100000003n), place);
    expect(await long.var().item()).toBe(1);
    const wrong = await zeros([], { ...place, dtype: 'float64' });
    await expect(int.var(undefined, { out: wrong })).rejects.toMatchObject({
      code: 'DTYPE_MISMATCH',
    });
    const out = await zeros([], place);
    expect(await int.var(undefined, { out: out })).toBe(out);
    expect(await out.item()).toBe(1);
  });

  it('counts and adds more bytes and truths than float32 has whole numbers', async () => {
    const place = { device: where() };
    const count = 2 ** 24 + 3;
    const ones = await full([count], 1, { ...place, dtype: 'uint8' });
    expect(await ones.sum().item()).toBe(BigInt(count));
    expect(await ones.gt(0).sum().item()).toBe(BigInt(count));
    expect(await ones.cast('bool').sum().item()).toBe(BigInt(count));
    const bytes = await tensor(Uint8Array.of(255, 255, 255, 255), place);
    expect(await bytes.prod().item()).toBe(255n ** 4n);
    for (const one of [ones, bytes]) one.dispose();
  });

  it('norms of float32 are there where their squares are not', async () => {
    for (const size of [1e30, 1e-30]) {
      const x = await tensor([3 * size, -4 * size], { device: where() });
      for (const ord of [2, 3]) {
        const wanted = size * (3 ** ord + 4 ** ord) ** (1 / ord);
        expect((await x.norm(0, { ord }).item()) / wanted).toBeCloseTo(1, 6);
      }
      const out = await zeros([], { device: where() });
      expect(await x.norm(0, { out })).toBe(out);
      expect((await out.item()) / (5 * size)).toBeCloseTo(1, 6);
    }
  });

  it('norms of float64 are there where their squares are not', async () => {
    for (const scale of [1e200, 1e-200, 2 ** -1060, 1e308 / 4]) {
      const values = [
        [3 * scale, -4 * scale],
        [0, 0],
        [1, 1],
      ];
      using x = await tensor(values, { dtype: 'float64', device: where() });
      for (const keepDims of [false, true]) {
        const found = (await x.norm(1, { keepDims }).toNested<number[]>()).flat();
        const wanted = [5 * scale, 0, Math.SQRT2];
        found.forEach((one, at) => {
          const error = Math.abs(one - (wanted[at] ?? NaN));
          expect(error).toBeLessThanOrEqual(4 * 2 ** -53 * (wanted[at] ?? NaN) + 2 ** -1074);
        });
      }
      using out = await zeros([], { dtype: 'float64', device: where() });
      expect(await x.norm(undefined, { out })).toBe(out);
      expect(Math.abs((await out.item()) / Math.hypot(5 * scale, Math.SQRT2) - 1)).toBeLessThan(
        2 ** -50,
      );
    }
    using odd = await tensor(
      [
        [NaN, 1e300],
        [Infinity, 1],
      ],
      {
        dtype: 'float64',
        device: where(),
      },
    );
    expect(await odd.norm(1).toNested()).toEqual([NaN, Infinity]);
    using none = await zeros([0], { dtype: 'float64', device: where() });
    expect(await none.norm().item()).toBe(0);
  });

  it('norms of nothing are 0', async () => {
    const none = await tensor(new Float32Array(0), { device: where() });
    for (const ord of [1, 2, 3, Infinity]) expect(await none.norm(0, { ord }).item()).toBe(0);
  });

  it('of several steps have the elements that were there at the call, whatever is written then', async () => {
    const place = { device: where() };
    const calls = {
      var: (x: Tensor<'float32'>) => x.var(),
      std: (x: Tensor<'float32'>) => x.std(),
      norm: (x: Tensor<'float32'>) => x.norm(),
      largest: (x: Tensor<'float32'>) => x.norm(0, { ord: Infinity }),
      logSumExp: (x: Tensor<'float32'>) => x.logSumExp(),
      softmax: (x: Tensor<'float32'>) => x.softmax(),
      logSoftmax: (x: Tensor<'float32'>) => x.logSoftmax(),
      'var of a chain': (x: Tensor<'float32'>) => x.mul(2).var(),
      'softmax of a chain': (x: Tensor<'float32'>) => x.mul(2).softmax(),
    };
    const values = Float32Array.of(1, 2, 3, 7);
    const other = await tensor(Float32Array.of(1000, 0, 0, 999), place);
    for (const [name, call] of Object.entries(calls)) {
      const same = await tensor(values, place);
      const wanted = await call(same).toNested();
      for (const write of ['fill', 'copyFrom', 'copyFrom of itself'] as const) {
        const x = await tensor(values, place);
        const result = call(x);
        if (write === 'fill') await x.fill(0);
        else await x.copyFrom(write === 'copyFrom' ? other : x.mul(0));
        expect(await result.toNested(), `${name}, ${write}`).toEqual(wanted);
        expect((await x.toNested<number[]>())[1]).toBe(0);
      }
    }
  });

  it('name themselves in messages', async () => {
    const x = await make([[1, 2]]);
    const wrong = { out: (await zeros([7], { device: where() })) as never };
    for (const name of ['softmax', 'logSoftmax', 'logSumExp', 'var', 'std', 'norm'] as const) {
      await expect((async () => x[name](5))()).rejects.toThrow(`${name}: axis 5 of shape [1, 2]`);
    }
    for (const name of ['logSumExp', 'var', 'mean'] as const) {
      await expect((async () => x[name](0, wrong))()).rejects.toThrow(
        `${name}: out is float32 [7]`,
      );
    }
  });

  it('read the axes that they are given', async () => {
    const x = await tensor(
      [
        [1, 2],
        [3, 5],
        [6, 9],
      ],
      { device: where() },
    );
    const results = [
      (axes: number[]) => x.var(axes),
      (axes: number[]) => x.softmax(axes),
      (axes: number[]) => x.logSumExp(axes),
      (axes: number[]) => x.add(0).norm(axes),
    ];
    for (const call of results) {
      const axes = [0];
      const changed = call(axes);
      axes[0] = 1;
      expect(await changed.toNested()).toEqual(await call([0]).toNested());
    }
  });

  it('softmax and its logarithm go with logSumExp', async () => {
    const x = await make([
      [1, 2, 3],
      [1000, 1000, -1000],
    ]);
    const rows = await x.softmax().toNested<number[][]>();
    for (const row of rows) expect(sum(row)).toBeCloseTo(1, 6);
    expect(rows[1]?.[0]).toBe(0.5);
    const logs = await x.logSoftmax().toNested<number[][]>();
    expect(logs[1]?.[0]).toBeCloseTo(-Math.log(2), 6);
    expect(logs[1]?.[2]).toBeCloseTo(-2000 - Math.log(2), 3);
  });

  // few elements along the axes, and more than one kernel goes back to
  it.each([3, 20, 300, 20_000])(
    'softmax of rows of %i elements has its closed form',
    async (count) => {
      const elements = Array.from({ length: 4 }, (_, row) =>
        Array.from({ length: count }, (__, k) => Math.fround(8 * Math.sin(1 + k * 1.3 + row))),
      );
      const x = await make(elements);
      const wanted = elements.map(logSumExp);
      const columns = Array.from({ length: count }, (_, k) => elements.map((row) => row[k] ?? NaN));
      const turned = (await make(columns)).transpose();
      const found = [x, turned].map(async (one) => ({
        soft: await one.softmax().toNested<number[][]>(),
        logs: await one.logSoftmax().toNested<number[][]>(),
        sums: await one.logSumExp(-1).toNested<number[]>(),
      }));
      for (const { soft, logs, sums } of await Promise.all(found)) {
        elements.forEach((row, r) => {
          const sum = wanted[r] ?? NaN;
          expect(Math.abs((sums[r] ?? NaN) - sum)).toBeLessThan(1e-5);
          const worst = (
            all: readonly number[] | undefined,
            of: (term: number) => number,
          ): number => Math.max(...row.map((term, k) => Math.abs((all?.[k] ?? NaN) - of(term))));
          expect(worst(logs[r], (term) => term - sum)).toBeLessThan(1e-5);
          expect(worst(soft[r], (term) => Math.exp(term - sum))).toBeLessThan(1e-6);
        });
      }
    },
  );

  it('write into out, and nothing on bad input', async () => {
    const x = await make([
      [1, 2],
      [3, 4],
    ]);
    const out = await make([9, 9]);
    expect(await x.sum(0, { out })).toBe(out);
    expect(await flat(out)).toEqual([4, 6]);
    await expect(x.sum(1, { out: x })).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
    await expect(x.slice(0).sum([], { out: x.slice(1) })).resolves.toBeDefined();
    expect(await flat(x)).toEqual([1, 2, 1, 2]);
  });

  it('say at the call which axes there are', async () => {
    const x = await make([[1, 2]]);
    expect(() => x.sum(2)).toThrow('sum: axis 2 of shape [1, 2]. Use -2 to 1.');
    expect(() => x.max([0, -2])).toThrow('max: axes [0, -2] of shape [1, 2] name one axis twice.');
    expect(() => x.mean({ keepDims: true } as never)).toThrow(
      'mean: the axes are an object. Pass an axis such as -1, an array of them, or nothing for all; options are behind them.',
    );
    expect(() => x.sum(0, { keepdims: true } as never)).toThrow("'keepDims'");
    expect(() => x.norm(0, { ord: -1 })).toThrow('norm: ord is -1.');
    expect(() => x.var(0, { correction: NaN })).toThrow('var: the correction is NaN.');
  });

  it('leave nothing behind', async () => {
    const x = await make([
      [1, 2],
      [3, 4],
    ]);
    await (
      await x
        .sub(x.mean(0, { keepDims: true }))
        .square()
        .mean()
    ).toNested();
    const whole = await x.cast('int32');
    const run = async (): Promise<void> => {
      for (const one of [await x.exp().sum(1), await x.softmax(), await x.std()]) one.dispose();
      for (const name of ['var', 'std', 'norm', 'logSumExp'] as const) {
        (await whole[name](0)).dispose();
        const pending = x.mul(2);
        (await pending[name](0)).dispose();
        pending.dispose();
      }
    };
    await run();
    const before = undisposedBytes(x.device);
    for (let round = 0; round < 30; round++) await run();
    expect(undisposedBytes(x.device)).toBe(before);
  });
}
