// What is timed on both executors of the CPU: a name, and how to make the call that is repeated.
import { importPackage } from '../lib/workspace.mjs';

/** @type {any} */
const core = await importPackage('core');
const { cdist, cdistBackward, genred, kernels, lazyI, lazyJ, rangesFromMatrix } = core;

/** Numbers in [0, 1), the same in both processes. */
const points = async (
  /** @type {number} */ rows,
  /** @type {number} */ columns,
  dtype = 'float32',
  seed = 1,
) => {
  let state = seed;
  const next = () => (state = (state * 16807) % 2147483647) / 2147483647;
  const values = Float64Array.from({ length: rows * columns }, next);
  return core.tensor(values, { shape: [rows, columns], dtype, device: 'cpu' });
};

const GAUSSIAN = 'Exp(-SqDist(x, y))';
const DISTANCE = 'SqDist(x, y)';
const NEGATIVE = '-SqDist(x, y)';

/**
 * A reduction of a formula of x (rows, D), y (columns, D) and, where `weight` is given, b (columns, weight).
 *
 * @param {string} name
 * @param {{ rows: number, columns?: number, dim: number, weight?: number, formula: string }} problem
 * @param {Record<string, unknown>} options
 */
const reduced = (name, { rows, columns = rows, dim, weight, formula }, options = {}) => ({
  name: `${name}, ${rows} x ${columns}, D = ${dim}`,
  async prepare() {
    const x = await points(rows, dim);
    const y = await points(columns, dim, 'float32', 2);
    const weights = weight === undefined ? [] : [await points(columns, weight)];
    const variables = [`x = Vi(${dim})`, `y = Vj(${dim})`];
    if (weight !== undefined) variables.push(`b = Vj(${weight})`);
    const settings = { reduction: 'Sum', axis: 'j', ...options };
    const call = genred(formula, variables, settings);
    return () => call(x, y, ...weights);
  },
});

/** @type {(name: string, prepare: () => Promise<() => Promise<unknown>>) => { name: string, prepare: typeof prepare }} */
const called = (name, prepare) => ({ name, prepare });

const distances = (/** @type {number} */ p) =>
  called(`distances p = ${p}, 2000 x 2000 x 64`, async () => {
    const [a, b] = [await points(2000, 64), await points(2000, 64, 'float32', 2)];
    return () => cdist(a, b, { p });
  });

const distanceGradients = (
  /** @type {number} */ p,
  /** @type {'float32' | 'float64'} */ dtype = 'float32',
) =>
  called(`gradient of distances p = ${p}, 1000 x 1000 x 64, ${dtype}`, async () => {
    const [a, b] = [await points(1000, 64, dtype), await points(1000, 64, dtype, 2)];
    const upstream = await points(1000, 1000, dtype);
    return () => cdistBackward(upstream, a, b, { p, wrt: ['a'] });
  });

