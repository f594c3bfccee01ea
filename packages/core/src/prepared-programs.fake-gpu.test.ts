import { CudaGraphExec, CudaStream } from '@mercer/cuda-runtime';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { fake, useFakeDriver, useFakeSolvers } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import {
  cdist,
  cholesky,
  device,
  eigh,
  matmul,
  prepare,
  random,
  startProfile,
  svd,
  tensor,
  valueAndGrad,
  type Device,
  type Tensor,
} from './index.js';

type Floats = Tensor<'float32'>;

/** A GPU that compiles and accepts launches, but computes nothing except products and copies. */
describe.skipIf(!nvrtcFound())('prepared on a GPU (skipped only without NVRTC)', () => {
  let gpu: Device;
  let x: Floats;
  let w: Floats;
  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
    await useFakeSolvers();
    gpu = device('cuda:0');
    x = await make(1, 2, 3, 4);
    w = await make(5, 6, 7, 8);
  });

  const make = (...elements: number[]): Promise<Floats> =>
    tensor(elements, { shape: [2, 2], device: gpu });

  /** How often the device is asked for each kind of work. */
  async function asked(work: () => unknown): Promise<Record<string, number>> {
    const copies = vi.spyOn(CudaStream.prototype, 'copyDeviceToDevice');
    const uploads = vi.spyOn(CudaStream.prototype, 'copyKeptToDevice');
    const graphs = vi.spyOn(CudaGraphExec.prototype, 'launch');
    const profile = startProfile();
    try {
      await work();
      return {
        copies: copies.mock.calls.length,
        uploads: uploads.mock.calls.length,
        graphs: graphs.mock.calls.length,
        launches: (await profile.stop()).length,
      };
    } finally {
      for (const one of [copies, uploads, graphs]) one.mockRestore();
    }
  }

  it('a call is one graph, which copies its arguments and results', async () => {
    const loss = async (w: Floats, x: Floats): Promise<Tensor> =>
      (await matmul(x, w))
        .sub(await tensor([1, 2], { device: gpu }))
        .square()
        .mean();
    const step = await prepare(valueAndGrad(loss), w, x);
    expect(await asked(() => step(w, x))).toEqual({
      copies: 0,
      uploads: 0,
      graphs: 1,
      launches: 0,
    });
    step.dispose();
  });

  it('copies more pieces than one launch takes, and none where there are no elements', async () => {
    const count = 40;
    const f = async (...all: Floats[]): Promise<Tensor[]> =>
      Promise.all(all.map(async (one) => await one.clone()));
    const args = await Promise.all(
      Array.from({ length: count }, (_, k) => make(k, k + 1, k + 2, k + 3)),
    );
    const none = await tensor(new Float32Array(0), { device: gpu });
    const prepared = await prepare(f, ...args, none);
    const turned = args.toReversed();
    const results = prepared(...turned, none);
    prepared.dispose();
    expect(results).toHaveLength(count + 1);
    for (const [k, one] of turned.entries()) {
      expect(await results[k]?.toNested()).toEqual(await one.toNested());
    }
    expect(results[count]?.shape).toEqual([0]);
  });

  it.each([
    // the last result is copied out of the loop
    ['of the device', 1, { copies: 1, graphs: 2 }],
    ['of the host', 0, { copies: 0, graphs: 3 }],
  ])(
    'a repetition %s has what the call before it gave, beside the other arguments of the first',
    async (_, loops, launched) => {
      fake('LOOPS', loops);
      const f = async (a: Floats, b: Floats): Promise<Tensor> => matmul(a, b);
      const prepared = await prepare(f, x, w);
      const wanted = await f((await f((await f(w, x)) as Floats, x)) as Floats, x);
      const found: Tensor[] = [];
      const counts = await asked(() => found.push(prepared.repeat(3, w, x)));
      expect(counts).toEqual({ ...launched, uploads: 0, launches: 0 });
      expect(await found[0]?.toNested()).toEqual(await wanted.toNested());
      // and the arguments are copied again
      expect(await prepared(x, w).toNested()).toEqual(await (await f(x, w)).toNested());
      prepared.dispose();
      fake('LOOPS', undefined);
    },
  );

  it('random numbers are drawn once, and copied by each call', async () => {
    const f = (_: Floats) => random.normal([2, 2], { key: random.key(3), device: gpu }).clone();
    const wanted = await random.normal([2, 2], { key: random.key(3), device: 'cpu' });
    const prepared = await prepare(f, x);
    for (const one of [x, w])
      expect(await prepared(one).toNested()).toEqual(await wanted.toNested());
    expect((await asked(() => prepared(x)))['uploads']).toBe(0);
    prepared.dispose();
  });

  it('products are computed with the arguments of each call, and results stay', async () => {
    const f = async (a: Floats): Promise<Tensor> => matmul(await matmul(a, w), w);
    const prepared = await prepare(f, x);
    const [first, second] = [prepared(x), prepared(w)];
    prepared.dispose();
    expect(await first.toNested()).toEqual(await (await f(x)).toNested());
    expect(await second.toNested()).toEqual(await (await f(w)).toNested());
  });

  it('a constant of host numbers is uploaded once, also into memory that was used before', async () => {
    const f = async (a: Floats): Promise<Tensor> => {
      let product = await matmul(a, w);
      for (let k = 0; k < 4; k++) {
        using before = product;
        using constant = await make(k, 1, 2, 3);
        product = await matmul(before, constant);
      }
      return product;
    };
    const prepared = await prepare(f, x);
    const wanted = await (await f(w)).toNested();
    const found: Tensor[] = [];
    const counts = await asked(() => found.push(prepared(x), prepared(w)));
    expect(counts).toEqual({ copies: 0, uploads: 0, graphs: 2, launches: 0 });
    expect(await found[1]?.toNested()).toEqual(wanted);
  });

  it('keeps no memory once it is disposed, nor where the function fails while it is captured', async () => {
    const f = async (a: Floats): Promise<Tensor> => matmul(a, w);
    (await f(x)).dispose();
    const kept = await memoryKept(gpu, async () => {
      const prepared = await prepare(f, x);
      for (let k = 0; k < 100; k++) prepared(x).dispose();
      prepared.dispose();
      let calls = 0;
      const failing = async (a: Floats): Promise<Tensor> => {
        using product = await f(a);
        if (++calls === 2) throw new RangeError('mine');
        return await matmul(product as Floats, w);
      };
      await expect(prepare(failing, x)).rejects.toThrow(new RangeError('mine'));
    });
    expect(kept).toEqual(NOTHING);
    expect(await (await f(x)).toNested()).toEqual([
      [19, 22],
      [43, 50],
    ]);
  });

  it('calls beside a capture run, and the device can be waited for', async () => {
    let go: (() => void) | undefined;
    const begun = new Promise<void>((resolve) => (go = resolve));
    let calls = 0;
    let ended: (() => void) | undefined;
    const beside = new Promise<void>((resolve) => (ended = resolve));
    const preparing = prepare(async (a: Floats): Promise<Tensor> => {
      const product = await matmul(a, w);
      if (++calls === 2) {
        go?.();
        await beside;
      }
      return product;
    }, x);
    await begun;
    expect(await (await matmul(w, x)).toNested()).toEqual([
      [23, 34],
      [31, 46],
    ]);
    await gpu.synchronize();
    ended?.();
    expect(await (await preparing)(x).toNested()).toEqual([
      [19, 22],
      [43, 50],
    ]);
  });

  it.each<[name: string, f: (a: Floats) => unknown]>([
    ['eigh', (a) => eigh(a)],
    ['svd', (a) => svd(a)],
    ['cholesky', (a) => cholesky(a, { checkErrors: true })],
    ['toNested', (a) => a.toNested()],
  ])('%s, which waits for values, is refused by its name', async (name, f) => {
    await expect(prepare(f, x)).rejects.toMatchObject({
      code: 'CAPTURED',
      message: expect.stringMatching(new RegExp(`^${name} (reads|waits)`)) as string,
    });
  });

  it('work on the CPU is refused', async () => {
    const there = await tensor([[1, 2]], { device: 'cpu' });
    await expect(prepare((_: Floats) => cdist(there, there), x)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringMatching(
        /all work is on one stream of cuda:0, and this is on cpu/,
      ) as string,
    });
    await expect(prepare((_: Floats) => there.to('cuda:0'), x)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
    });
  });
});
