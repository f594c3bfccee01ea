import { CudaGraphExec, CudaStream } from '@mercer/cuda-runtime';
import { lazyI, lazyJ, rangesFromMatrix, type LazyTensor } from '@mercer/lazy';
import { device, startProfile, zeros, type Device, type Tensor } from '@mercer/tensor';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { fake, useFakeDriver, useFakeSolvers } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { cg, type LinearOperator } from './index.js';
import { CgMethod } from './krylov/cg-method.js';
import { GmresMethod } from './krylov/gmres-method.js';
import type { KrylovMethod, KrylovState } from './krylov/iterate.js';
import { LeastSquaresMethod } from './krylov/least-squares-method.js';
import { MinresMethod } from './krylov/minres-method.js';
import { release } from './krylov/columns.js';
import { Pivots } from './preconditioners/pivots.js';
import { LinearSystem } from './krylov/linear-system.js';

const HALVES = [
  [0, 500],
  [500, 1000],
] as const;
const RANGES = rangesFromMatrix(HALVES, HALVES, [
  [1, 0],
  [0, 1],
]);

/** A GPU that compiles and accepts launches, but computes nothing: no column is ever done. */
describe.skipIf(!nvrtcFound())('cg on a GPU (skipped only without NVRTC)', () => {
  let gpu: Device;
  let matrix: LazyTensor<'float32'>;
  let kernel: LinearOperator<'float32'>;
  let b: Tensor<'float32'>;
  beforeAll(async () => {
    await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
    await useFakeSolvers();
    gpu = device('cuda:0');
    const points = await zeros([1000, 3], { device: gpu });
    matrix = lazyI(points).sqdist(lazyJ(points)).neg().exp();
    kernel = matrix.asOperator();
    b = await zeros([1000], { device: gpu });
  });

  afterEach(() => {
    fake('LOOPS', undefined);
    vi.restoreAllMocks();
  });

  it('an iteration is a product, two inner products and three maps', async () => {
    using column = b.reshape([1000, 1]);
    const numbers = { rtol: 1e-4, atol: 0, maxIterations: 10, x0: undefined };
    using system = await LinearSystem.of({
      ...numbers,
      operator: kernel,
      preconditioner: undefined,
      b: column,
    });
    const method = new CgMethod(system);
    const state = await method.start();
    release(await method.step(state));
    const profile = startProfile();
    const next = await method.step(state);
    const names = (await profile.stop()).map(({ name }) => name.split(' ')[0]);
    release(next);
    release(state);
    expect(names).toEqual(['map-reduce', 'sum', 'map', 'sum', 'map', 'map']);
  });

  it.each<readonly [string, (system: LinearSystem) => KrylovMethod<KrylovState>, string]>([
    [
      'minres',
      (system) => new MinresMethod(system) as never,
      'map-reduce sum map sum map map sum map',
    ],
    [
      'lsqr',
      (system) => new LeastSquaresMethod('lsqr', system) as never,
      'map-reduce map map-reduce sum map sum map map',
    ],
    [
      'gmres',
      (system) => new GmresMethod(system, 5) as never,
      'map-reduce sum sum map sum sum map map sum sum sum map sum map map map map copy_b32_b32_linear copy_b32_b32_linear',
    ],
  ])('an iteration of %s has these launches', async (_, methodOf, expected) => {
    using column = b.reshape([1000, 1]);
    const numbers = { rtol: 1e-4, atol: 0, maxIterations: 10, x0: undefined };
    const system_ = { ...numbers, operator: kernel, preconditioner: undefined, b: column };
    using system = await LinearSystem.of(system_);
    const method = methodOf(system);
    const state = await method.start();
    release(await method.step(state), state);
    const profile = startProfile();
    const next = await method.step(state);
    const names = (await profile.stop()).map(({ name }) => name.split(' ')[0]);
    release(next, state);
    release(state);
    expect(names.join(' ')).toBe(expected);
  });

  it.each([
    ['a launch of an iteration, and of a loop of nine', 1, 2, undefined],
    ['ten launches of one graph where the driver has no loops', 0, 10, undefined],
    ['the same of products over ranges', 1, 2, RANGES],
  ])('a batch is %s, and an abort keeps no memory', async (_, loops, launches, ranges) => {
    fake('LOOPS', loops);
    const kernel = matrix.asOperator({ ranges });
    const graphs = vi.spyOn(CudaGraphExec.prototype, 'launch');
    const call = async (): Promise<void> => {
      const controller = new AbortController();
      let seen = 0;
      const onIteration = (): void => {
        if (++seen === 4) controller.abort(new Error('enough'));
      };
      const options = { signal: controller.signal, onIteration };
      await expect(cg(kernel.shift(0.1), b, options)).rejects.toThrow('enough');
    };
    await call();
    expect(graphs).toHaveBeenCalledTimes(4 * launches);
    graphs.mockRestore();
    expect(await memoryKept(gpu, call)).toEqual(NOTHING);
  });

  it.each([
    ['two launches of graphs, whatever a pivot launches', 1, 2],
    ['ten where the driver has no loops', 0, 10],
  ])('ten pivots of pivotedCholesky are %s', async (_, loops, launches) => {
    fake('LOOPS', loops);
    const pivots = await Pivots.of(kernel, 30);
    const graphs = vi.spyOn(CudaGraphExec.prototype, 'launch');
    await (
      await pivots.next(10)
    ).seen;
    await (
      await pivots.next(10)
    ).seen;
    expect(graphs).toHaveBeenCalledTimes(2 * launches);
    graphs.mockRestore();
    using columns = await pivots.columns(20);
    expect(columns.shape).toEqual([1000, 20]);
    pivots[Symbol.dispose]();
  });

  it('batches of a solve that reports nothing are longer, up to the next true residual', async () => {
    const controller = new AbortController();
    const left: number[] = [];
    const { memset } = CudaStream.prototype;
    const spies = [
      vi.spyOn(performance, 'now').mockReturnValue(0),
      vi.spyOn(CudaStream.prototype, 'memset').mockImplementation(function (
        this: CudaStream,
        ...given
      ) {
        const [, , value, bytes, unit] = given;
        if (bytes === 4 && unit === 4 && left.push(value) === 6)
          controller.abort(new Error('enough'));
        memset.apply(this, given);
      }),
    ];
    await expect(cg(kernel.shift(0.1), b, { signal: controller.signal })).rejects.toThrow('enough');
    for (const one of spies) one.mockRestore();
    // of 10, 10, 20, 10 and 50 iterations
    expect(left).toEqual([9, 9, 19, 9, 49, 49]);
  });
});
