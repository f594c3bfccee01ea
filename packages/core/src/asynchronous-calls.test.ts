import { beforeAll, describe, expect, it, vi } from 'vitest';
import * as mercer from './index.js';
import { negated } from './testing/negated.test-support.js';

const { cdist, lazyI, lazyJ, tensor } = mercer;

interface Options {
  readonly stream: mercer.Stream;
  readonly out?: never;
}

/** A call on `x` (6, 4) and `square` (6, 6), which is positive definite; `out` is the shape of a result that it writes into. */
type Row = readonly [
  name: string,
  call: (options: Options) => Promise<unknown>,
  out?: readonly number[],
];

const cpu = mercer.device('cpu');
let table: readonly Row[] = [];

beforeAll(async () => {
  const numbers = (count: number): Float32Array =>
    Float32Array.from({ length: count }, (_, at) => Math.sin(at + 1));
  const make = (shape: number[], values?: Float32Array): Promise<mercer.Tensor<'float32'>> =>
    tensor(values ?? numbers(shape.reduce((a, b) => a * b, 1)), { shape, device: cpu });
  const x = await make([6, 4]);
  const square = await make(
    [6, 6],
    Float32Array.from({ length: 36 }, (_, at) => (at % 7 === 0 ? 9 : 1 / (1 + (at % 6) + at / 6))),
  );
  const symmetric = await make(
    [6, 6],
    Float32Array.from({ length: 36 }, (_, at) => (at % 7 === 0 ? 9 : 1)),
  );
  const [target, cotangent] = [await make([6, 4]), await make([6, 1])];
  const mask = await x.isFinite();
  const index = await tensor(Int32Array.of(0, 1, 0, 2, 1, 1), { device: cpu });
  const d = lazyI(x, { name: 'x' }).sqdist(lazyJ(x, { name: 'y' }));
  const sum = d.reduction('Sum', 'j');
  const prepared = await cdist.prepare(x, x);
  const preparedSum = await sum.prepare();
  const product = await mercer.matmul.prepare(square, x);
  const solve = await mercer.solveLU.prepare(square, x);
  const joint = mercer.jointReduction({ sum, least: d.reduction('ArgMin', 'j') });
  const kernel = mercer.kernels.gaussian;
  const width = { bandwidth: 1 };
  const key = mercer.random.key(1);
  const a = mercer.formula.variable('a');
  table = [
    ['clone', (o) => x.clone(o), [6, 4]],
    ['cast', (o) => x.cast('float64', o)],
    ['contiguous', (o) => x.transpose().contiguous(o)],
    ['copyFrom', (o) => target.copyFrom(x, o)],
    ['fill', (o) => target.fill(1, o)],
    ['fill of a view', (o) => target.slice(null, [0, 2]).fill(1, o)],
    ['full', (o) => mercer.full([3], 2, o)],
    ['map', (o) => mercer.map(mercer.formula.exp(a), { a: x }, o), [6, 4]],
    ['unsafeKernel', (o) => negated({ x }, o), [6, 4]],
    ['sumTo', (o) => mercer.sumTo(x, [1, 4], o)],
    ['add', (o) => x.add(1, o), [6, 4]],
    ['a chain', (o) => x.add(1).square().mul(x, o), [6, 4]],
    ['sum', (o) => x.sum(0, o), [4]],
    ['sum of a chain', (o) => x.add(1).square().sum(1, o), [6]],
    ['argMax', (o) => x.argMax(1, o)],
    ['var', (o) => x.var(0, o), [4]],
    ['std', (o) => x.std(0, { ...o, correction: 1 }), [4]],
    ['norm', (o) => x.norm(1, o), [6]],
    ['norm of order Infinity', (o) => x.norm(1, { ...o, ord: Infinity }), [6]],
    ['logSumExp', (o) => x.logSumExp(1, o), [6]],
    ['std of whole numbers', (o) => index.std(0, o), []],
    ['countRows', (o) => mercer.countRows(index, 3, o)],
    ['arange', (o) => mercer.arange(0, 3, 1, o)],
    ['linspace', (o) => mercer.linspace(0, 1, 3, o)],
    ['eye', (o) => mercer.eye(3, o)],
    ['diag', (o) => mercer.diag(x.slice(0), 1, o)],
    ['oneHot', (o) => mercer.oneHot(index, 3, o), [6, 3]],
    ['random.uniform', (o) => mercer.random.uniform([2], { key, ...o })],
    ['random.normal', (o) => mercer.random.normal([2], { key, ...o })],
    ['random.permutation', (o) => mercer.random.permutation(9, { key, ...o })],
    ['random.choice', (o) => mercer.random.choice(9, [2], { key, ...o })],
    ['concat', (o) => mercer.concat([x, x], 1, o)],
    ['stack', (o) => mercer.stack([x, x], 1, o)],
    ['tile', (o) => mercer.tile(x, 2, o), [6, 8]],
    ['pad', (o) => mercer.pad(x, [1, 0], o)],
    ['take', (o) => mercer.take(x, index, 0, o), [6, 4]],
    ['takeAlongAxis', (o) => mercer.takeAlongAxis(x, index.reshape([-1, 1]), 0, o)],
    ['take of numbers', (o) => mercer.take(x, [0, -1, 1], 0, o), [3, 4]],
    ['compress', (o) => mercer.compress(x, mask, undefined, o), [24]],
    ['index', (o) => mercer.index(x, [index, null], o), [6, 4]],
    ['unique', (o) => mercer.unique(x, o)],
    ['cumSum', (o) => mercer.cumSum(x, 0, o), [6, 4]],
    ['topK', (o) => mercer.topK(x, 2, 0, o)],
    ['sort', (o) => mercer.sort(x, 0, o), [6, 4]],
    ['argSort', (o) => mercer.argSort(x, 0, o)],
    ['gatherRows', (o) => mercer.gatherRows(x, index, o), [6, 4]],
    ['scatterAdd', (o) => mercer.scatterAdd(x, index, 3, o)],
    ['cdist', (o) => cdist(x, x, o), [6, 6]],
    ['a prepared cdist', (o) => Promise.resolve(prepared(x, x, o)), [6, 6]],
    [
      'weightedDifferences',
      (o) => mercer.weightedDifferences(square, x.transpose(), x.transpose(), x.transpose(), o),
    ],
    ['cdistBackward', (o) => mercer.cdistBackward(square, x, x, o)],
    ['runKernel', (o) => mercer.runKernel(kernel, x, x, { ...width, ...o }), [6, 6]],
    [
      'runKernelBackward',
      (o) => mercer.runKernelBackward(kernel, square, x, x, { ...width, ...o }),
    ],
    ['LazyTensor.sum', (o) => d.sum('j', o), [6, 1]],
    ['LazyTensor.kMinArgKMin', (o) => d.kMinArgKMin(2, 'j', o)],
    ['LazyTensor.matmul', (o) => d.matmul(x, o), [6, 4]],
    ['LazyTensor.toDense', (o) => d.toDense(o), [6, 6, 1]],
    ['LazyTensor.reduceMany', (o) => d.reduceMany('j', { sum: 'Sum', least: 'Min' }, o)],
    ['JointReduction.call', (o) => joint.call([], o)],
    ['a prepared reduction', (o) => Promise.resolve(preparedSum([], o)), [6, 1]],
    ['gradient', (o) => mercer.gradient(sum, 'x', cotangent, o)],
    ['valueAndGradients', (o) => mercer.valueAndGradients(sum, { x: 'x' }, o)],
    ['matmul', (o) => mercer.matmul(square, x, o), [6, 4]],
    ['a prepared matmul', (o) => Promise.resolve(product(square, x, o)), [6, 4]],
    ['kron', (o) => mercer.kron(x, x, o), [36, 16]],
    ['kronMatvec', (o) => mercer.kronMatvec(x, x, x.reshape([24]).slice([0, 16]), o), [36]],
    ['einsum', (o) => mercer.einsum('ij,jk', [square, x], o)],
    ['cholesky', (o) => mercer.cholesky(symmetric, o), [6, 6]],
    ['solveCholesky', (o) => mercer.solveCholesky(symmetric, x, o), [6, 4]],
    ['solveLU', (o) => mercer.solveLU(square, x, o), [6, 4]],
    ['a prepared solveLU', (o) => Promise.resolve(solve(square, x, o)), [6, 4]],
    ['solveTriangular', (o) => mercer.solveTriangular(square, x, o), [6, 4]],
    ['conditionEstimate', (o) => mercer.conditionEstimate(symmetric, o)],
    ['refineEigenbasis', (o) => mercer.refineEigenbasis(symmetric, symmetric, o)],
    ['qr', (o) => mercer.qr(x, o)],
    ['eigh', (o) => mercer.eigh(symmetric, o)],
    ['svd', (o) => mercer.svd(x, o)],
    ['lstsq', (o) => mercer.lstsq(square, x, o), [6, 4]],
    ['inv', (o) => mercer.inv(square, o), [6, 6]],
    ['matrixPower', (o) => mercer.matrixPower(square, 3, o), [6, 6]],
    ['logdet', (o) => mercer.logdet(symmetric, o)],
  ];
});

