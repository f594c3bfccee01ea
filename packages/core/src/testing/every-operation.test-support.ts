import * as mercer from '../index.js';
import * as npy from '../npy.js';
import { negated } from './negated.test-support.js';

/** One call of a public operation by its name; what it gives is compared bit by bit. */
export type Operation = readonly [name: string, call: () => unknown];

const { tensor, lazyI, lazyJ, formula } = mercer;

const values = (count: number, step: number): Float32Array =>
  Float32Array.from({ length: count }, (_, at) => ((at * step) % 17) / 8 - 0.5);

/** Calls of every public operation that runs on the CPU, with no options where there may be none. */
export async function operations(): Promise<readonly Operation[]> {
  const cpu = { device: 'cpu' } as const;
  const x = await tensor(values(15, 7), { shape: [5, 3], ...cpu });
  const y = await tensor(values(12, 5), { shape: [4, 3], ...cpu });
  const a = await tensor(values(6, 7), { shape: [2, 3], ...cpu });
  const b = await tensor(values(8, 5), { shape: [4, 2], ...cpu });
  const c = await tensor(values(10, 3), { shape: [5, 2], ...cpu });
  const d = await tensor(values(12, 11), { shape: [4, 3], ...cpu });
  const g = await tensor(values(20, 3), { shape: [5, 4], ...cpu });
  const weights = await tensor(values(4, 3), { shape: [4, 1], ...cpu });
  const vector = await tensor(values(4, 9), { ...cpu });
  const mask = await tensor(Uint8Array.of(1, 0, 1, 1, 0), { dtype: 'bool', ...cpu });
  const row = await tensor(Int32Array.of(0, 1, 2, 1, 0), { ...cpu });
  const spd = await tensor(Float64Array.of(4, 1, 0.5, 1, 5, 1, 0.5, 1, 6), {
    shape: [3, 3],
    ...cpu,
  });
  const right = await tensor(Float64Array.of(1, 2, 3, 4, 5, 6), { shape: [3, 2], ...cpu });
  const tall = await tensor(Float64Array.of(1, 2, 3, 4, 5, 7), { shape: [3, 2], ...cpu });
  const small = await tensor(Float64Array.of(2, 1, 1, 3), { shape: [2, 2], ...cpu });
  const xi = lazyI(x, { name: 'x' });
  const yj = lazyJ(y, { name: 'y' });
  const distance = xi.sqdist(yj);
  const gaussian = distance.neg().exp();
  const sum = gaussian.mul(lazyJ(weights, { name: 'w' })).reduction('Sum', 'j');
  const one = formula.variable('d');
  const ranges = {
    rangesI: [
      [0, 2],
      [2, 5],
    ],
    slicesI: [1, 2],
    redrangesJ: [
      [0, 2],
      [1, 4],
    ],
    rangesJ: [[0, 4]],
    slicesJ: [1],
    redrangesI: [[0, 5]],
  };
  const upstream = await tensor(values(5, 3), { shape: [5, 1], ...cpu });
  const named = (name: string, ...args: readonly unknown[]): Operation => [
    `LazyTensor.${name}(${args.map(String).join(', ')})`,
    () => (distance as unknown as Record<string, Method>)[name]?.(...args),
  ];
  const factor = await mercer.cholesky(spd);
  return [
    ['tensor', () => tensor([[1, 2]], cpu)],
    ['zeros', () => mercer.zeros([2], cpu)],
    ['full', () => mercer.full([2], 3, cpu)],
    ['cast', () => x.cast('float64')],
    ['clone', () => x.clone()],
    ['contiguous', () => x.transpose().contiguous()],
    ['to', () => x.to('cpu')],
    ['fill', async () => (await x.clone()).fill(2)],
    ['copyFrom', async () => (await x.clone()).copyFrom(x)],
    ['toNested', () => x.toNested()],
    ['gt', () => x.gt(0)],
    ['pow', () => x.pow(2)],
    ['where', () => mercer.where(x.gt(0), x, 0)],
    ['int32 arithmetic', () => row.add(row).mul(3)],
    ['softmax', () => x.softmax()],
    ['std', () => x.std(0)],
    ['norm', () => spd.norm()],
    ['logSumExp', () => x.logSumExp()],
    ['map', () => mercer.map(formula.exp(formula.variable('a')), { a: x })],
    // the interpreter runs no text of a user
    ...(process.env['MERCER_CPU'] === 'interpreted'
      ? []
      : [['unsafeKernel', () => negated({ x })] as const]),
    ['sumTo', () => mercer.sumTo(x, [3])],
    ['scatterAdd', () => mercer.scatterAdd(x, row, 3)],
    ['countRows', () => mercer.countRows(row, 3)],
    ['take', () => mercer.take(x, row, 0)],
    ['take of numbers', () => mercer.take(x, [0, -1], 1)],
    ['takeAlongAxis', () => mercer.takeAlongAxis(x, [[0]], 1)],
    ['cumSum', () => mercer.cumSum(x, 0)],
    ['topK', () => mercer.topK(x, 2)],
    ['index', () => mercer.index(x, [row, [0]])],
    ['unique', () => mercer.unique(x)],
    ['sort', () => mercer.sort(x, 0)],
    ['argSort', () => mercer.argSort(x)],
    ['compress', () => mercer.compress(x, mask, 0)],
    ['gatherRows', () => mercer.gatherRows(x, row)],
    ['cdist', () => mercer.cdist(x, y)],
    ['cdist p 1.3', () => mercer.cdist(x, y, { p: 1.3 })],
    ['cdist symmetric', () => mercer.cdist(x, x)],
    ['cdist.prepare', async () => (await mercer.cdist.prepare(x, y))(x, y)],
    ['weightedDifferences', () => mercer.weightedDifferences(a, b, c, d)],
    ['cdistBackward', () => mercer.cdistBackward(g, x, y)],
    ['runKernel', () => mercer.runKernel(mercer.kernels.gaussian, x, y, { bandwidth: 1.5 })],
    [
      'runKernel polynomial',
      () => mercer.runKernel(mercer.kernels.polynomial, x, y, { degree: 2, gamma: 1, offset: 1 }),
    ],
    [
      'runKernel matern',
      () =>
        mercer.runKernel(mercer.kernels.matern52, x, x, { bandwidth: 1.5, regularization: 0.1 }),
    ],
    [
      'runKernelBackward',
      () => mercer.runKernelBackward(mercer.kernels.gaussian, g, x, y, { bandwidth: 1.5 }),
    ],
    [
      'customKernel',
      () =>
        mercer.runKernel(
          {
            ...mercer.kernels.gaussian,
            kernel: mercer.customKernel(formula.exp(formula.neg(one))),
          } as never,
          x,
          y,
        ),
    ],
    [
      'genred',
      () =>
        mercer.genred('SqDist(x, y) * w', ['x = Vi(3)', 'y = Vj(3)', 'w = Vj(1)'])(x, y, weights),
    ],
    [
      'genred Sum_Reduction',
      () => mercer.genred('Sum_Reduction(Exp(-SqDist(x, y)), 0)', ['x = Vi(3)', 'y = Vj(3)'])(x, y),
    ],
    [
      'genericSum',
      () => mercer.genericSum('SqDist(x, y)', 'a = Vi(1)', ['x = Vi(3)', 'y = Vj(3)'])(x, y),
    ],
    [
      'genericLogSumExp',
      () => mercer.genericLogSumExp('SqDist(x, y)', 'a = Vi(1)', ['x = Vi(3)', 'y = Vj(3)'])(x, y),
    ],
    ['LazyReduction.call', () => sum.call()],
    ['LazyReduction.prepare', async () => (await sum.prepare())([])],
    ['ranges', () => sum.call([], { ranges } as never)],
    ['accumulate', () => sum.call([], { accumulate: 'float64' })],
    [
      'jointReduction',
      () => mercer.jointReduction({ sum, most: distance.reduction('ArgMax', 'j') }).call(),
    ],
    ['gradient', () => mercer.gradient(sum, 'x', upstream)],
    ['valueAndGradients', () => mercer.valueAndGradients(sum, { x: 'x', y: 'y' } as never)],
    ['matmul of a LazyTensor', () => gaussian.matmul(weights)],
    ['toDense', () => gaussian.toDense()],
    ['diag', () => xi.sqdist(lazyJ(x)).diag()],
    ['reduceMany', () => distance.reduceMany('j', { sum: 'Sum', least: 'ArgMin' } as never)],
    ['nonzero', () => distance.sub(1).relu().nonzero('j')],
    ['sumSoftMaxWeight', () => distance.sumSoftMaxWeight(lazyJ(weights), 'j')],
    ...['sum', 'prod', 'mean', 'any', 'all', 'count', 'var', 'logSumExp'].map((name) =>
      named(name, 'j'),
    ),
    ...['min', 'max', 'argMin', 'argMax', 'minArgMin', 'maxArgMax'].map((name) => named(name, 'i')),
    ...['kMin', 'argKMin', 'kMinArgKMin', 'kMax', 'argKMax', 'kMaxArgKMax'].map((name) =>
      named(name, 2, 'j'),
    ),
    ['complex', () => mercer.realToComplex(distance).sum('j')],
    ['cholesky', () => mercer.cholesky(spd)],
    ['conditionEstimate', () => mercer.conditionEstimate(spd)],
    ['refineEigenbasis', () => mercer.refineEigenbasis(spd, spd)],
    ['eigh', () => mercer.eigh(spd)],
    ['inv', () => mercer.inv(spd)],
    ['kron', () => mercer.kron(small, small)],
    [
      'kronMatvec',
      async () => mercer.kronMatvec(small, small, await tensor(new Float64Array(4).fill(2), cpu)),
    ],
    ['logdet', () => mercer.logdet(spd)],
    ['lstsq', () => mercer.lstsq(tall, right)],
    ['matmul', () => mercer.matmul(spd, right)],
    ['matrixPower', () => mercer.matrixPower(spd, 0.5)],
    ['qr', () => mercer.qr(tall)],
    ['svd', () => mercer.svd(tall)],
    ['solveCholesky', () => mercer.solveCholesky(spd, right)],
    ['solveLU', () => mercer.solveLU(spd, right)],
    ['solveTriangular', () => mercer.solveTriangular(spd, right)],
    ['choleskyBackward', () => mercer.choleskyBackward(spd, factor)],
    [
      'eighBackward',
      async () => {
        const { values: l, vectors } = await mercer.eigh(spd);
        return mercer.eighBackward({ vectors: spd }, { values: l, vectors });
      },
    ],
    ['invBackward', async () => mercer.invBackward(spd, await mercer.inv(spd))],
    [
      'kronBackward',
      async () => mercer.kronBackward(await mercer.kron(small, small), { a: small, b: small }),
    ],
    [
      'logdetBackward',
      async () =>
        mercer.logdetBackward(await tensor(new Float64Array([1]), { shape: [], ...cpu }), {
          a: spd,
        }),
    ],
    [
      'lstsqBackward',
      async () => {
        const { x: found } = await mercer.lstsq(tall, right);
        return mercer.lstsqBackward(found, { a: tall, b: right, x: found });
      },
    ],
    ['matmulBackward', () => mercer.matmulBackward(right, { a: spd, b: right })],
    ['matrixPowerBackward', () => mercer.matrixPowerBackward(spd, { a: spd }, 0.5)],
    [
      'qrBackward',
      async () => {
        const { q, r } = await mercer.qr(tall);
        return mercer.qrBackward({ r: small }, { q, r });
      },
    ],
    [
      'solveCholeskyBackward',
      async () => {
        const { x: found } = await mercer.solveCholesky(spd, right);
        return mercer.solveCholeskyBackward(right, { a: spd, x: found });
      },
    ],
    [
      'solveLUBackward',
      async () => {
        const { x: found } = await mercer.solveLU(spd, right);
        return mercer.solveLUBackward(right, { a: spd, x: found });
      },
    ],
    [
      'svdBackward',
      async () => {
        const found = await mercer.svd(tall);
        return mercer.svdBackward({ u: tall }, found);
      },
    ],
    [
      'solveTriangularBackward',
      async () => {
        const { x: found } = await mercer.solveTriangular(spd, right);
        return mercer.solveTriangularBackward(right, { a: spd, x: found });
      },
    ],
    [
      'formula',
      () =>
        formula.printFormula(
          formula.parseFormula('Exp(-SqDist(x, y))', ['x = Vi(3)', 'y = Vj(3)']),
        ),
    ],
    ['npy', () => npy.decodeNpy(npy.encodeNpy({ data: values(4, 3), shape: [2, 2] })).data],
    ['vector', () => vector.toTypedArray()],
  ];
}

