import { lazyI, lazyJ, lazyPair, rangesFromMatrix } from '@mercer/lazy';
import { runKernel, kernels } from '@mercer/pairwise';
import { device as deviceOf, full, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import {
  blockColumns,
  blockRows,
  denseOperator,
  kroneckerOperator,
  lowRankOperator,
  operator,
  sparseOperator,
  storedOperator,
  type LinearOperator,
} from '../index.js';
import {
  difference,
  float64,
  gaussian,
  matrixOf,
  nested,
  pointsOf,
  times,
  transposed,
  type Matrix,
} from './systems.test-support.js';

type Case = readonly [operator: LinearOperator<'float64'>, matrix: Matrix];

const map = (a: Matrix, f: (one: number, i: number, j: number) => number): number[][] =>
  a.map((row, i) => row.map((one, j) => f(one, i, j)));

const [A, B, S, T] = [matrixOf(4, 3, 1), matrixOf(4, 3, 2), matrixOf(3, 3, 3), matrixOf(3, 2, 4)];
const points = pointsOf(5);

/** Operators with the matrices that they are, by plain loops. */
const CASES: Readonly<Record<string, (device: Device) => Promise<Case>>> = {
  'a stored matrix': async (device) => [denseOperator(await float64(A, device)), A],
  'a stored matrix, square': async (device) => [denseOperator(await float64(S, device)), S],
  'a symbolic matrix': async (device) => {
    const x = await float64(points, device);
    return [lazyI(x).sqdist(lazyJ(x)).neg().exp().asOperator(), gaussian(points)];
  },
  'a symbolic matrix of other rows than columns': async (device) => {
    const [x, y] = [await float64(points, device), await float64(points.slice(2), device)];
    return [lazyI(x).mul(lazyJ(y)).asOperator(), times(points, transposed(points.slice(2)))];
  },
  'some rows of a symbolic matrix': async (device) => {
    const x = await float64(points, device);
    const some = lazyI(x).sqdist(lazyJ(x)).neg().exp().rows([1, 4]);
    return [some.asOperator(), gaussian(points).slice(1, 4)];
  },
  'a symbolic matrix of values of pairs': async (device) => {
    const [x, a] = [await float64(points, device), await float64(gaussian(points), device)];
    const expected = points.map(([p = 0], i) =>
      points.map((_, j) => p * (gaussian(points)[i]?.[j] as number)),
    );
    return [lazyPair(a).mul(lazyI(x)).asOperator(), expected];
  },
  'a symbolic matrix whose rows are cut into blocks': async (device) => {
    const x = await float64(points, device);
    const shards = { devices: [device, device], maxBytes: 1000 };
    return [lazyI(x).sqdist(lazyJ(x)).neg().exp().asOperator(shards), gaussian(points)];
  },
  'a symbolic matrix of arrays of the host': async (device) => {
    const x = { data: Float64Array.from(points.flat()), shape: [5, 1] };
    const kernel = lazyI(x).sqdist(lazyJ(x)).neg().exp();
    const cut = kernel.asOperator({ devices: [device, device] });
    return [cut as LinearOperator<'float64'>, gaussian(points)];
  },
  'a symbolic matrix of tensors of the host': async (device) => {
    const x = await float64(points, deviceOf('cpu'));
    const kernel = lazyI(x).mul(lazyJ(x.slice([1, 4])));
    const expected = times(points, transposed(points.slice(1, 4)));
    return [kernel.asOperator({ devices: [device, device] }), expected];
  },
  'a symbolic matrix of some pairs': async (device) => {
    const x = await float64(points, device);
    const rows = [
      [0, 1],
      [1, 5],
    ] as const;
    const columns = [
      [0, 3],
      [3, 5],
    ] as const;
    const ranges = rangesFromMatrix(rows, columns, [
      [1, 0],
      [1, 1],
    ]);
    const kernel = lazyI(x).sqdist(lazyJ(x)).neg().exp();
    const expected = map(gaussian(points), (one, i, j) => (i === 0 && j > 2 ? 0 : one));
    return [kernel.asOperator({ ranges }), expected];
  },
  'a kernel matrix that is stored': async (device) => {
    const x = await float64(points, device);
    const matrix = await runKernel(kernels.gaussian, x, x, { bandwidth: Math.SQRT1_2 });
    return [denseOperator(matrix), gaussian(points)];
  },
  'a symbolic matrix that is stored': async (device) => {
    const x = await float64(points, device);
    const kernel = lazyI(x).sqdist(lazyJ(x)).neg().exp().asOperator();
    const stored = await storedOperator(kernel.scale(2).add(kernel.t()).shift(0.5));
    return [stored, map(gaussian(points), (one, i, j) => 3 * one + (i === j ? 0.5 : 0))];
  },
  'the pairs within a distance': async (device) => {
    const x = await float64(points, device);
    const distance = lazyI(x).sub(lazyJ(x)).abs();
    const near = await distance.le(2).nonzero('j', { values: distance.neg().exp() });
    const { offsets, indices } = near;
    const values = (near.values as Tensor<'float64'>).reshape([-1]);
    const rest = points.map(([a = 0]) =>
      points.map(([b = 0]) => (Math.abs(a - b) <= 2 ? Math.exp(-Math.abs(a - b)) : 0)),
    );
    return [await sparseOperator({ offsets, indices, values, columns: 5 }), rest];
  },
  'a graph of nearest neighbours': async (device) => {
    const x = await float64(points, device);
    const nearest = await lazyI(x).sqdist(lazyJ(x)).argKMin(2, 'j');
    const graph = await sparseOperator({
      offsets: await tensor(Int32Array.of(0, 2, 4, 6, 8, 10), { device }),
      indices: nearest.reshape([10]),
      values: await full([10], 1, { device, dtype: 'float64' }),
      columns: 5,
    });
    const near = points.map(([a = 0]) => {
      const order = points
        .map(([b = 0], j) => [Math.abs(a - b), j] as const)
        .sort(([p], [q]) => p - q);
      return points.map((_, j) => Number(order.slice(0, 2).some(([, k]) => k === j)));
    });
    return [graph, near];
  },
  'a function': async (device) => {
    const s = await float64(S, device);
    const own = denseOperator(s);
    const rules = { matvec: own.matvec.bind(own), rmatvec: own.rmatvec.bind(own) };
    return [operator({ shape: [3, 3], dtype: 'float64', device, ...rules }), S];
  },
  'a sum': async (device) => [
    denseOperator(await float64(A, device)).add(denseOperator(await float64(B, device))),
    map(A, (one, i, j) => one + (B[i]?.[j] as number)),
  ],
  'a product': async (device) => [
    denseOperator(await float64(A, device)).matmul(denseOperator(await float64(T, device))),
    times(A, T),
  ],
  'a multiple': async (device) => [
    denseOperator(await float64(A, device)).scale(3),
    map(A, (one) => 3 * one),
  ],
  'a multiple by a tensor': async (device) => [
    denseOperator(await float64(S, device)).scale(await tensor(3, { device, dtype: 'float64' })),
    map(S, (one) => 3 * one),
  ],
  'a shift': async (device) => [
    denseOperator(await float64(S, device)).shift(2),
    map(S, (one, i, j) => (i === j ? one + 2 : one)),
  ],
  'a shift by a tensor': async (device) => [
    denseOperator(await float64(S, device)).shift(await tensor(2, { device, dtype: 'float64' })),
    map(S, (one, i, j) => (i === j ? one + 2 : one)),
  ],
  'a transpose': async (device) => [denseOperator(await float64(A, device)).t(), transposed(A)],
  'a matrix times its transpose': async (device) => [
    denseOperator(await float64(A, device)).gram(),
    times(A, transposed(A)),
  ],
  'blocks below one another': async (device) => [
    blockRows([denseOperator(await float64(A, device)), denseOperator(await float64(S, device))]),
    [...A, ...S],
  ],
  'blocks side by side': async (device) => [
    blockColumns([
      denseOperator(await float64(S, device)),
      denseOperator(await float64(T, device)),
    ]),
    S.map((row, i) => [...row, ...(T[i] ?? [])]),
  ],
  'a Kronecker product': async (device) => [
    kroneckerOperator(await float64(S, device), await float64(T, device)),
    S.flatMap((row) => T.map((other) => row.flatMap((a) => other.map((b) => a * b)))),
  ],
  'a Kronecker product of square matrices': async (device) => [
    kroneckerOperator(await float64(S, device), await float64(S, device)),
    S.flatMap((row) => S.map((other) => row.flatMap((a) => other.map((b) => a * b)))),
  ],
  'low rank and a diagonal': async (device) => [
    lowRankOperator(
      await float64(T, device),
      await tensor([1, 2, 3], { device, dtype: 'float64' }),
      await float64(matrixOf(3, 2, 5), device),
    ),
    map(times(T, transposed(matrixOf(3, 2, 5))), (one, i, j) => (i === j ? one + i + 1 : one)),
  ],
  'a sparse matrix': async (device) => [
    await sparseOperator({
      offsets: await tensor(Int32Array.of(0, 2, 2, 3), { device }),
      indices: await tensor(Int32Array.of(2, 0, 2), { device }),
      values: await tensor([5, 6, 7], { device, dtype: 'float64' }),
      columns: 3,
    }),
    [
      [6, 0, 5],
      [0, 0, 0],
      [0, 0, 7],
    ],
  ],
};

/** Every operator against its matrix. */
export function operatorsSuite(name: string, place: () => Device): void {
  describe(`operators on ${name}`, () => {
    it.each(Object.entries(CASES))('%s is its matrix', async (_, make) => {
      const device = place();
      const [found, matrix] = await make(device);
      const [rows, columns] = [matrix.length, matrix[0]?.length ?? 0];
      expect(found.shape).toEqual([rows, columns]);
      const [v, w] = [matrixOf(columns, 2, 7), matrixOf(rows, 2, 8)];
      const forwards = await nested(await found.matvec(await float64(v, device)));
      expect(difference(forwards, times(matrix, v))).toBeLessThan(1e-13);
      const back = await nested(await found.rmatvec(await float64(w, device)));
      expect(difference(back, times(transposed(matrix), w))).toBeLessThan(1e-13);
      const one = (await float64(v, device)).slice(null, 0);
      const single = await (await found.matvec(one)).toNested<number[]>();
      expect(difference([single], [forwards.map((row) => row[0] as number)])).toBeLessThan(1e-15);
      expect(difference(await nested(await found.dense()), matrix)).toBeLessThan(1e-13);
      const some = [rows - 1, 0];
      const chosen = some.map((row) => matrix[row] as readonly number[]);
      expect(difference(await nested(await found.rows(some)), chosen)).toBeLessThan(1e-13);
      const at = await tensor(Int32Array.from([...some, 0]), { device });
      const again = [...chosen, matrix[0] as readonly number[]];
      expect(difference(await nested(await found.rows(at)), again)).toBeLessThan(1e-13);
      const wide = await at.cast('int64');
      expect(difference(await nested(await found.rows(wide)), again)).toBeLessThan(1e-13);
      if (found.hasDiagonal && rows === columns) {
        const diagonal = await (await found.diagonal()).toNested<number[]>();
        expect(difference([diagonal], [matrix.map((row, i) => row[i] as number)])).toBeLessThan(
          1e-13,
        );
      }
    });

    it('which matrices of other matrices know their diagonal', async () => {
      const device = place();
      const known: string[] = [];
      for (const [name, make] of Object.entries(CASES)) {
        const [{ hasDiagonal, shape }] = await make(device);
        if (hasDiagonal && shape[0] === shape[1]) known.push(name);
      }
      expect(known).toContain('a Kronecker product of square matrices');
      expect(known).toContain('low rank and a diagonal');
    });

    it.each<[string, () => readonly number[] | Tensor, string]>([
      ['fractions', () => [0.5], 'INVALID_ARGUMENT'],
      ['what is no row', () => [3], 'INVALID_ARGUMENT'],
      ['no array', () => '0' as never, 'INVALID_ARGUMENT'],
      ['a typed array', () => Int32Array.of(0) as never, 'INVALID_ARGUMENT'],
    ])('rows refuses %s', async (_, indices, code) => {
      const found = denseOperator(await float64(S, place()));
      await expect(found.rows(indices() as number[])).rejects.toMatchObject({ code });
    });

    it('rows refuses tensors of other dtypes and shapes', async () => {
      const device = place();
      const found = denseOperator(await float64(S, device));
      const rows = (at: Tensor): Promise<unknown> => found.rows(at as Tensor<'int32'>);
      await expect(rows(await tensor([0], { device }))).rejects.toMatchObject({
        code: 'DTYPE_MISMATCH',
        message: expect.stringContaining('rows: indices are the') as string,
      });
      const wide = await tensor(Int32Array.of(0), { device });
      await expect(rows(wide.reshape([1, 1]))).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
    });

    it('what functions give for the diagonal and for rows is checked, and what they were given is not taken', async () => {
      const device = place();
      const where = { device, dtype: 'float64' } as const;
      const s = await float64(S, device);
      const make = (given: Partial<Parameters<typeof operator<'float64'>>[0]>) =>
        operator({ shape: [3, 3], ...where, matvec: (v) => v.mul(1), parameters: [s], ...given });
      const short = make({
        diagonal: () => full([2], 1, where),
        rows: () => full([1, 2], 1, where),
      });
      await expect(short.diagonal()).rejects.toMatchObject({
        code: 'SHAPE_MISMATCH',
        message: expect.stringContaining('diagonal: the operator gave float64 [2]') as string,
      });
      await expect(short.rows([0])).rejects.toMatchObject({
        code: 'SHAPE_MISMATCH',
        message: expect.stringContaining('rows: the operator gave float64 [1, 2]') as string,
      });
      const other = make({ diagonal: () => full([3], 1, { device, dtype: 'float32' }) });
      await expect(other.diagonal()).rejects.toMatchObject({ code: 'DTYPE_MISMATCH' });
      const nothing = make({ rows: () => Promise.resolve(undefined as never) });
      await expect(nothing.rows([0])).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      const borrowed = make({ rows: (_, [a]) => Promise.resolve(a as Tensor) });
      (await borrowed.rows([0, 1, 2])).dispose();
      expect(difference(await nested(s), S)).toBe(0);
    });

    it('products keep no memory', async () => {
      const device = place();
      for (const [name, make] of Object.entries(CASES)) {
        const [found] = await make(device);
        const { shape } = found;
        using v = await float64(matrixOf(shape[1], 2), device);
        using w = await float64(matrixOf(shape[0], 2), device);
        const work = async (): Promise<void> => {
          for (const made of [await found.matvec(v), await found.rmatvec(w), await found.rows([0])])
            made.dispose();
          if (found.hasDiagonal && shape[0] === shape[1]) (await found.diagonal()).dispose();
        };
        await work();
        expect({ name, ...(await memoryKept(device, work)) }).toEqual({ name, ...NOTHING });
      }
    });
  });
}