/** Every row of the table, in its order. */
export const ROWS = [
  ...[1, 2, 3, 1.3].map(distances),
  called('Gaussian of distances, 2000 x 2000 x 64', async () => {
    const [a, b] = [await points(2000, 64), await points(2000, 64, 'float32', 2)];
    return () => core.runKernel(kernels.gaussian, a, b, { bandwidth: 3 });
  }),
  distanceGradients(2),
  distanceGradients(2, 'float64'),
  distanceGradients(3),
  called('gradient of a Gaussian of distances, 1000 x 1000 x 64', async () => {
    const [a, b] = [await points(1000, 64), await points(1000, 64, 'float32', 2)];
    const upstream = await points(1000, 1000);
    return () =>
      core.runKernelBackward(kernels.gaussian, upstream, a, b, { bandwidth: 3, wrt: ['a'] });
  }),
  reduced('Gaussian sums', { rows: 6000, dim: 3, formula: GAUSSIAN }),
  reduced('Gaussian sums', { rows: 3000, dim: 16, formula: GAUSSIAN }),
  reduced('Gaussian sums', { rows: 2000, dim: 64, formula: GAUSSIAN }),
  reduced('Gaussian sums', { rows: 1000, dim: 256, formula: GAUSSIAN }),
  reduced('Gaussian sums', { rows: 500, dim: 784, formula: GAUSSIAN }),
  reduced('weighted Gaussian sums', { rows: 6000, dim: 3, weight: 1, formula: `${GAUSSIAN} * b` }),
  reduced('ten weighted sums', { rows: 3000, dim: 3, weight: 10, formula: `${GAUSSIAN} * b` }),
  reduced('gradient of weighted sums', {
    rows: 3000,
    dim: 3,
    weight: 1,
    formula: `Grad(${GAUSSIAN} * b, x, IntCst(1))`,
  }),
  ...[10, 20, 28, 100].map((dim) =>
    reduced('gradient of weighted sums', {
      rows: 2000,
      dim,
      weight: 1,
      formula: `Grad(${GAUSSIAN} * b, x, IntCst(1))`,
    }),
  ),
  reduced('Laplacian sums', { rows: 6000, dim: 3, formula: 'Exp(-Norm2(x - y))' }),
  reduced('Cauchy sums', { rows: 6000, dim: 3, formula: 'Inv(IntCst(1) + SqDist(x, y))' }),
  reduced('squares of 1 + x.y', { rows: 4000, dim: 8, formula: 'Square((x | y) + IntCst(1))' }),
  reduced('sums of sin of a distance', { rows: 4000, dim: 3, formula: 'Sin(SqDist(x, y))' }),
  called('compensated Gaussian sums, 4000 x 4000, D = 3', async () => {
    const [x, y] = [lazyI(await points(4000, 3)), lazyJ(await points(4000, 3, 'float32', 2))];
    return () => x.sqdist(y).neg().exp().sum('j', { sumScheme: 'kahan' });
  }),
  called('Gaussian sums of float16 points, 4000 x 4000, D = 3', async () => {
    const x = lazyI(await points(4000, 3, 'float16'));
    const y = lazyJ(await points(4000, 3, 'float16', 2));
    return () => x.sqdist(y).neg().exp().sum('j');
  }),
  called('Gaussian sums over a third of the pairs of blocks, 4000 x 4000, D = 3', async () => {
    const blocks = 20;
    const bounds = Array.from({ length: blocks }, (_, n) => [n * 200, (n + 1) * 200]);
    const keep = Array.from({ length: blocks }, (_, r) =>
      Array.from({ length: blocks }, (_, c) => ((r + c) % 3 === 0 ? 1 : 0)),
    );
    const ranges = rangesFromMatrix(bounds, bounds, keep);
    const [x, y] = [lazyI(await points(4000, 3)), lazyJ(await points(4000, 3, 'float32', 2))];
    return () => x.sqdist(y).neg().exp().sum('j', { ranges });
  }),
  called('pairs nearer than a bound, 4000 x 4000, D = 3', async () => {
    const [x, y] = [lazyI(await points(4000, 3)), lazyJ(await points(4000, 3, 'float32', 2))];
    return () => x.sqdist(y).le(0.02).nonzero('j');
  }),
  reduced('log-sum-exp', { rows: 6000, dim: 3, formula: NEGATIVE }, { reduction: 'LogSumExp' }),
  reduced(
    'softmax of two columns',
    { rows: 6000, dim: 3, weight: 2, formula: NEGATIVE },
    { reduction: 'SumSoftMaxWeight', formula2: 'b' },
  ),
  reduced('variance', { rows: 3000, dim: 3, formula: DISTANCE }, { reduction: 'Var' }),
  reduced('least value', { rows: 6000, dim: 3, formula: DISTANCE }, { reduction: 'Min' }),
  reduced('least of columns', { rows: 3000, dim: 5, formula: 'x - y' }, { reduction: 'Min' }),
  reduced(
    'row of the least value',
    { rows: 6000, dim: 3, formula: DISTANCE },
    { reduction: 'ArgMin' },
  ),
  reduced(
    'nearest centre',
    { rows: 20000, columns: 100, dim: 10, formula: DISTANCE },
    { reduction: 'ArgMin' },
  ),
  ...[5, 10, 20].map((k) =>
    reduced(
      `the ${k} nearest`,
      { rows: 6000, dim: 3, formula: DISTANCE },
      { reduction: 'ArgKMin', k },
    ),
  ),
];
