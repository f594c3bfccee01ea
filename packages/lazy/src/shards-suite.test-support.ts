import { REDUCTION_KINDS, traitsOf, type ReductionKind } from '@mercer/formula';
import {
  device,
  empty,
  full,
  tensor,
  type Device,
  type RowReader,
  type Tensor,
} from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import {
  jointReduction,
  lazyI,
  lazyJ,
  lazyPair,
  param,
  rowNumberI,
  rowNumberJ,
  type LazyDType,
  type LazyReduction,
  type ReduceOptions,
} from './index.js';
import {
  expectResult,
  lazyReduction,
  numbers,
  reference,
  upload,
  wholeNumbers,
  type Meaning,
  type Numbers,
} from './reference.test-support.js';
import { byName } from './reductions-suite.test-support.js';

const NEEDS_WEIGHT: readonly ReductionKind[] = ['SumSoftMaxWeight', 'MaxSumShiftExp'];

/** Kinds whose results have the same bits however rows are cut. */
const ORDERED = REDUCTION_KINDS.filter(
  (kind) => /Min|Max|Any|All|Count/.test(kind) && !NEEDS_WEIGHT.includes(kind),
);

type Options = Pick<ReduceOptions, 'devices' | 'maxBytes'>;

/** The least maxBytes that a reduction takes, as its message says. */
async function leastOf(of: LazyReduction, devices: readonly Device[]): Promise<number> {
  const refused = await of.call([], { devices, maxBytes: 1 }).then(
    () => '',
    (error: unknown) => (error as Error).message,
  );
  // Results without elements take no memory.
  if (refused === '') return 1;
  const [, bytes] = /take (\d+) bytes/.exec(refused) ?? [];
  expect(refused).toContain('maxBytes is 1.');
  return Number(bytes);
}

/** The blocks of a call, as its progress tells, and its result. */
async function cut(
  of: LazyReduction,
  options: Options,
): Promise<{ readonly blocks: number; readonly found: ReturnType<typeof byName> }> {
  const seen: number[] = [];
  let blocks = 0;
  const onProgress = ({ done, total }: { done: number; total: number }): void => {
    seen.push(done);
    blocks = total;
  };
  const found = byName(await of.call([], { ...options, onProgress }));
  expect(seen).toEqual(Array.from({ length: blocks }, (_, at) => at + 1));
  return { blocks, found };
}