const enqueued = (stream: mercer.Stream): number =>
  (stream as never as { enqueued: number }).enqueued;

/** Long enough for what was put off to happen. */
async function later(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setTimeout(resolve, 5));
}

interface Written {
  noteWrite(stream: mercer.Stream): void;
}

describe('every asynchronous call', () => {
  it('has put all its work on the stream of the caller when it resolves', async () => {
    // the second time with what the first has found
    for (const [name, call] of [...table, ...table]) {
      using stream = cpu.createStream();
      const before = [enqueued(stream), enqueued(cpu.defaultStream)] as const;
      await call({ stream });
      const at = enqueued(stream);
      expect.soft(at, `${name}: launches on its stream`).toBeGreaterThan(before[0]);
      await later();
      expect.soft(enqueued(stream), `${name}: launches when it had resolved`).toBe(at);
      expect.soft(enqueued(cpu.defaultStream), `${name}: launches elsewhere`).toBe(before[1]);
    }
  });

  it('writes into out once, on the stream of the caller', async () => {
    for (const [name, call, shape] of [...table, ...table]) {
      if (shape === undefined) continue;
      using stream = cpu.createStream();
      const out = await mercer.full([...shape], NaN, { device: cpu });
      const writes = vi.spyOn(Object.getPrototypeOf(out.storage) as Written, 'noteWrite');
      try {
        await call({ stream, out: out as never });
        const own = writes.mock.contexts.flatMap((storage, n) =>
          storage === (out.storage as never) ? [writes.mock.calls[n]?.[0]] : [],
        );
        expect.soft(own, name).toEqual([stream]);
      } finally {
        writes.mockRestore();
      }
      expect(
        (await out.toTypedArray()).every((value) => Number.isFinite(value)),
        name,
      ).toBe(true);
    }
  });
});
