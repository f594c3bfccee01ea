import { inspect } from 'node:util';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { sweep } from './backstop.js';
import { empty, full, tensor, zeros } from './create.js';
import { device } from './devices.js';
import { decodeNpy, encodeNpy } from './npy/index.js';
import { scope } from './scope.js';
import { assertTensor, type Tensor } from './tensor.js';
import { checkOut, commonDevice } from './tensor-checks.js';
import { codeOf } from './testing/device-suite.test-support.js';

const where = { device: 'cpu' } as const;
const cpu = device('cpu');
const live = (): number => cpu.memory().liveStorages;
let before = live();

beforeEach(() => {
  // Views of views leave handles to the collector.
  sweep();
  before = live();
});

describe('making and reading', () => {
  it('gives each dtype its typed array and its nested form', async () => {
    const nested = async (t: Tensor): Promise<unknown> => {
      const found = await t.toNested();
      t.dispose();
      return found;
    };
    expect(
      await nested(
        await tensor(
          [
            [1, 2],
            [3, 4],
          ],
          where,
        ),
      ),
    ).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(await nested(await tensor([true, false], where))).toEqual([true, false]);
    expect(await nested(await tensor([5n, -5n], where))).toEqual([5n, -5n]);
    expect(await nested(await tensor(2.5, where))).toBe(2.5);
    expect(await nested(await tensor([], where))).toEqual([]);
    expect(await nested(await full([2], 1.0009765625, { dtype: 'float16', ...where }))).toEqual([
      1.0009765625, 1.0009765625,
    ]);
    const b = await tensor([1.5], { dtype: 'bfloat16', ...where });
    expect(await b.toTypedArray()).toEqual(Float32Array.of(1.5));
    expect(await b.toTypedArray({ raw: true })).toEqual(Uint16Array.of(0x3fc0));
    b.dispose();
  });

  it('takes what the .npy reader returns, in C and Fortran order', async () => {
    const data = Float64Array.from({ length: 6 }, (_, i) => i);
    for (const fortranOrder of [false, true]) {
      const bytes = encodeNpy({ data, shape: [2, 3], fortranOrder });
      const t = await tensor(decodeNpy(bytes), where);
      expect(await t.toNested()).toEqual(
        fortranOrder
          ? [
              [0, 2, 4],
              [1, 3, 5],
            ]
          : [
              [0, 1, 2],
              [3, 4, 5],
            ],
      );
      t.dispose();
    }
    const half = await tensor(
      decodeNpy(encodeNpy({ data: new Uint16Array([0x3c00]), shape: [1] })),
      where,
    );
    expect([half.dtype, await half.toNested()]).toEqual(['float16', [1]]);
    half.dispose();
  });

  it('packs views read as a whole, small ones here and large ones on the device', async () => {
    for (const n of [50, 400]) {
      const t = await tensor(
        Int32Array.from({ length: n * n }, (_, i) => i),
        { shape: [n, n], ...where },
      );
      const view = t.transpose().slice([null, null, -3], [1, null, 2]);
      const expected: number[] = [];
      for (let i = n - 1; i >= 0; i -= 3) for (let j = 1; j < n; j += 2) expected.push(j * n + i);
      expect(Array.from(await view.toTypedArray())).toEqual(expected);
      view.dispose();
      t.dispose();
    }
  });

  it('copies broadcast, converted, and into parts', async () => {
    const row = await tensor([1.5, 2.5, 3.5], where);
    const target = await zeros([2, 3], { dtype: 'int32', ...where });
    expect(await target.copyFrom(row)).toBe(target);
    expect(await target.toNested()).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
    const column = target.slice(null, 0);
    await column.fill(9n);
    const copy = await column.contiguous();
    expect(copy.isContiguous && copy.storage !== target.storage).toBe(true);
    const same = await target.contiguous();
    expect(same.storage).toBe(target.storage);
    expect(await same.toNested()).toEqual([
      [9, 2, 3],
      [9, 2, 3],
    ]);
    expect((await target.to('cpu')).storage).toBe(target.storage);
    for (const t of [row, column, copy, same, target, target]) t.dispose();
  });

  it('counts bytes exactly beyond 2^31 elements', () => {
    const one = empty([1], where);
    const huge = one.broadcastTo([2 ** 20, 2 ** 20, 2 ** 9]);
    expect([huge.size, huge.bytes]).toEqual([2 ** 49, 2 ** 51]);
    huge.dispose();
    one.dispose();
  });
});

