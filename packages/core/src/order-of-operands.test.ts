import { describe, expect, it } from 'vitest';
import {
  argSort,
  cdist,
  cdistBackward,
  complexOf,
  concat,
  cpu,
  einsum,
  formula,
  gatherRows,
  genred,
  kernels,
  kron,
  kronMatvec,
  lazyI,
  lazyJ,
  map,
  matmul,
  runKernel,
  scatterAdd,
  solveLU,
  sort,
  stopGradient,
  takeAlongAxis,
  tensor,
  unsafeKernel,
  weightedDifferences,
  type Pending,
  type Tensor,
} from './index.js';

/*
 * A call that waits for one operand reads the others as they are where it stands, and its result has that place: what is written before anything is awaited
 * is written behind it. The shapes of each test are new, so that no call is like one before and made at once.
 */

type Matrix = Tensor<'float32'>;
type Given = Pending<Matrix> | Matrix;

const where = { device: 'cpu' } as const;
let side = 6;

const waves = (size: number, seed: number): Float32Array =>
  Float32Array.from({ length: size }, (_, i) => Math.sin(3.7 * i + seed));
const matrix = (seed: number): Promise<Matrix> =>
  tensor(waves(side * side, seed), { ...where, shape: [side, side] });

const [x, y] = [formula.variable('x'), formula.variable('y')];
const xy = formula.mul(x, y);
const products = unsafeKernel({
  name: 'products',
  parameters: {
    x: { input: 'float32' },
    y: { input: 'float32' },
    z: { output: 'float32' },
    n: { size: 'int64' },
  },
  sizes: ({ x }) => ({ z: x.shape, n: x.size }),
  launch: ({ n }) => ({ grid: Math.ceil(n / 256), block: 256, tasks: n }),
  cuda: `
    const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] * y[i];`,
  cpu: { helpers: '', body: `for (i64 i = begin; i < end; ++i) z[i] = x[i] * y[i];` },
});

/** Results of an operand that is not there and one that will be overwritten. */
const CALLS: Readonly<Record<string, (p: Given, other: Matrix) => Promise<Tensor>>> = {
  matmul: (p, other) => matmul(p, other),
  'matmul, as a method': (p, other) => p.matmul(other),
  'matmul by it': (p, other) => matmul(other, p),
  cdist: (p, other) => cdist(p as Matrix, other),
  runKernel: (p, other) => runKernel(kernels.gaussian, p as Matrix, other, { bandwidth: 2 }),
  einsum: (p, other) => einsum('ij,jk,ki->k', [p, other, other]),
  map: (p, other) => map(xy, { x: p, y: other }),
  'map, several': async (p, other) => (await map({ xy, x }, { x: p, y: other })).xy,
  'map of lists': async (p, other) =>
    (await map(xy, { x: [p, p], y: [other, other] }))[1] as Tensor,
  kron: (p, other) => kron(p, other),
  kronMatvec: (p, other) => kronMatvec(p, other, other.reshape([side * side])),
  solveLU: async (p, other) => (await solveLU(p.add(other), other)).x,
  'argSort, taken': (p, other) => takeAlongAxis(other, argSort(p, 1), 1),
  sort: (p, other) => sort(p.sub(other)),
  concat: (p, other) => concat([p, other]),
  gatherRows: (p, other) => gatherRows(other, p.argMax(1) as never),
  scatterAdd: (p, other) => scatterAdd(p as Matrix, other.argMax(1) as never, side),
  cdistBackward: async (p, other) => (await cdistBackward(p as Matrix, other, other)).a,
  weightedDifferences: (p, other) => weightedDifferences(p as Matrix, other, other, other),
  'a reduction': (p, other) => p.mul(other).logSumExp(1),
  stopGradient: (p, other) => stopGradient(p).mul(other),
};
const hasCompiler = await cpu.findCompiler().then(
  () => true,
  () => false,
);
const COMPILED: typeof CALLS = {
  unsafeKernel: (p, other) => products({ x: p, y: other }),
};

