import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { isTraced } from '@mercer/tensor/operation';
import {
  cdist,
  clusterRanges,
  denseOperator,
  complexOf,
  gatherRows,
  genericSum,
  grad,
  gradient,
  gridCluster,
  hessian,
  isPending,
  jacobian,
  kernels,
  kernelSolve,
  kron,
  lazyI,
  lazyJ,
  matmul,
  runKernel,
  tensor,
  weightedDifferences,
  type PendingTensor,
  type Tensor,
} from './index.js';

beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
afterAll(() => vi.unstubAllEnvs());

const where = { device: 'cpu' } as const;
const x = tensor(
  [
    [0, 0],
    [3, 4],
  ],
  where,
);

it('every operation whose result is one tensor gives it with its methods', async () => {
  const a = await x;
  const xi = lazyI(a);
  const distances = xi.sqdist(lazyJ(a));
  const index = await tensor(Int32Array.of(1, 0), where);
  const operator = denseOperator(a);
  const results = {
    cdist: cdist(a, a),
    runKernel: runKernel(kernels.gaussian, a, { bandwidth: 5 }),
    weightedDifferences: weightedDifferences(a, a, a, a),
    matmul: matmul(a, a),
    kron: kron(a, a),
    gatherRows: gatherRows(a, index),
    sum: distances.sum('j'),
    logSumExp: distances.logSumExp('j'),
    argMin: distances.argMin('i'),
    kMin: distances.kMin(1, 'j'),
    lazyMatmul: distances.matmul(a),
    toDense: distances.toDense(),
    diag: distances.diag(),
    call: distances.reduction('Sum', 'j').call(),
    gradient: gradient(distances.reduction('Sum', 'j'), xi, [[1], [1]]),
    genred: genericSum('SqDist(x, y)', 'a = Vi(1)', ['x = Vi(2)', 'y = Vj(2)'])(a, a),
    solve: distances.neg().exp().solve(a),
    kernelSolve: kernelSolve(
      'Exp(-SqDist(x, y)) * b',
      ['x = Vi(2)', 'y = Vj(2)', 'b = Vj(1)'],
      'b',
      {
        axis: 'j',
      },
    )([a, a, a.slice(null, [0, 1])]),
    matvec: operator.matvec(a),
    rmatvec: operator.rmatvec(a),
    diagonal: operator.diagonal(),
    rows: operator.rows([1]),
    dense: operator.dense(),
    gridCluster: gridCluster(a, 1),
    clusterRanges: clusterRanges(index),
    jacobian: jacobian((w: Tensor<'float32'>) => w.square())(a),
    hessian: hessian((w: Tensor<'float32'>) => w.pow(3).sum())(a),
  };
  for (const [name, result] of Object.entries<PendingTensor>(results)) {
    expect(isPending(result), name).toBe(true);
    expect(await result.toNested(), name).toEqual(await (await result).toNested());
  }
  expect(isPending(distances.minArgMin('j'))).toBe(false);
  expect((await distances.minArgMin('j')).indices.shape).toEqual([2, 1]);
});

it('chains of results need one await', async () => {
  expect(await cdist(await x, await x).toNested()).toEqual([
    [0, 5],
    [5, 0],
  ]);
  expect(await x.matmul(x.transpose()).sumTo([]).item()).toBe(25);
  const a = await x;
  expect(await lazyI(a).sqdist(lazyJ(a)).sum('j').transpose().toNested()).toEqual([[25, 25]]);
});

it('refuses what its operation refuses', async () => {
  const a = await x;
  await expect(cdist(a, [[1, 2, 3]]).toNested()).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
  await expect(
    a
      .matmul(x.reshape([4]))
      .transpose()
      .toNested(),
  ).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
});

it('what is computed of a traced value is known to be traced', async () => {
  const a = await x;
  const known: boolean[] = [];
  const gradients = await grad(async (w: Tensor<'float32'>) => {
    const solve = kernelSolve(
      'Exp(-SqDist(x, y)) * b',
      ['x = Vi(2)', 'y = Vj(2)', 'b = Vj(2)'],
      'b',
      {
        axis: 'j',
      },
    );
    const kernel = lazyI(a).sqdist(lazyJ(a)).neg().exp();
    const results = [
      denseOperator(w).matvec(a),
      denseOperator(a).rmatvec(w),
      denseOperator(w).diagonal(),
      kernel.solve(w),
      solve([a, a, w]),
      kernel.matmul(denseOperator(a).matvec(w)),
    ];
    known.push(...results.map(isTraced));
    return results.map((one): PendingTensor => one.sum()).reduce((sum, one) => sum.add(one));
  })(a);
  expect(known).toEqual(known.map(() => true));
  expect(gradients.shape).toEqual([2, 2]);
});

it('a product with a symbolic matrix waits for its operand, with its place among other calls', async () => {
  const a = await x;
  const distances = lazyI(a).sqdist(lazyJ(a)); // 0 and 25
  expect(await distances.matmul(a.mul(2)).toNested()).toEqual([
    [150, 200],
    [0, 0],
  ]);
  expect(await distances.matmul(a.sum(1)).toNested()).toEqual([175, 0]);
  expect(
    await complexOf(lazyI([[0, 1]]))
      .mul(complexOf(lazyJ(a)))
      .matmul(a.mul(1))
      .toNested(),
  ).toEqual(
    await complexOf(lazyI([[0, 1]]))
      .mul(complexOf(lazyJ(a)))
      .matmul(a)
      .toNested(),
  );
  for (const later of [false, true]) {
    const [b, c] = [await a.clone(), await a.clone()];
    // the first is made of several calls, the second of one
    const operand = later ? denseOperator(b).matvec(a) : b.matmul(a);
    const found = lazyI(c).sqdist(lazyJ(a)).matmul(operand);
    c.dispose();
    b.dispose();
    expect(await found.toNested()).toEqual([
      [300, 400],
      [0, 0],
    ]);
  }
  const c = await a.clone();
  const found = lazyI(c).sqdist(lazyJ(a)).matmul(a.matmul(a));
  const filled = c.fill(0);
  expect(await found.toNested()).toEqual([
    [300, 400],
    [0, 0],
  ]);
  await filled;
  await expect(distances.matmul(cdist(a, [[1, 2, 3]]))).rejects.toMatchObject({
    code: 'SHAPE_MISMATCH',
  });
});