describe('lifetimes', () => {
  it('keeps the storage until the last view is disposed', async () => {
    const a = await tensor([1, 2, 3], where);
    const b = a.slice([1]);
    a.dispose();
    a.dispose();
    expect(a.disposed && !b.disposed).toBe(true);
    expect(await b.toNested()).toEqual([2, 3]);
    b[Symbol.dispose]();
    expect(live()).toBe(before);
  });

  it('names a tensor that is used after it was disposed', async () => {
    const a = await tensor([1, 2, 3], where);
    const other = await tensor([1, 2, 3], where);
    const { label } = a;
    expect(label).toMatch(/^float32 \[3\] tensor #\d+ on cpu$/);
    a.dispose();
    expect(() => a.storage).toThrow(label);
    const uses: (() => unknown)[] = [
      () => a.slice(0),
      () => a.transpose(),
      () => a.reshape([3]),
      () => a.broadcastTo([2, 3]),
      () => a.view(),
      () => a.toTypedArray(),
      () => a.toNested(),
      () => a.ready(),
      () => a.cast('int32'),
      () => a.clone(),
      () => a.contiguous(),
      () => a.fill(0),
      () => a.to('cpu'),
      () => a.copyFrom(other),
      () => other.copyFrom(a),
      () => other.clone({ out: a }),
      () => {
        assertTensor(a, 'test');
      },
    ];
    for (const use of uses) expect(await codeOf(use)).toBe('DISPOSED');
    expect(inspect(a)).toContain('disposed');
    other.dispose();
  });

  it('frees a result whose computation fails', async () => {
    const a = await tensor([1, 2, 3], where);
    const foreign = { shape: a.shape } as unknown as Tensor<'float32'>;
    expect(await codeOf(() => a.clone({ out: foreign }))).toBe('INVALID_ARGUMENT');
    expect(await codeOf(() => full([3], 'x' as never, where))).toBe('INVALID_ARGUMENT');
    expect(await codeOf(() => full([3], 2n ** 64n, where))).toBe('INVALID_ARGUMENT');
    a.dispose();
  });

  it('scope disposes what is made through it and lets returned tensors escape', async () => {
    const outside = await tensor([0], where);
    let inner: Tensor | undefined;
    const { deep, list } = await scope(async (s) => {
      inner = await s.tensor([1], where);
      const made = s.empty([2], where);
      s.track(await made.clone());
      s.track(s.keep(await s.zeros([1], where)));
      const kept = s.keep(await s.full([1], 7, where));
      return { deep: { t: await s.tensor([2], where) }, list: [kept], n: 1 };
    });
    expect(inner?.disposed).toBe(true);
    expect([deep.t.disposed, list[0]?.disposed, outside.disposed]).toEqual([false, false, false]);
    expect(live()).toBe(before + 3);
    const alone = await scope((s) => s.tensor([3], where));
    expect(await alone.toNested()).toEqual([3]);
    for (const t of [outside, deep.t, ...list, alone]) t.dispose();
  });

  it('scope disposes when its body throws, and what comes too late', async () => {
    let late: Promise<Tensor> | undefined;
    await expect(
      scope(async (s) => {
        await s.tensor([1], where);
        late = Promise.resolve().then(() => s.full([1], 1, where));
        throw new Error('body');
      }),
    ).rejects.toThrow('body');
    expect(await codeOf(() => late)).toBe('DISPOSED');
  });

  it('scopes that run at the same time own only their own', async () => {
    const one = async (i: number): Promise<Tensor> =>
      scope(async (s) => {
        const a = await s.tensor([i], where);
        await new Promise((resolve) => setTimeout(resolve, (i * 7) % 5));
        return s.track(await a.cast('float64')).clone();
      });
    const all = await Promise.all(Array.from({ length: 20 }, (_, i) => one(i)));
    expect(await Promise.all(all.map((t) => t.toNested()))).toEqual(
      Array.from({ length: 20 }, (_, i) => [i]),
    );
    for (const t of all) t.dispose();
  });
});

describe('checks', () => {
  it('refuse outputs that do not fit', async () => {
    const a = await zeros([4, 4], where);
    const cases: [Tensor, string][] = [
      [empty([4, 3], where), 'SHAPE_MISMATCH'],
      [empty([16], where), 'SHAPE_MISMATCH'],
      [empty([4, 4], { dtype: 'float64', ...where }), 'DTYPE_MISMATCH'],
      [a.view(), 'OVERLAP'],
      [a.transpose(), 'OVERLAP'],
      [empty([4], where).broadcastTo([4, 4]), 'OVERLAP'],
    ];
    for (const [out, code] of cases) {
      expect(await codeOf(() => a.clone({ out: out as Tensor<'float32'> }))).toBe(code);
      expect(
        await codeOf(() => {
          checkOut(out, a, [a], 'test');
        }),
      ).toBe(code);
    }
    const reversed = empty([4, 4], where).slice([null, null, -1], [null, null, -1]);
    expect(await a.clone({ out: reversed })).toBe(reversed);
    const half = a.slice([0, 2]);
    expect(await codeOf(() => half.copyFrom(a.slice([1, 3])))).toBe('OVERLAP');
    expect(await codeOf(() => half.copyFrom(a.slice([2, 4])))).toBe('no error');
    expect(await codeOf(() => a.slice(0).broadcastTo([2, 4]).fill(1))).toBe('OVERLAP');
    expect(await codeOf(() => half.copyFrom(a))).toBe('SHAPE_MISMATCH');
  });

  it('refuse wrong arguments by name', async () => {
    const a = await zeros([2], where);
    const cases: [() => unknown, string][] = [
      [() => empty([2], { dtype: 'float8' as never, ...where }), 'INVALID_ARGUMENT'],
      [() => a.cast('complex' as never), 'INVALID_ARGUMENT'],
      [() => empty([-1], where), 'INVALID_ARGUMENT'],
      [() => empty([2 ** 40, 2 ** 40], where), 'INVALID_ARGUMENT'],
      [() => empty([2 ** 52], { dtype: 'float64', ...where }), 'INVALID_ARGUMENT'],
      [() => empty([1], { device: 'tpu' as never }), 'INVALID_ARGUMENT'],
      [() => tensor(a as never), 'INVALID_ARGUMENT'],
      [() => cpu.allocate(-1), 'INVALID_ARGUMENT'],
      [() => cpu.allocate(1.5), 'INVALID_ARGUMENT'],
      [
        () => {
          assertTensor({}, 'test');
        },
        'INVALID_ARGUMENT',
      ],
      [() => commonDevice([], 'test'), 'INVALID_ARGUMENT'],
      [() => a.copyFrom([1] as never), 'INVALID_ARGUMENT'],
    ];
    for (const [work, code] of cases) expect(await codeOf(work)).toBe(code);
    expect(commonDevice([a, a], 'test')).toBe(cpu);
    a.dispose();
  });

  it('refuses what memory cannot hold, before it is taken', async () => {
    const error = await Promise.resolve()
      .then(() => empty([2 ** 49], where))
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'OUT_OF_MEMORY' });
    expect((error as Error).message).toContain('float32 [562949953421312]');
  });

  it('name both versions when two copies of the package meet', () => {
    const foreign = { [Symbol.for('mercer.tensor')]: '9.9.9' };
    expect(() => {
      assertTensor(foreign, 'cdist');
    }).toThrow(/version 9\.9\.9.*version \d+\.\d+\.\d+/);
  });

  it('print without reading back: their values where those lie in host memory and nothing is pending', async () => {
    const a = await tensor([[1, 2]], where);
    await a.ready();
    expect(inspect(a)).toBe('Tensor(float32 [1, 2] on cpu) [ [ 1, 2 ] ]');
    expect(String(a)).toBe('Tensor(float32 [1, 2] on cpu)');
    const pending = vi.spyOn(a.storage.lastWrite.stream, 'inFlight', 'get').mockReturnValue(1);
    expect(inspect(a)).toBe('Tensor(float32 [1, 2] on cpu)');
    pending.mockRestore();
    expect(inspect(a.transpose().slice([1, 2]))).toBe('Tensor(float32 [1, 1] on cpu) [ [ 2 ] ]');
    expect(JSON.stringify(a)).toBe('{"dtype":"float32","shape":[1,2],"device":"cpu"}');
    a.dispose();
  });

  it('print() waits, and shows the first entries along each axis with how many more there are', async () => {
    const written: unknown[] = [];
    const log = vi.spyOn(console, 'log').mockImplementation((text: unknown) => written.push(text));
    try {
      const long = await full([8], true, { ...where, dtype: 'bool' });
      await long.print();
      const half = await (await tensor([[1.5], [2.5]], where)).cast('float16');
      await half.print();
      await (await zeros([3, 1, 9], { ...where, dtype: 'int64' })).print();
      await (await zeros([0, 2], where)).print();
      await (await tensor(7, where)).print();
    } finally {
      log.mockRestore();
    }
    expect(written.map((text) => String(text).replaceAll(/\s+/g, ' '))).toEqual([
      'Tensor(bool [8] on cpu) [ true, true, true, true, true, true, ... 2 more ]',
      'Tensor(float16 [2, 1] on cpu) [ [ 1.5 ], [ 2.5 ] ]',
      'Tensor(int64 [3, 1, 9] on cpu) [ [ [ 0n, 0n, 0n, 0n, 0n, 0n, ... 3 more ] ], [ [ 0n, 0n, 0n, 0n, 0n, 0n, ... 3 more ] ], ... 1 more ]',
      'Tensor(float32 [0, 2] on cpu) []',
      'Tensor(float32 [] on cpu) 7',
    ]);
  });

  it('item() is the one element, of any rank', async () => {
    expect(await (await tensor([[2.5]], where)).item()).toBe(2.5);
    expect(await (await tensor(true, where)).item()).toBe(true);
    expect(await (await tensor([1n, 2n], where)).slice(1).item()).toBe(2n);
    const two = await tensor([1, 2], where);
    await expect(two.item()).rejects.toThrow(/has 2 elements, not one/);
    expect(await codeOf(() => two.item())).toBe('SHAPE_MISMATCH');
  });
});