const numbersOf = async (result: Promise<Tensor>): Promise<readonly number[]> =>
  Array.from((await (await result).toTypedArray()) as Float32Array);

async function check(call: (typeof CALLS)[string]): Promise<void> {
  side++;
  const other = await matrix(2);
  // a product of this shape is the first, so that the operand is not there for a while
  const operand = (): Given => matmul(first.mul(0.5), second);
  const [first, second] = [await matrix(0), await matrix(1)];
  const result = call(operand(), other);
  const sum = result.then((one) => one);
  const written = other.fill(5);
  const found = await numbersOf(sum);
  await written;
  const expected = await numbersOf(call(await operand(), await matrix(2)));
  const off = found.map((one, at) => Math.abs(one - (expected[at] ?? NaN)));
  expect(Math.max(...off)).toBeLessThan(1e-3);
}

const LEAST = { maxBytes: 200_000 };
/** Symbolic reductions of two matrices in blocks of rows. */
const IN_BLOCKS: Readonly<Record<string, (x: Matrix, y: Matrix) => Pending<Matrix>>> = {
  matmul: (x, y) => lazyI(x).sqdist(lazyJ(y)).neg().exp().matmul(y, LEAST),
  sum: (x, y) => lazyI(x).sub(lazyJ(y)).sum('j', LEAST),
  logSumExp: (x, y) => lazyI(x).sqdist(lazyJ(y)).neg().logSumExp('j', LEAST),
  histogram: (x, y) =>
    lazyI(x)
      .sqdist(lazyJ(y))
      .histogram('j', { bins: 3, range: [0, 9], ...LEAST }),
  complex: (x, y) =>
    complexOf(lazyI(x))
      .mul(complexOf(lazyJ(y)))
      .matmul(y, LEAST),
  'a reduction of a formula': (x, y) =>
    lazyI(x).sub(lazyJ(y)).reduction('Sum', 'j').call([], LEAST),
  genred: (x, y) =>
    genred('Exp(-SqDist(x, y))', [`x = Vi(${side})`, `y = Vj(${side})`], { axis: 'j' })(
      x,
      y,
      LEAST,
    ),
};

describe('beside an operand that is not there yet', () => {
  it.each(Object.entries(CALLS))('%s reads the other before it is overwritten', async (_, call) => {
    await check(call);
  });
  it.skipIf(!hasCompiler)(
    'unsafeKernel reads the other before it is overwritten (skipped only where no C++ compiler is found)',
    async () => {
      await check(COMPILED['unsafeKernel'] as (typeof CALLS)[string]);
    },
  );

  it('a call in blocks resolves, whatever is written behind it', { timeout: 20_000 }, async () => {
    side = 300;
    const [first, other] = [await matrix(0), await matrix(1)];
    // sorting has its place before it is there
    const distances = cdist(sort(first), other, { maxBytes: 400_000 });
    const written = [other.fill(5), first.fill(5)];
    expect((await distances).shape).toEqual([side, side]);
    await Promise.all(written);
  });

  it(
    'a symbolic product in blocks resolves, whatever is written behind it',
    { timeout: 20_000 },
    async () => {
      side = 60;
      const [first, other] = [await matrix(0), await matrix(1)];
      const sums = lazyI(other)
        .sqdist(lazyJ(other))
        .neg()
        .exp()
        .matmul(sort(first), { maxBytes: 200_000 });
      const written = other.fill(5);
      expect((await sums).shape).toEqual([side, side]);
      await written;
    },
  );

  it.each(Object.entries(IN_BLOCKS))(
    '%s in blocks resolves, though a product waits for it and a write for the product',
    async (_, reduce) => {
      side = 60;
      const [x, y] = [await matrix(0), await matrix(1)];
      const reduced = reduce(x, y);
      const product = matmul(reduced, x, { transposeA: true });
      const written = x.fill(0.5);
      expect((await product).shape.at(-1)).toBe(side);
      await written;
    },
    20_000,
  );
});