const bits = async (found: ReturnType<typeof byName>): Promise<readonly Uint8Array[]> => {
  const all: Uint8Array[] = [];
  for (const one of [found.value, found.index]) {
    const array = await one?.toTypedArray();
    if (array !== undefined)
      all.push(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  }
  return all;
};

/** Rows of an array as a file gives them. */
export function readerOf(
  data: Float32Array,
  [rows, dim]: readonly [number, number],
  onRead: (first: number, count: number) => void = () => undefined,
): RowReader {
  return {
    shape: [rows, dim],
    dtype: 'float32',
    readRows: async (first, count, { signal } = {}) => {
      await Promise.resolve();
      signal?.throwIfAborted();
      onRead(first, count);
      return { data: data.slice(first * dim, (first + count) * dim), shape: [count, dim] };
    },
  };
}

/** Reductions whose rows are cut into blocks, on these devices; inputs lie on the first, or in host memory. */
export function describeShards(devices: () => readonly Device[]): void {
  const home = (): Device => devices()[0]!;

  const meaningOf = (
    kind: ReductionKind,
    axis: 'i' | 'j',
    { m, n, batch = [] }: { m: number; n: number; batch?: readonly number[] },
  ): Meaning => {
    const make = (seed: number, rows: number, dim: number): Numbers =>
      ORDERED.includes(kind)
        ? wholeNumbers(seed, rows, dim, batch)
        : numbers(seed, rows, dim, { batch });
    const isScalar = traitsOf(kind).isExponential;
    return {
      kind,
      axis,
      ...(traitsOf(kind).takesK && { k: 3 }),
      variables: [
        { data: make(1, m, 2), side: 'i' },
        { data: make(2, n, 2), side: 'j' },
        { data: make(3, n, 3), side: 'j' },
      ],
      formula: (x, y) => (isScalar ? x.sub(y).sum() : x.sub(y)),
      ...(NEEDS_WEIGHT.includes(kind) && { weight: (_x, _y, g) => g.square() }),
    };
  };

  describe('rows cut into blocks', () => {
    it.each(REDUCTION_KINDS.map((kind, at) => [kind, at % 2 === 0 ? 'j' : 'i', at] as const))(
      '%s over %s is what the loops give, in few bytes',
      async (kind, axis, at) => {
        const dtype: LazyDType = at % 4 < 2 ? 'float32' : 'float64';
        const where = at % 3 === 0 ? device('cpu') : home();
        for (const sizes of [
          { m: 37, n: 53 },
          { m: 8, n: 11, batch: [2] },
          { m: 0, n: 4 },
          { m: 3, n: 0 },
        ]) {
          const meaning = meaningOf(kind, axis, sizes);
          const tensors: Tensor<LazyDType>[] = [];
          for (const { data } of meaning.variables) tensors.push(await upload(data, dtype, where));
          const of = lazyReduction(meaning, tensors);
          const maxBytes = Math.ceil(1.2 * (await leastOf(of, devices())));
          const { found, blocks } = await cut(of, { devices: devices(), maxBytes });
          if (sizes.m > 3) expect(blocks).toBeGreaterThan(4);
          expect((found.value ?? found.index)?.device).toBe(home());
          const wanted = reference(meaning, dtype);
          const rows = axis === 'j' ? sizes.m : sizes.n;
          expect((found.value ?? found.index)?.shape).toEqual([...wanted.batch, rows, of.dim]);
          await expectResult(found, wanted);
        }
      },
    );

    it.each(REDUCTION_KINDS)('%s has the same bits on one device, two and three', async (kind) => {
      const meaning = meaningOf(kind, 'j', { m: 61, n: 130 });
      const tensors = await Promise.all(
        meaning.variables.map(({ data }) => upload(data, 'float32', device('cpu'))),
      );
      const of = lazyReduction(meaning, tensors);
      const all = devices();
      const [one, two, three] = [
        [home()],
        [home(), all[1] ?? home()],
        [home(), all[1] ?? home(), all[2] ?? home()],
      ] as const;
      const maxBytes = 2 * (await leastOf(of, one));
      const first = await cut(of, { devices: one, maxBytes });
      expect(first.blocks).toBeGreaterThan(2);
      const wanted = await bits(first.found);
      for (const other of [two, three]) {
        const { found, blocks } = await cut(of, { devices: other, maxBytes });
        expect(blocks).toBe(first.blocks);
        expect(await bits(found)).toEqual(wanted);
      }
    });

    it.each(ORDERED)(
      '%s has the bits of one block, with NaN, infinities and ties',
      async (kind) => {
        const special = [NaN, Infinity, -Infinity, 0, -0, 1, 1, 2];
        const values = (seed: number, count: number): Float32Array =>
          Float32Array.from({ length: count }, (_, at) => {
            const from = (at * 7919 + seed * 104729) % 97;
            // some components meet a NaN, some an infinity, some neither
            return at % 2 === 0 && from < 8 && seed === 2 ? special[from]! : from % 5;
          });
        const x = { data: values(1, 40 * 2), shape: [40, 2] };
        const y = { data: values(2, 90 * 2), shape: [90, 2] };
        const of = lazyI(x)
          .sub(lazyJ(y))
          .reduction(kind, 'j', { ...(traitsOf(kind).takesK && { k: 4 }) });
        const whole = await bits(byName(await of.call([], { device: home() })));
        const maxBytes = 2 * (await leastOf(of, devices()));
        const { found, blocks } = await cut(of, { devices: devices(), maxBytes });
        expect(blocks).toBeGreaterThan(4);
        expect(await bits(found)).toEqual(whole);
      },
    );

    it('carries infinite exponents from block to block', async () => {
      const rows = [
        ...[-Infinity, -Infinity, -Infinity, -Infinity],
        ...[-Infinity, 0, -Infinity, 0],
        ...[Infinity, 0, 1, Infinity],
        ...[NaN, 0, 1, 2],
        ...[1000, -1000, 1000, 0],
      ];
      const data = { data: Float32Array.from(rows), shape: [5, 4] };
      const of = lazyPair(data).reduction('LogSumExp', 'j');
      const maxBytes = await leastOf(of, devices());
      const { found, blocks } = await cut(of, { devices: devices(), maxBytes });
      expect(blocks).toBe(20);
      const got = await (found.value as Tensor<'float32'>).toTypedArray();
      const wanted = [-Infinity, Math.log(2), Infinity, NaN, 1000 + Math.log(2)];
      for (const [at, value] of wanted.entries()) {
        if (Number.isFinite(value)) expect(got[at]).toBeCloseTo(value, 3);
        else expect(got[at]).toBe(value);
      }
    });

    it('counts row numbers in formulas from the first row of all', async () => {
      const x = numbers(5, 20, 1);
      const of = (axis: 'i' | 'j'): LazyReduction =>
        lazyI({ data: x.values, shape: [20, 1] })
          .sub(lazyJ({ data: x.values, shape: [20, 1] }))
          .abs()
          .add(rowNumberI().eq(rowNumberJ()).mul(100))
          .reduction('ArgMin', axis);
      const nearest = Array.from({ length: 20 }, (_, i) => {
        let [best, at] = [Infinity, -1];
        x.values.forEach((value, j) => {
          const far = Math.abs(value - x.values[i]!);
          if (j !== i && far < best) [best, at] = [far, j];
        });
        return at;
      });
      for (const axis of ['i', 'j'] as const) {
        const maxBytes = await leastOf(of(axis), devices());
        const { found, blocks } = await cut(of(axis), { devices: devices(), maxBytes });
        expect(blocks).toBe(400);
        expect([...((await found.index?.toTypedArray()) ?? [])]).toEqual(nearest);
      }
    });

    it('takes values of pairs, parameters, tables, arrays in any order and rows as they are read', async () => {
      const [m, n] = [30, 41];
      const x = numbers(6, m, 2).values;
      const y = Float32Array.from(numbers(7, n, 2).values);
      const s = numbers(8, m * n, 1).values;
      const table = numbers(9, 3, 2).values;
      const which = Float64Array.from({ length: n }, (_, j) => j % 3);
      // x is given column by column
      const columns = Float64Array.from(x, (_, at) => x[(at % m) * 2 + Math.floor(at / m)]!);
      const read: number[] = [];
      const reader = readerOf(y, [n, 2], (_, count) => read.push(count));
      const f32 = (data: Float64Array): Float32Array => Float32Array.from(data);
      const of = lazyI({ data: f32(columns), shape: [m, 2], fortranOrder: true })
        .sqdist(lazyJ(reader))
        .mul(lazyPair({ data: f32(s), shape: [m, n] }))
        .mul(param([0.5]))
        .add(
          lazyJ({ data: f32(which), shape: [n, 1] })
            .gather({ data: f32(table), shape: [3, 2] })
            .sum(),
        )
        .reduction('Sum', 'j');
      const maxBytes = Math.ceil(1.1 * (await leastOf(of, devices())));
      const { found, blocks } = await cut(of, { devices: devices(), maxBytes });
      expect(blocks).toBeGreaterThan(m);
      expect(Math.max(...read)).toBeLessThan(n);
      const got = await (found.value as Tensor<'float32'>).toTypedArray();
      for (let i = 0; i < m; i++) {
        let sum = 0;
        for (let j = 0; j < n; j++) {
          const far = (x[2 * i]! - y[2 * j]!) ** 2 + (x[2 * i + 1]! - y[2 * j + 1]!) ** 2;
          sum += 0.5 * far * s[i * n + j]! + table[2 * which[j]!]! + table[2 * which[j]! + 1]!;
        }
        expect(Math.abs(got[i]! - sum)).toBeLessThan(1e-4 * n);
      }
      // Without an option too: what is read is never whole in memory by itself.
      read.length = 0;
      const plain = byName(await of.call([], { device: home() })).value!;
      expect(plain.device).toBe(home());
      expect(read).toEqual([n]);
      expect(Math.abs(((await plain.toTypedArray()) as Float32Array)[3]! - got[3]!)).toBeLessThan(
        1e-4 * n,
      );
    });

    it('reduces several formulas at once, into given tensors of the device or of the host', async () => {
      const x = lazyI(await tensor(numbers(1, 40, 2).values, { shape: [40, 2], device: 'cpu' }));
      const y = lazyJ(await tensor(numbers(2, 60, 2).values, { shape: [60, 2], device: 'cpu' }));
      const both = jointReduction({
        mean: x.sqdist(y).reduction('Mean', 'j'),
        far: x.sqdist(y).reduction('KMaxArgKMax', 'j', { k: 2 }),
        softest: x.sqdist(y).reduction('SumSoftMaxWeight', 'j', { weight: y }),
      });
      const whole = await both.call();
      const mean = empty([40, 1], { device: 'cpu', dtype: 'float64' });
      const indices = empty([40, 2], { device: home(), dtype: 'int64' });
      const cutAt = 6000;
      const found = await both.call([], {
        devices: devices(),
        maxBytes: cutAt,
        indexDtype: 'int64',
        out: { mean, far: { values: undefined as never, indices } },
      });
      expect(found.mean).toBe(mean);
      expect(found.far.indices).toBe(indices);
      expect(found.softest.device).toBe(home());
      const wide = await whole.far.indices.toTypedArray();
      expect([...(await indices.toTypedArray())]).toEqual([...wide].map(BigInt));
      for (const [got, wanted] of [
        [found.mean, whole.mean],
        [found.softest, whole.softest],
      ] as const) {
        const [a, b] = [await got.toTypedArray(), await wanted.toTypedArray()];
        a.forEach((value, at) => {
          expect(Math.abs(value - b[at]!)).toBeLessThan(1e-12);
        });
      }
    });

    it('gives values in 16 bits, and takes fast arithmetic, as a whole call does', async () => {
      const x = { data: Float32Array.from(wholeNumbers(1, 30, 1).values), shape: [30, 1] };
      const of = lazyI(x).mul(lazyJ(x));
      const options = { outDtype: 'float16', fastMath: true } as const;
      const least = await leastOf(of.reduction('Sum', 'j'), devices());
      for (const kind of ['sum', 'min'] as const) {
        const whole = await of[kind]('j', { ...options, device: home() });
        const found = await of[kind]('j', { ...options, devices: devices(), maxBytes: least });
        expect(found.dtype).toBe('float16');
        // the least of -0 and 0 is either
        const [numbers, wanted] = [await found.add(0).toNested(), await whole.add(0).toNested()];
        expect(numbers).toEqual(wanted);
      }
    });

    it('adds blocks up in float64', async () => {
      // 1, then terms that float32 loses one by one: whatever is cut, no block is lost.
      const n = 20_001;
      const term = 2 ** -34;
      const terms = new Float32Array(n).fill(term).fill(1, 0, 1);
      const of = lazyJ({ data: terms, shape: [n, 1] }).reduction('Sum', 'j');
      const maxBytes = (await leastOf(of, devices())) + 2000;
      const { found, blocks } = await cut(of, { devices: devices(), maxBytes });
      expect(blocks).toBeGreaterThan(40);
      const wanted = 1 + 20_000 * term;
      const got = (await (found.value as Tensor<'float32'>).toTypedArray())[0]!;
      expect(Math.abs(got - wanted)).toBeLessThan(2 ** -23);
      const kahan = await of.call([], { devices: devices(), maxBytes, sumScheme: 'kahan' });
      expect((await (kahan as Tensor).toTypedArray())[0]).toBe(Math.fround(wanted));
    });

    it('keeps no memory, also where it ends early, and leaves out as it is then', async () => {
      const x = { data: Float32Array.from(numbers(1, 64, 2).values), shape: [64, 2] };
      const y = Float32Array.from(numbers(2, 64, 2).values);
      const stop = (after: number): { reader: RowReader; controller: AbortController } => {
        const controller = new AbortController();
        let count = 0;
        const reader = readerOf(y, [64, 2], () => {
          if (++count === after) controller.abort(new Error('enough'));
        });
        return { reader, controller };
      };
      const kept = await memoryKept(home(), async () => {
        const out = await full([64, 1], 7, { device: home() });
        for (const after of [1, 2, 5]) {
          const { reader, controller } = stop(after);
          const of = lazyI(x).sqdist(lazyJ(reader)).reduction('Sum', 'j');
          const options = { devices: devices(), maxBytes: 2000, signal: controller.signal, out };
          await expect(of.call([], options)).rejects.toThrow('enough');
        }
        const failing: RowReader = {
          ...readerOf(y, [64, 2]),
          readRows: (first) =>
            first > 20
              ? Promise.reject(new Error('the disk is gone'))
              : readerOf(y, [64, 2]).readRows(first, 1),
        };
        const of = lazyI(x).sqdist(lazyJ(failing)).reduction('ArgKMin', 'j', { k: 1 });
        const least = await leastOf(of, devices());
        await expect(of.call([], { devices: devices(), maxBytes: least })).rejects.toThrow(
          'the disk is gone',
        );
        let seen = 0;
        await expect(
          lazyI(x)
            .sqdist(lazyJ({ data: y, shape: [64, 2] }))
            .sum('j', {
              devices: devices(),
              maxBytes: 2000,
              out,
              onProgress: () => {
                if (++seen === 3) throw new Error('no more');
              },
            }),
        ).rejects.toThrow('no more');
        expect(new Set(await out.toTypedArray())).toEqual(new Set([7]));
        const done = await lazyI(x)
          .sqdist(lazyJ({ data: y, shape: [64, 2] }))
          .logSumExp('j', { devices: devices(), maxBytes: 4000, out });
        expect(done).toBe(out);
        expect(new Set(await out.toTypedArray())).not.toContain(7);
        out.dispose();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('takes more devices than rows', async () => {
      const of = lazyI([[1], [2]])
        .mul(lazyJ([[3], [4], [5]]))
        .reduction('Sum', 'j');
      const many = [...devices(), ...devices(), ...devices()];
      const found = (await of.call([], { devices: many })) as Tensor;
      expect(await found.toNested()).toEqual([[12], [24]]);
    });

    it('refuses what it cannot do, naming it', async () => {
      const x = await tensor([[1], [2]], { device: 'cpu' });
      const of = lazyI(x).mul(lazyJ(x));
      const refused = async (options: object, what: RegExp): Promise<void> => {
        await expect(of.sum('j', options)).rejects.toThrow(what);
      };
      await refused({ devices: [] }, /devices is .*Pass a list with at least one/);
      await refused({ devices: 'cuda:0' }, /devices is "cuda:0"/);
      await refused({ devices: [undefined] }, /undefined among its entries/);
      await refused({ devices: ['gpu'] }, /"gpu" is not a device/);
      await refused({ maxBytes: 0 }, /maxBytes is 0/);
      await refused({ maxBytes: 1.5 }, /maxBytes is 1.5/);
      await refused({ maxBytes: 2 ** 20, onProgress: 3 }, /onProgress is 3/);
      await refused({ devices: ['cpu'], device: 'cpu' }, /device and devices/);
      await refused({ devices: ['cpu'], maxByte: 3 }, /maxBytes/);
      const stream = device('cpu').defaultStream;
      await refused({ devices: ['cpu'], stream }, /stream is for one launch/);
      await refused({ devices: ['cpu'], out: empty([3, 1], { device: 'cpu' }) }, /out/);
      await refused({ devices: ['cpu'], out: x }, /memory/);
      await refused({ devices: ['cpu'], accumulate: 'half' }, /accumulate/);
      await expect(of.min('j', { devices: ['cpu'], sumScheme: 'kahan' })).rejects.toThrow(/Min/);
    });
  });
}
