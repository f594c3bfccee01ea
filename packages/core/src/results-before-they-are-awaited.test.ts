import { expect, it } from 'vitest';
import {
  cdist,
  gatherRows,
  genericSum,
  gradient,
  isPending,
  kernels,
  kron,
  lazyI,
  lazyJ,
  matmul,
  runKernel,
  tensor,
  weightedDifferences,
} from './index.js';

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
  };
  for (const [name, result] of Object.entries(results)) {
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
