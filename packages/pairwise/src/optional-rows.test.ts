import { runInNewContext } from 'node:vm';
import { device, tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { kernels, runKernel, runKernelBackward } from './index.js';
import { isOptions } from './optional-rows.js';

const revoked = Proxy.revocable({}, {});
revoked.revoke();

describe('options in the place of rows', () => {
  it.each<[what: string, value: unknown]>([
    ['a plain object', { bandwidth: 1 }],
    ['one without properties', {}],
    ['one with a name that no option has', { bandwith: 1 }],
    ['one without a prototype', Object.assign(Object.create(null) as object, { bandwidth: 1 })],
    ['one of another realm', runInNewContext('({ bandwidth: 1 })')],
    ['a Proxy that throws, which the reader of options refuses', revoked.proxy],
  ])('are %s', (_, value) => {
    expect(isOptions(value)).toBe(true);
  });

  it.each<[what: string, value: unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['numbers', 7],
    ['nested arrays', [[1]]],
    ['arrays of another realm', runInNewContext('[[1]]')],
    ['typed arrays', new Float32Array(2)],
    ['strided data', { data: new Float32Array(2), shape: [1, 2] }],
    ['vectors of Arrow', { type: { typeId: 3 }, length: 1, nullCount: 0, toArray: () => [1] }],
    ['tables of Arrow', { numRows: 1, numCols: 1, schema: { fields: [] }, getChildAt: () => null }],
    ['promises', Promise.resolve()],
    ['maps', new Map()],
  ])('are not %s', (_, value) => {
    expect(isOptions(value)).toBe(false);
  });

  it('are no tensors', async () => {
    expect(isOptions(await tensor([[1]], { device: 'cpu' }))).toBe(false);
  });
});

describe('a call whose second rows are left out', () => {
  const cpu = device('cpu');
  const rows = [
    [0, 1],
    [2, 3],
    [5, 8],
  ];
  const options = { bandwidth: 2, regularization: 0.5 };

  it('is that of b undefined: runKernel', async () => {
    const x = await tensor(rows, { device: cpu });
    const given = await runKernel(kernels.matern32, x, undefined, options);
    const wanted = await given.toNested();
    expect(await given.slice(0, 0).item()).toBe(1.5);
    expect(await (await runKernel(kernels.matern32, x, options)).toNested()).toEqual(wanted);
    const placed = await runKernel(kernels.matern32, rows, { ...options, device: cpu });
    expect(await placed.toNested()).toEqual(wanted);
  });

  it('is that of b undefined: runKernel.prepare and what it returns', async () => {
    const x = await tensor(rows, { device: cpu });
    const wanted = await (await runKernel(kernels.matern32, x, undefined, options)).toNested();
    const other = { ...options, bandwidth: 1 };
    const prepared = await runKernel.prepare(kernels.matern32, x, other);
    expect(await prepared(x, options).toNested()).toEqual(wanted);
    expect(await prepared(x, undefined, options).toNested()).toEqual(wanted);
    const same = await runKernel.prepare(kernels.matern32, x, undefined, other);
    expect(await same(x).toNested()).toEqual(await prepared(x).toNested());
  });

  it('is that of b undefined: runKernelBackward', async () => {
    const x = await tensor(rows, { device: cpu });
    const upstream = await tensor(
      [...rows.keys()].map((i) => [i, 1, -i]),
      { device: cpu },
    );
    const whole = { bandwidth: 2, wrt: ['a', 'bandwidth'] } as const;
    const left = await runKernelBackward(kernels.matern32, upstream, x, undefined, whole);
    const found = await runKernelBackward(kernels.matern32, upstream, x, whole);
    expect(await found.a.toNested()).toEqual(await left.a.toNested());
    expect(await found.bandwidth.toNested()).toEqual(await left.bandwidth.toNested());
    const alone = await runKernelBackward(kernels.dot, upstream, x);
    expect(Object.keys(alone)).toEqual(['a']);
  });

  it('takes strided data as rows, not as options', async () => {
    const strided = { data: Float32Array.of(1, 2), shape: [1, 2] };
    const k = await runKernel(kernels.dot, [[3, 4]], strided, { device: cpu });
    expect(await k.toNested()).toEqual([[11]]);
  });

  it('is refused with options in both places, by the names of the first', async () => {
    const x = await tensor(rows, { device: cpu });
    const prepared = await runKernel.prepare(kernels.matern32, x, options);
    const twice = [options, options] as unknown as [typeof options];
    const calls: readonly (readonly [form: string, call: () => unknown])[] = [
      ['runKernel(descriptor, a, b, options)', () => runKernel(kernels.matern32, x, ...twice)],
      [
        'runKernel.prepare(descriptor, a, b, options)',
        () => runKernel.prepare(kernels.matern32, x, ...twice),
      ],
      ['prepared(a, b, options)', () => prepared(x, ...twice)],
      [
        'runKernelBackward(descriptor, gradient, a, b, options)',
        () => runKernelBackward(kernels.matern32, x, x, ...twice),
      ],
    ];
    for (const [form, call] of calls) {
      const error: unknown = await (async () => call())().catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(
          `b, are an object with bandwidth, regularization, and options stand behind them. Call ${form},`,
        ) as string,
      });
    }
  });
});