/** Calls of every public function of operators and of clusters, on the CPU. */
export async function operatorsAndClusters(): Promise<readonly Operation[]> {
  const where = { device: 'cpu', dtype: 'float64' } as const;
  const key = mercer.random.key(1);
  const points = await tensor(values(15, 7), { shape: [5, 3], device: 'cpu' });
  const right = await tensor([1, 2, 3, 4, 5], where);
  const rows = await tensor([[0, 0.5], [2, 1], [0.25, 3], [7, 5], [2.5, 1]], where); // prettier-ignore
  const spd = await tensor(
    Array.from({ length: 5 }, (_row, i) =>
      Array.from({ length: 5 }, (_column, j) => (i === j ? 6 + i : 1 / (1 + i + j))),
    ),
    where,
  );
  const a = mercer.denseOperator(spd);
  const diagonal = await spd.diag();
  const two = await tensor([[2, 1], [1, 3]], where); // prettier-ignore
  const labels = await tensor(Int32Array.of(0, 2, 0, 1, 2), { device: 'cpu' });
  const matrix = lazyI(rows).sqdist(lazyJ(rows)).neg().exp();
  const numbers = await tensor(Int32Array.of(3, 0), { device: 'cpu' });
  const sparse = await lazyI(rows).sqdist(lazyJ(rows)).nonzero('j');
  const entries = await tensor(new Float64Array(sparse.indices.size).fill(2), where);
  const ranges = await mercer.clusterRanges(labels);
  const sorted = await mercer.sortClusters(rows, labels);
  const { centroids } = await mercer.clusterCentroids(sorted.rows, sorted.labels);
  const near = lazyI(centroids).sqdist(lazyJ(centroids)).le(4);
  const low = { rank: 2, shift: 0.5 };
  const stored = async (of: Promise<mercer.LinearOperator>) => (await of).dense();
  const foreign = mercer.operator({
    shape: [5, 5],
    ...where,
    matvec: (v) => spd.matmul(v),
    rmatvec: 'symmetric',
    rows: (at) => mercer.take(spd, at, 0),
  });
  return [
    ['cg', () => mercer.cg(a, right)],
    ['cg of blocks', () => mercer.cg(a, rows, { block: true })],
    ['minres', () => mercer.minres(a, right)],
    ['gmres', () => mercer.gmres(a, right)],
    ['lsqr', () => mercer.lsqr(a, right, { damp: 0.1 })],
    ['lsmr', () => mercer.lsmr(a, right)],
    ['LazyTensor.solve', () => matrix.solve(right, { alpha: 1 })],
    [
      'kernelSolve',
      () =>
        mercer.kernelSolve('Exp(-SqDist(x, y)) * b', ['x = Vi(2)', 'y = Vj(2)', 'b = Vj(1)'], 'b', {
          axis: 'j',
        })([rows, rows, right.reshape([5, 1])], { alpha: 1 }),
    ],
    ['eigsh', () => mercer.eigsh(a, { k: 1, key })],
    ['lobpcg', () => mercer.lobpcg(a, right.reshape([5, 1]))],
    ['lanczos', () => mercer.lanczos(a, { steps: 3, start: right })],
    ['trace', () => mercer.trace(a, { key })],
    ['logdet of an operator', () => mercer.logdet(a, { key })],
    ['jacobi', () => stored(mercer.jacobi(a))],
    ['nystrom', () => stored(mercer.nystrom(a, { ...low, key }))],
    ['pivotedCholesky', () => stored(mercer.pivotedCholesky(a, low))],
    ['eigenPro', () => stored(mercer.eigenPro(a, { ...low, key }))],
    ['falkon', () => stored(mercer.falkon(a, { rows: 9, penalty: 0.1 }))],
    ['storedOperator', () => stored(mercer.storedOperator(matrix.asOperator()))],
    [
      'sparseOperator',
      () => stored(mercer.sparseOperator({ ...sparse, values: entries, columns: 5 })),
    ],
    [
      'kernelOperator',
      () => stored(mercer.kernelOperator(mercer.kernels.gaussian, rows, { bandwidth: 2 })),
    ],
    ['lowRankOperator', () => mercer.lowRankOperator(rows, diagonal).matvec(right)],
    ['kroneckerOperator', () => mercer.kroneckerOperator(two, two).dense()],
    ['blockRows', () => mercer.blockRows([a, a.scale(2)]).matvec(right)],
    ['blockColumns', () => mercer.blockColumns([a, a.shift(2)]).rmatvec(right)],
    ['matvec', () => matrix.asOperator().matvec(right)],
    ['rmatvec', () => foreign.matmul(a).rmatvec(right)],
    ['diagonal', () => a.add(a.t()).diagonal()],
    ['rows', () => matrix.asOperator().rows([3, 0])],
    ['rows of numbers in a tensor', () => a.rows(numbers)],
    ['rows by a function of numbers in a tensor', () => foreign.rows(numbers)],
    ['dense', () => matrix.asOperator().dense()],
    ['gridCluster', () => mercer.gridCluster(points, 0.5)],
    ['kMeans', () => mercer.kMeans(points, 2, { key })],
    ['clusterRanges', () => mercer.clusterRanges(labels, { count: 3 })],
    ['clusterCentroids', () => mercer.clusterCentroids(rows, labels)],
    ['clusterCentroids with count', () => mercer.clusterCentroids(rows, labels, { count: 3 })],
    ['clusterRangesCentroids', () => mercer.clusterRangesCentroids(rows, labels, { count: 3 })],
    ['sortClusters', () => mercer.sortClusters(rows, labels)],
    ['fromMatrix', () => mercer.fromMatrix(ranges, ranges, near)],
    ['truncatedRanges', () => mercer.truncatedRanges(rows, rows, { cutoff: 1 })],
  ];
}

type Method = (...args: readonly unknown[]) => unknown;

/** What a call gives as text, with the bits of every number, or its error. */
export async function outcomeOf(call: () => unknown): Promise<string> {
  try {
    return await textOf(await call());
  } catch (error) {
    const { code, message } = error as Error & { readonly code?: unknown };
    return `${String(code)} ${message}`;
  }
}

async function textOf(value: unknown): Promise<string> {
  if (value instanceof mercer.Tensor) {
    const { buffer, byteOffset, byteLength } = (await value.toTypedArray()) as Float32Array;
    const bits = Buffer.from(buffer, byteOffset, byteLength).toString('hex');
    return `${value.dtype} [${value.shape.join(', ')}] ${bits}`;
  }
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex');
  }
  if (typeof value !== 'object' || value === null) return String(value);
  const parts = Object.keys(value).map(async (name) => {
    const part = (value as Record<string, unknown>)[name];
    return typeof part === 'function' ? '' : `${name}: ${await textOf(part)}`;
  });
  return (await Promise.all(parts)).join('; ');
}
