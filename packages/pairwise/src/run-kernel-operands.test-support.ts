import { tensor, zeros, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { uniformGenerator, type ReferenceMatrix } from './cdist-reference.test-support.js';
import { cdist, kernelDescriptor, kernels, runKernel, type PairwiseDType } from './index.js';
import { expectCode, matrix, upload, uploadBatch } from './matrices.test-support.js';
import { expectKernel } from './run-kernel-checks.test-support.js';
import { together } from './together.test-support.js';
import { undisposedBytes } from '../../tensor/test/memory-kept.mjs';

/** Shapes, strides, special values, memory, and what a call waits for. */
export function describeKernelOperands(device: () => Device): void {
  const place = (x: ReferenceMatrix): Promise<Tensor<PairwiseDType>> =>
    upload(x, 'row', 0, 'float32', device());

  it('computes random shapes, strides and batches', async () => {
    const uniform = uniformGenerator(2026);
    const below = (count: number): number => Math.floor(uniform() * count);
    const options = { p: 1.3, bandwidth: 3 } as const;
    const descriptor = kernelDescriptor({
      innerOperator: 'diff',
      innerPower: 'pow',
      outerPower: 'pow',
      kernel: 'laplace',
    });
    const rounds = Array.from({ length: 20 }, (_, round) => {
      const [m, n] = [[1, 8, 9][below(3)] ?? 1, [1, 8, 9][below(3)] ?? 1];
      const k = [1, 2, 7][below(3)] ?? 1;
      const batch = 1 + below(3);
      const [as, bs] = [0, 1].map((side) =>
        Array.from({ length: below(2) === 0 ? 1 : batch }, (_, l) =>
          matrix(side === 0 ? m : n, k, 100 * round + 10 * side + l),
        ),
      );
      if (as === undefined || bs === undefined) throw new Error('two sides');
      return { as, bs, k, strides: [below(4), below(4)] as const };
    });
    await together(rounds, async ({ as, bs, k, strides }) => {
      const place = async (
        parts: readonly ReferenceMatrix[],
        stride: number,
      ): Promise<Tensor<PairwiseDType>> => {
        const x = await uploadBatch(parts, 'float32', device());
        // The same values at other strides: columns first, with gaps between rows, or backwards.
        switch (stride) {
          case 0:
            return (await x.transpose().clone()).transpose();
          case 1: {
            const shape = [x.shape[0] ?? 1, x.shape[1] ?? 1, k + 3];
            const wide = await zeros(shape, { dtype: 'float32', device: device() });
            return wide.slice(null, null, [1, k + 1]).copyFrom(x);
          }
          case 2: {
            const reversed = await x.slice(null, [null, null, -1]).clone();
            return reversed.slice(null, [null, null, -1]);
          }
          default:
            return x;
        }
      };
      const [x, y] = [await place(as, strides[0]), await place(bs, strides[1])];
      const result = await runKernel(descriptor, x, y, options);
      for (let l = 0; l < (result.shape[0] ?? 0); l++) {
        const [a, b] = [as[l % as.length], bs[l % bs.length]];
        if (a === undefined || b === undefined) throw new Error('a matrix of each');
        await expectKernel(result.slice(l), descriptor, a, b, options);
      }
    });
  });

  it('computes products of one feature', async () => {
    const [a, b] = [matrix(5, 1, 1), matrix(6, 1, 2)];
    await expectKernel(
      await runKernel(kernels.dot, await place(a), await place(b)),
      kernels.dot,
      a,
      b,
    );
  });

  it('reads inputs of any strides', async () => {
    const source = matrix(12, 10, 5);
    const x = await place(source);
    const reversed = x.slice([null, null, -1], [null, null, 2]);
    const expected: ReferenceMatrix = {
      rows: 12,
      columns: 5,
      values: Float64Array.from({ length: 60 }, (_, i) => {
        const [row, column] = [11 - Math.floor(i / 5), 2 * (i % 5)];
        return source.values[row * 10 + column] ?? NaN;
      }),
    };
    const result = await runKernel(kernels.gaussian, reversed, { bandwidth: 2 });
    await expectKernel(result, kernels.gaussian, expected, expected, { bandwidth: 2 });
  });

  it('has empty results, and kernels of zero where there is nothing to sum', async () => {
    const make = (shape: number[]): Promise<Tensor<'float32'>> =>
      zeros(shape, { dtype: 'float32', device: device() });
    const options = { bandwidth: 1, regularization: 0.5 };
    const none = await runKernel(kernels.gaussian, await make([0, 3]), await make([4, 3]), options);
    expect(none.shape).toEqual([0, 4]);
    const entries = await runKernel(kernels.gaussian, await make([0, 2, 3]), options);
    expect(entries.shape).toEqual([0, 2, 2]);
    const parameters = await tensor(new Float32Array(0), { shape: [0], device: device() });
    const noEntries = await runKernel(kernels.gaussian, await make([2, 3]), {
      bandwidth: parameters,
    });
    expect(noEntries.shape).toEqual([0, 2, 2]);
    const blank = await runKernel(kernels.gaussian, await make([2, 0]), options);
    expect([...(await blank.toTypedArray())]).toEqual([1.5, 1, 1, 1.5]);
    const cosines = await runKernel(kernels.cosine, await make([2, 0]));
    expect([...(await cosines.toTypedArray())]).toEqual([0, 0, 0, 0]);
  });

  it('carries NaN and infinity', async () => {
    const rows: ReferenceMatrix = {
      rows: 4,
      columns: 2,
      values: Float64Array.of(0, 0, 1, NaN, Infinity, 0, 2, 1),
    };
    const x = await place(rows);
    const calls = [
      [kernels.gaussian, { bandwidth: 2 }],
      [kernels.laplace, { bandwidth: 8 }],
      [kernels.matern32, { bandwidth: 2 }],
      [kernels.matern52, { bandwidth: 2 }],
      [kernels.rationalQuadratic, { bandwidth: 2, alpha: 0.5 }],
    ] as const;
    await together(calls, async ([descriptor, options]) => {
      const result = await runKernel(descriptor as typeof kernels.rationalQuadratic, x, x, {
        ...(options as { bandwidth: number; alpha: number }),
      });
      await expectKernel(result, descriptor, rows, rows, options);
    });
  });

  it('is exactly its value at 0 between equal rows', async () => {
    const values = new Float64Array(9 * 7).fill(Math.fround(0.1));
    const rows: ReferenceMatrix = { rows: 9, columns: 7, values };
    const x = await place(rows);
    for (const [descriptor, options, want] of [
      [kernels.gaussian, { bandwidth: 0.01 }, 1],
      [kernels.matern52, { bandwidth: 0.01 }, 1],
      [kernels.minkowski, { p: 1.3 }, 0],
      [kernels.minkowski, { p: Infinity }, 0],
    ] as const) {
      const result = await runKernel(descriptor as typeof kernels.gaussian, x, x, {
        ...(options as { bandwidth: number }),
      });
      expect([...(await result.toTypedArray())]).toEqual(new Array(81).fill(want));
    }
  });

  it('is never above 1 near 0 for kernels that are 1 there', async () => {
    const count = 20_000;
    const near = Float64Array.from({ length: count }, (_, i) =>
      i === count - 1 ? 0 : Math.fround(0.999 ** i),
    );
    for (const dtype of ['float32', 'float64'] as const) {
      const x = await upload({ rows: count, columns: 1, values: near }, 'row', 0, dtype, device());
      const zero = await zeros([1, 1], { dtype, device: device() });
      await together(
        [
          kernels.gaussian,
          kernels.laplace,
          kernels.exponential,
          kernels.matern12,
          kernels.matern32,
          kernels.matern52,
          kernels.cauchy,
        ].concat(kernels.inverseMultiquadric as never),
        async (descriptor) => {
          const result = await runKernel(descriptor as typeof kernels.gaussian, x, zero, {
            bandwidth: 0.75,
          });
          const values = [...(await result.toTypedArray())];
          const above = values.filter((value) => !(value <= 1));
          expect(above, JSON.stringify(descriptor)).toEqual([]);
          expect(values.at(-1)).toBe(1);
        },
      );
      const options = { bandwidth: 0.75, alpha: 1.3 };
      const mixture = await (
        await runKernel(kernels.rationalQuadratic, x, zero, options)
      ).toTypedArray();
      expect(mixture.every((value) => value <= 1)).toBe(true);
    }
  });

  it('does not change what a descriptor means, whatever was called before', async () => {
    const a = matrix(9, 7, 5);
    const x = await place(a);
    const twin = kernelDescriptor({ ...kernels.minkowski });
    expect(twin).toEqual(kernels.minkowski);
    await cdist(x, x, { p: 3, skipEpilogue: true });
    await runKernel(kernels.minkowski, x, x, { innerP: 3, outerP: 1 });
    const [first, second] = [
      await runKernel(kernels.minkowski, x, x, { p: 3 }),
      await runKernel(twin, x, x, { p: 3 }),
    ];
    await expectKernel(first, kernels.minkowski, a, a, { p: 3 });
    expect(await second.toTypedArray()).toEqual(await first.toTypedArray());
  });

  it('takes nested and typed arrays, on the device of a parameter', async () => {
    const bandwidth = await tensor([2], { dtype: 'float64', device: device() });
    const k = await runKernel(kernels.gaussian, [[0], [2]], { bandwidth });
    expect(k.device).toBe(device());
    expect(k.dtype).toBe('float64');
    expect((await k.toTypedArray())[1]).toBeCloseTo(Math.exp(-0.5), 12);
  });

  it('leaves nothing behind', async () => {
    const x = await place(matrix(12, 10, 5));
    const bandwidth = await tensor([1, 2, 4], { dtype: 'float32', device: device() });
    const call = async (): Promise<void> => {
      const odd = x.slice([null, null, -1], [null, null, 2]);
      const column = bandwidth.slice([null, null, 2]);
      for (const made of [
        await runKernel(kernels.gaussian, odd, x.slice(null, [0, 5]), { bandwidth, scale: 2 }),
        await runKernel(kernels.cosine, odd),
        await runKernel(kernels.gaussian, x, {
          bandwidth: column,
          regularization: column,
        }),
      ]) {
        made.dispose();
      }
      await expect(
        runKernel(kernels.gaussian, odd, odd, { bandwidth, scale: bandwidth }),
      ).rejects.toThrow('factors');
      odd.dispose();
      column.dispose();
    };
    await call();
    const before = undisposedBytes(device());
    for (let i = 0; i < 5; i++) await call();
    await device().synchronize();
    expect(undisposedBytes(device())).toBe(before);
  });

  it('writes nothing when memory runs out halfway', async () => {
    const x = await zeros([512, 64], { dtype: 'float32', device: device() });
    const out = await zeros([512, 512], { dtype: 'float32', device: device() });
    const options = { bandwidth: 1, scale: 2 } as const;
    (await runKernel(kernels.gaussian, x, options)).dispose();
    await device().synchronize();
    const before = undisposedBytes(device());
    const limit = device().memoryLimitBytes;
    // Less than what the two tensors have: whatever a sweep finds, nothing more fits.
    device().memoryLimitBytes = out.bytes;
    try {
      const code = 'OUT_OF_MEMORY';
      await expectCode(runKernel(kernels.gaussian, x, { ...options, out }), code);
      await expectCode(runKernel(kernels.gaussian, x, { bandwidth: 1 }), code);
    } finally {
      device().memoryLimitBytes = limit;
    }
    expect(undisposedBytes(device())).toBe(before);
    expect((await out.toTypedArray()).every((value) => value === 0)).toBe(true);
    await runKernel(kernels.gaussian, x, { ...options, out });
    expect((await out.toTypedArray()).every((value) => value === 1)).toBe(true);
  });

  describe('waits for nothing', () => {
    it('enqueues behind work that is not done, whatever its parameters are', async ({ skip }) => {
      const atOnce = device().kind === 'cpu' && process.env['MERCER_CPU'] === 'wasm';
      skip(atOnce, 'WebAssembly runs work when it is enqueued');
      const stream = device().createStream();
      const load = await zeros([3000, 700], { dtype: 'float32', device: device() });
      const x = await place(matrix(8, 4, 1));
      const bandwidth = await tensor([2], { dtype: 'float32', device: device() });
      const options = { bandwidth, regularization: bandwidth, scale: bandwidth, stream };
      // Compiled beforehand: a compile takes longer than the load.
      (await runKernel(kernels.gaussian, x, options)).dispose();
      (await cdist(load.slice([0, 300]), load, { p: 1.3, stream })).dispose();
      await stream.synchronize();
      const loads = device().kind === 'cpu' ? 1 : 3;
      for (let i = 0; i < loads; i++) (await cdist(load, load, { p: 1.3, stream })).dispose();
      const result = await runKernel(kernels.gaussian, x, options);
      const inFlight = stream.inFlight;
      await result.ready();
      expect(inFlight).toBeGreaterThan(0);
      stream.dispose();
    });
  });
}
