import type { Device, Tensor } from '@mercer/tensor';
import { assert, expect, it } from 'vitest';
import { normalValues } from './cdist-reference.test-support.js';
import * as pairwise from './index.js';
import type { AnyRunKernelOptions, KernelDescriptor } from './index.js';
import { product, sum } from './run-kernel-backward-cases.test-support.js';
import {
  backward,
  DTYPES,
  expectClose,
  maker,
  read,
  rowsOf,
  slope,
  type DataType,
} from './run-kernel-backward-checks.test-support.js';
import { covering } from './together.test-support.js';

/** Parameters of every rank and from memory, those without a derivative, and exponents that are none. */
export function describeBackwardParameters(
  device: () => Device,
  { full }: { readonly full: boolean },
): void {
  const make = maker(device);

  it.each([[[]], [[1]], [[1, 1]]])(
    'takes one value of shape %j, with and without batch axes in the data',
    async (shape) => {
      const [l, m, n, k] = [2, 4, 3, 2];
      const value = async (number: number): Promise<Tensor<DataType>> =>
        await make([number], shape, 'float64');
      const x = await make(normalValues(l * m * k, 6), [l, m, k], 'float64');
      const y = await make(normalValues(n * k, 7), [n, k], 'float64');
      const g = await make(normalValues(l * m * n, 8), [l, m, n], 'float64');
      const calls: readonly (readonly [KernelDescriptor, Readonly<Record<string, number>>])[] = [
        [pairwise.kernels.rationalQuadratic, { bandwidth: 2, alpha: 1.2 }],
        [pairwise.kernels.minkowski, { p: 1.7 }],
        [
          pairwise.kernels.gaussian,
          { bandwidth: 2, regularization: 0.5, scale: 1.5, epsilon: 0.25 },
        ],
        [pairwise.kernels.polynomial, { gamma: 0.5, offset: 0.25, degree: 2 }],
      ];
      for (const [descriptor, numbers] of calls) {
        const names = Object.keys(numbers).filter((name) => name !== 'degree');
        const options = Object.fromEntries(
          await Promise.all(
            Object.entries(numbers).map(async ([name, one]) => {
              // A scale has an axis of features.
              const given = name === 'scale' && shape.length === 0 ? one : await value(one);
              return [name, given] as const;
            }),
          ),
        );
        for (const [gradient, rows] of [
          [g.slice(0), x.slice(0)],
          [g, x],
        ] as const) {
          const found = await backward(descriptor, gradient, rows, y, options, names);
          const wanted = await backward(descriptor, gradient, rows, y, numbers, names);
          for (const name of names) {
            const own = name === 'scale' && shape.length === 0 ? [] : shape;
            expect(found[name]?.shape, name).toEqual(own);
            expectClose(name, await read(found, name), await read(wanted, name), 1e-13);
          }
        }
      }
    },
  );

  it('has the gradient of a degree, NaN where a base is negative, and of epsilon, which is 0', async () => {
    const [m, n, k] = [4, 5, 3];
    const positive = (count: number, seed: number): Float64Array =>
      normalValues(count, seed).map(Math.abs);
    const [a, b, g] = [positive(m * k, 1), positive(n * k, 2), normalValues(m * n, 3)];
    const [x, y] = [await make(a, [m, k], 'float64'), await make(b, [n, k], 'float64')];
    const upstream = await make(g, [m, n], 'float64');
    const q = { gamma: 0.5, offset: 0.25 };
    const [left, right] = [rowsOf(a, k), rowsOf(b, k)];
    const loss = (degree: number): number =>
      sum(
        left.flatMap((row, i) =>
          right.map(
            (other, j) =>
              (g[i * n + j] ?? NaN) * (q.gamma * product(row, other) + q.offset) ** degree,
          ),
        ),
      );
    const { kernels } = pairwise;
    const wrt = ['a', 'gamma', 'degree'];
    for (const degree of [0, 3, 2.5]) {
      const tensors = { ...q, degree: await make([degree], [1], 'float64') };
      const found = await backward(kernels.polynomial, upstream, x, y, tensors, wrt);
      expect(found['degree']?.shape).toEqual([1]);
      expectClose('degree', await read(found, 'degree'), [slope((by) => loss(degree + by))], 1e-8);
      if (degree === 2.5) continue;
      const numbers = await backward(kernels.polynomial, upstream, x, y, { ...q, degree }, wrt);
      expect(numbers['degree']?.shape).toEqual([]);
      for (const name of wrt) {
        expectClose(name, await read(numbers, name), await read(found, name), 1e-12);
      }
    }
    const degrees = await make([1, 2, 3], [3], 'float64');
    const batch = await upstream.reshape([1, m, n]).broadcastTo([3, m, n]).clone();
    const each = await backward(kernels.polynomial, batch, x, y, { ...q, degree: degrees }, [
      'degree',
    ]);
    const wanted = [1, 2, 3].map((degree) => slope((by) => loss(degree + by)));
    expectClose('degrees', await read(each, 'degree'), wanted, 1e-8);

    const one = await make([1], [1, 1], 'float64');
    const of = async (offset: number): Promise<number> => {
      const call = { gamma: 0, offset, degree: 2 };
      const found = await backward(kernels.polynomial, one, one, undefined, call, ['degree']);
      return (await read(found, 'degree'))[0] ?? Infinity;
    };
    expect([await of(0), await of(-1)]).toEqual([0, NaN]);

    const bandwidth = 2;
    for (const epsilon of [0, 0.5, await make([0.5], [1], 'float64')]) {
      const call = { bandwidth, epsilon };
      const found = await backward(kernels.gaussian, upstream, x, y, call, [
        'bandwidth',
        'epsilon',
      ]);
      const shape = typeof epsilon === 'number' ? [] : [1];
      expect(found['epsilon']?.shape).toEqual(shape);
      expect(await read(found, 'epsilon')).toEqual([0]);
      expect((await read(found, 'bandwidth')).every(Number.isFinite)).toBe(true);
    }
  });

  it('is NaN where an exponent from memory is none', async () => {
    const [m, n, k] = [3, 4, 2];
    const [a, b, g] = [normalValues(m * k, 6), normalValues(n * k, 7), normalValues(m * n, 8)];
    b.set(a.subarray(0, k));
    const norms = [1.5, 0, -1, Infinity, NaN, -Infinity, 2];
    const isNorm = norms.map((p) => p > 0 && p < Infinity);
    const laplace = pairwise.kernelDescriptor({
      innerOperator: 'diff',
      innerPower: 'pow',
      outerPower: 'pow',
      kernel: 'laplace',
    });
    for (const [turn, dtype] of DTYPES.entries()) {
      const [x, y] = [await make(a, [m, k], dtype), await make(b, [n, k], dtype)];
      const upstream = (await make(g, [1, m, n], dtype)).broadcastTo([norms.length, m, n]);
      const p = await make(norms, [norms.length], dtype);
      const two = await make([2], [1], dtype);
      const spread = async (z: Tensor<DataType>): Promise<Tensor<DataType>> =>
        z.broadcastTo([norms.length, ...z.shape]).clone();
      const calls: readonly (readonly [KernelDescriptor, AnyRunKernelOptions, string])[] = [
        [pairwise.kernels.minkowski, { p }, 'p'],
        [pairwise.kernels.minkowski, { innerP: p, outerP: 0.5 }, 'innerP'],
        [pairwise.kernels.minkowski, { innerP: two, outerP: p }, 'outerP'],
        [laplace, { p, bandwidth: 2 }, 'p'],
      ];
      for (const [descriptor, options, name] of covering(calls, turn, full)) {
        const operands = [await spread(x), await spread(y)] as const;
        const found = await backward(descriptor, upstream, ...operands, options, ['a', 'b', name]);
        const perEntry = async (of: string): Promise<boolean[]> => {
          const values = await read(found, of);
          const size = values.length / norms.length;
          return norms.map((_, l) => {
            const own = values.slice(l * size, (l + 1) * size);
            const isNone = own.every(Number.isNaN);
            assert(
              isNone || own.every(Number.isFinite),
              `${of} ${name} ${norms[l]}: ${own.join()}`,
            );
            return !isNone;
          });
        };
        // Powers apart say nothing of a zero difference: its gradient is 0.
        if (name === 'p') expect(await perEntry('a')).toEqual(isNorm);
        if (name === 'p') expect(await perEntry('b')).toEqual(isNorm);
        expect(await perEntry(name)).toEqual(isNorm);
      }
    }
  });
}
