import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { abortedEverywhere, disposeAll } from '../../tensor/test/aborted-everywhere.mjs';
import * as mercer from './index.js';
import * as npy from './npy.js';
import { expectCompilerStopped } from './stopped-compiler.test-support.js';
import { negated } from './testing/negated.test-support.js';
import { undisposedBytes } from '../../tensor/test/memory-kept.mjs';

type Options = { readonly signal: AbortSignal };
type Call = (options: Options) => Promise<unknown>;

const reason = new Error('given up');
const place = { device: 'cpu' } as const;
let a: mercer.Tensor<'float32'>;
let b: mercer.Tensor<'float32'>;
let upstream: mercer.Tensor<'float32'>;
let index: mercer.Tensor<'int32'>;
let mask: mercer.Tensor<'bool'>;
let kernel: mercer.LinearOperator<'float64'>;
/** (2, 4, 4), symmetric and positive definite; its rows are not in row-major order. */
let many: mercer.Tensor<'float64'>;
/** (2, 4). */
let values: mercer.Tensor<'float64'>;
let vector4: mercer.Tensor<'float64'>;
/** (16). */
let vector16: mercer.Tensor<'float64'>;
let none: mercer.Tensor<'float64'>;
let tall: mercer.Tensor<'float64'>;
let short: mercer.Tensor<'float64'>;
let square: mercer.Tensor<'float64'>;
let turned: mercer.Tensor<'float32'>;
let target: mercer.Tensor<'float32'>;
let folder = '';

/** More than is read in one piece. */
const long = new Float32Array(2 ** 19 + 1).fill(2);

// Calls look at their signals on either executor; that a compiler is stopped has a test of its own, below.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
afterAll(() => vi.unstubAllEnvs());

beforeAll(async () => {
  a = await mercer.tensor([[1, 2]], place);
  b = await mercer.tensor([[2, 3]], place);
  upstream = await mercer.tensor([[1]], place);
  index = await mercer.tensor(Int32Array.of(0), place);
  mask = await mercer.tensor([true], place);
  const matrix = (shift: number): number[][] =>
    Array.from({ length: 4 }, (_, i) =>
      Array.from({ length: 4 }, (_, j) => (i === j ? 5 + i + shift : 1 / (1 + i + j))),
    );
  many = (await mercer.tensor([matrix(0), matrix(1)], { ...place, dtype: 'float64' })).permute([
    0, 2, 1,
  ]);
  kernel = mercer.denseOperator(many.slice(0));
  values = many.slice(null, 0);
  const first = many.slice(0);
  [tall, short, square] = [
    first.slice(null, [0, 2]),
    first.slice(0, [0, 2]),
    first.slice([0, 2], [0, 2]),
  ];
  none = mercer.empty([0, 0], { ...place, dtype: 'float64' });
  vector4 = await mercer.full([4], 1, { ...place, dtype: 'float64' });
  vector16 = await mercer.full([16], 1, { ...place, dtype: 'float64' });
  turned = (await mercer.full([300, 200], 2, place)).transpose();
  target = (await mercer.full([300, 200], 7, place)).transpose();
  folder = await mkdtemp(join(tmpdir(), 'mercer-signals-'));
  await npy.writeNpy(join(folder, 'long.npy'), { data: long, shape: [long.length] });
  const some = { data: long, shape: [long.length] };
  await npy.writeNpz(join(folder, 'long.npz'), { x: some, y: some }, { compress: true });
  vi.spyOn(console, 'log').mockImplementation(() => undefined);
});

afterAll(async () => {
  vi.restoreAllMocks();
  await rm(folder, { recursive: true });
});

/** A call on compiled kernels. */
async function compiled(call: () => Promise<unknown>): Promise<unknown> {
  vi.stubEnv('MERCER_CPU', 'compiled');
  try {
    return await call();
  } finally {
    vi.stubEnv('MERCER_CPU', 'interpreted');
  }
}

const distance = (): mercer.LazyTensor => mercer.lazyI(a, { name: 'x' }).sqdist(mercer.lazyJ(b));

/** Calls that plan and load kernels. */
const LOADING: Readonly<Record<string, Call>> = {
  map: (o) => mercer.map(mercer.formula.neg(mercer.formula.variable('a')), { a }, o),
  // whose text is in C++ alone
  unsafeKernel: (o) => compiled(() => negated({ x: a }, o)),
  sumTo: (o) => mercer.sumTo(a, [1, 1], o),
  scatterAdd: (o) => mercer.scatterAdd(a, index, 1, o),
  gatherRows: (o) => mercer.gatherRows(a, index, o),
  countRows: (o) => mercer.countRows(index, 1, o),
  oneHot: (o) => mercer.oneHot(index, 3, o),
  concat: (o) => mercer.concat([a, a], 0, o),
  stack: (o) => mercer.stack([a, a], 0, o),
  tile: (o) => mercer.tile(a, 2, o),
  pad: (o) => mercer.pad(a, 1, o),
  take: (o) => mercer.take(a, index, 0, o),
  takeAlongAxis: (o) => mercer.takeAlongAxis(a, index.reshape([-1, 1]), 0, o),
  'take of numbers': (o) => mercer.take(a, [0], 0, o),
  compress: (o) => mercer.compress(a, mask, 0, o),
  index: (o) => mercer.index(a, [index], o),
  unique: (o) => mercer.unique(a, o),
  cumSum: (o) => mercer.cumSum(a, 1, o),
  topK: (o) => mercer.topK(a, 1, 1, o),
  sort: (o) => mercer.sort(a, 1, o),
  argSort: (o) => mercer.argSort(a, 1, o),
  cdist: (o) => mercer.cdist(a, b, o),
  'cdist.prepare': (o) => mercer.cdist.prepare(a, b, o),
  weightedDifferences: (o) => mercer.weightedDifferences(upstream, upstream, upstream, upstream, o),
  'weightedDifferences.prepare': (o) =>
    mercer.weightedDifferences.prepare(upstream, upstream, upstream, upstream, o),
  cdistBackward: (o) => mercer.cdistBackward(upstream, a, b, o),
  runKernel: (o) => mercer.runKernel(mercer.kernels.dot, a, b, o),
  'runKernel with prepared rows': (o) => mercer.runKernel(mercer.kernels.cosine, a, b, o),
  'runKernel.prepare': (o) => mercer.runKernel.prepare(mercer.kernels.dot, a, b, o),
  runKernelBackward: (o) => mercer.runKernelBackward(mercer.kernels.dot, upstream, a, b, o),
  precompile: (o) => mercer.precompile([mercer.kernels.dot], { ...place, ...o }),
  sum: (o) => distance().sum('j', o),
  nonzero: (o) => distance().nonzero('j', o),
  histogram: (o) => distance().histogram('j', { bins: 2, range: [0, 4], ...o }),
  gradient: (o) => mercer.gradient(distance().reduction('Sum', 'j'), 'x', [[1]], o),
  valueAndGradients: (o) =>
    mercer.valueAndGradients(distance().reduction('LogSumExp', 'j'), { x: 'x' }, o),
};

/** The number of row a index that both sides follow: its gradient is added up in blocks. */
const byPairs = (): mercer.LazyReduction =>
  mercer
    .lazyI(a)
    .elem(0)
    .sub(mercer.lazyJ(b).elem(0))
    .gather(mercer.param(a, { name: 'table' }))
    .reduction('Sum', 'j');

const key = mercer.random.key(1);

/** Calls that place, copy, read back and wait. */
const MOVING: Readonly<Record<string, Call>> = {
  tensor: (o) => mercer.tensor(long, { ...place, ...o }),
  'tensor of nested arrays': (o) => mercer.tensor([[1, 2]], { ...place, ...o }),
  zeros: (o) => mercer.zeros([2], { ...place, ...o }),
  full: (o) => mercer.full([2 ** 20], 3, { ...place, ...o }),
  arange: (o) => mercer.arange(0, 3, 1, { ...place, ...o }),
  linspace: (o) => mercer.linspace(0, 1, 3, { ...place, ...o }),
  eye: (o) => mercer.eye(3, { ...place, ...o }),
  diag: (o) => mercer.diag(vector16, 1, o),
  'diag of a matrix': (o) => mercer.diag(turned, 1, o),
  'random.uniform': (o) => mercer.random.uniform([20_000], { key, ...place, ...o }),
  'random.normal': (o) => mercer.random.normal([20_000], { key, ...place, ...o }),
  'random.permutation': (o) => mercer.random.permutation(20_000, { key, ...place, ...o }),
  'random.choice': (o) => mercer.random.choice(9, [20_000], { key, ...place, ...o }),
  'Scope.tensor': (o) => mercer.scope((s) => s.tensor([1], { ...place, ...o })),
  'Scope.zeros': (o) => mercer.scope((s) => s.zeros([1], { ...place, ...o })),
  'Scope.full': (o) => mercer.scope((s) => s.full([1], 1, { ...place, ...o })),
  contiguous: (o) => turned.contiguous(o),
  clone: (o) => turned.clone(o),
  'clone into a view': (o) => turned.clone({ ...o, out: target }).then(() => undefined),
  cast: (o) => turned.cast('float64', o),
  to: (o) => turned.to('cpu', o),
  copyFrom: (o) => target.copyFrom(turned, o).then(() => undefined),
  fill: (o) => target.fill(1, o).then(() => undefined),
  toTypedArray: (o) => a.toTypedArray(o),
  'toTypedArray of a view': (o) => turned.toTypedArray(o),
  toNested: (o) => turned.toNested(o),
  item: (o) => upstream.item(o),
  print: (o) => a.print(o),
  ready: (o) => a.ready(o).then(() => undefined),
  'Device.synchronize': (o) => a.device.synchronize(o),
  'Stream.synchronize': (o) => a.device.defaultStream.synchronize(o),
  'Stream.room': (o) => a.device.defaultStream.room(o),
  readNpy: (o) => npy.readNpy(join(folder, 'long.npy'), o),
  'readNpy of bytes': (o) => npy.readNpy(npy.encodeNpy({ data: long, shape: [long.length] }), o),
  readNpz: (o) => npy.readNpz(join(folder, 'long.npz'), o),
  writeNpy: (o) => npy.writeNpy(join(folder, 'new.npy'), { data: long, shape: [long.length] }, o),
  writeNpz: (o) =>
    npy.writeNpz(
      join(folder, 'new.npz'),
      { x: { data: long, shape: [long.length] } },
      { ...o, compress: true },
    ),
  writeFileWhole: (o) => npy.writeFileWhole(join(folder, 'new.bin'), [Uint8Array.of(1)], o),
};

/** Calls whose inputs have to be placed or copied before their kernels run, into results that kernels do not write. */
const COPYING: Readonly<Record<string, Call>> = {
  'map into a view': (o) =>
    mercer
      .map(mercer.formula.variable('x'), { x: turned }, { ...o, out: target })
      .then(() => undefined),
  'sumTo of a view': (o) => mercer.sumTo(turned, [1, 1], o),
  'scatterAdd of a view': (o) => mercer.scatterAdd(turned.slice([0, 1]), index, 1, o),
  'gatherRows of a view': (o) => mercer.gatherRows(turned, index, o),
  'cdist of data': (o) => mercer.cdist([[1, 2]], [[3, 4]], { ...place, ...o }),
  'cdist of a view': (o) => mercer.cdist(many.slice(0), many.slice(1), o),
  'cdist of a broadcast batch': (o) =>
    mercer.cdist(many.slice(0).reshape([1, 4, 4]).broadcastTo([2, 4, 4]), many, o),
  'weightedDifferences of data': (o) =>
    mercer.weightedDifferences([[1]], [[2]], [[3]], [[4]], { ...place, ...o }),
  'cdistBackward of p': (o) =>
    mercer.cdistBackward(upstream, a, b, { ...o, p: 1.5, wrt: ['a', 'b', 'p'] }),
  'runKernelBackward of one input': (o) =>
    mercer.runKernelBackward(mercer.kernels.gaussian, upstream, a, {
      bandwidth: 1,
      regularization: 0.1,
      wrt: ['a', 'bandwidth', 'regularization'],
      ...o,
    }),
  'runKernelBackward of prepared rows': (o) =>
    mercer.runKernelBackward(mercer.kernels.cosine, upstream, a, b, {
      scale: 2,
      wrt: ['a', 'scale'],
      ...o,
    }),
  'sum of data': (o) =>
    mercer
      .lazyI([[1]])
      .sqdist(mercer.lazyJ([[2]]))
      .sum('j', { ...place, ...o }),
  'sum with ranges': (o) =>
    distance().sum('j', {
      ranges: { rangesI: [[0, 1]], slicesI: [1], redrangesJ: [[0, 1]] },
      ...o,
    }),
  argKMin: (o) => distance().argKMin(1, 'j', { indexDtype: 'int64', ...o }),
  toDense: (o) => distance().toDense(o),
  matmul: (o) => distance().matmul(b, o),
  'nonzero with values': (o) => distance().nonzero('j', { values: distance(), ...o }),
  'gradient of an extremum': (o) =>
    mercer.gradient(distance().reduction('Min', 'j'), 'x', [[1]], o),
  'gradient by rows of pairs': (o) => mercer.gradient(byPairs(), 'table', [[[1, 1]]], o),
  'valueAndGradients of a maximum': (o) =>
    mercer.valueAndGradients(distance().reduction('Max', 'j'), { x: 'x' }, o),
  'LazyReduction.prepare': (o) => distance().reduction('Sum', 'j').prepare([], o),
};

/** Dense linear algebra; on the CPU one launch each, or a worker thread. */
const LINEAR: Readonly<Record<string, Call>> = {
  cholesky: (o) => mercer.cholesky(many, { ...o, checkErrors: true, onJitter: () => undefined }),
  conditionEstimate: (o) => mercer.conditionEstimate(many, o),
  refineEigenbasis: (o) => mercer.refineEigenbasis(many, many, o),
  eigh: (o) => mercer.eigh(many, o),
  einsum: (o) => mercer.einsum('bij,bjk->bik', [many, many], o),
  inv: (o) => mercer.inv(many, o),
  kron: (o) => mercer.kron(many, many, o),
  kronMatvec: (o) => mercer.kronMatvec(many, many.slice(0), vector16, o),
  logdet: (o) => mercer.logdet(many, o),
  lstsq: (o) => mercer.lstsq(many, many, o),
  'linalg.matmul': (o) => mercer.matmul(many, many, o),
  matrixPower: (o) => mercer.matrixPower(many, 0.5, o),
  qr: (o) => mercer.qr(many, o),
  solveCholesky: (o) => mercer.solveCholesky(many, many, { ...o, checkErrors: true }),
  solveLU: (o) => mercer.solveLU(many, many, { ...o, refine: 1 }),
  svd: (o) => mercer.svd(many, o),
  solveTriangular: (o) => mercer.solveTriangular(many, many, o),
};

/** Rules of gradients, several launches each. */
/** Solvers and preconditioners over an operator that is positive definite. */
const SOLVERS: Readonly<Record<string, Call>> = {
  cg: async (o) => (await mercer.cg(kernel, vector4, o)).x,
  minres: async (o) => (await mercer.minres(kernel, vector4, o)).x,
  gmres: async (o) => (await mercer.gmres(kernel, vector4, o)).x,
  lsqr: async (o) => (await mercer.lsqr(kernel, vector4, o)).x,
  lsmr: async (o) => (await mercer.lsmr(kernel, vector4, o)).x,
  eigsh: async (o) =>
    (await mercer.eigsh(kernel, { k: 2, key: mercer.random.key(1), ...o })).values,
  lanczos: async (o) =>
    (await mercer.lanczos(kernel, { steps: 2, key: mercer.random.key(1), ...o })).basis,
  lobpcg: async (o) => (await mercer.lobpcg(kernel, vector4.reshape([4, 1]), o)).values,
  'logdet of an operator': async (o) =>
    (await mercer.logdet(kernel, { key: mercer.random.key(1), ...o })).value,
  trace: async (o) => (await mercer.trace(kernel, { key: mercer.random.key(1), ...o })).value,
  pivotedCholesky: async (o) => mercer.pivotedCholesky(kernel, { rank: 2, shift: 1, ...o }),
  falkon: async (o) => mercer.falkon(kernel, { rows: 4, penalty: 1, ...o }),
  eigenPro: async (o) =>
    mercer.eigenPro(kernel, { rank: 2, shift: 1, key: mercer.random.key(1), ...o }),
  nystrom: async (o) =>
    mercer.nystrom(kernel, { rank: 2, shift: 1, key: mercer.random.key(1), ...o }),
};

const LINEAR_BACKWARD: Readonly<Record<string, Call>> = {
  choleskyBackward: (o) => mercer.choleskyBackward(many, { factor: many }, o),
  eighBackward: (o) =>
    mercer.eighBackward(
      { values, vectors: many },
      { values, vectors: many },
      { ...o, onDegenerate: () => undefined },
    ),
  invBackward: (o) => mercer.invBackward(many, { inverse: many }, { ...o, method: 'cholesky' }),
  logdetBackward: (o) => mercer.logdetBackward(values.slice(null, 0), { a: many }, o),
  lstsqBackward: (o) => mercer.lstsqBackward(many, { a: many, b: many, x: many }, o),
  matmulBackward: (o) => mercer.matmulBackward(many, { a: many, b: many }, o),
  matrixPowerBackward: (o) =>
    mercer.matrixPowerBackward(many, { a: many }, 0.5, { ...o, onDegenerate: () => undefined }),
  'qrBackward of q': (o) => mercer.qrBackward({ q: many }, { q: many, r: many }, o),
  'lstsqBackward of nothing': (o) => mercer.lstsqBackward(none, { a: none, b: none, x: none }, o),
  qrBackward: (o) => mercer.qrBackward({ q: many, r: many }, { q: many, r: many }, o),
  solveCholeskyBackward: (o) => mercer.solveCholeskyBackward(many, { a: many, x: many }, o),
  solveLUBackward: (o) => mercer.solveLUBackward(many, { a: many, x: many }, o),
  svdBackward: (o) =>
    mercer.svdBackward(
      { u: many, s: values, vh: many },
      { u: many, s: values, vh: many },
      { ...o, onDegenerate: () => undefined },
    ),
  'svdBackward of more rows than columns': (o) =>
    mercer.svdBackward({ u: tall, s: short, vh: square }, { u: tall, s: short, vh: square }, o),
  'svdBackward of fewer': (o) =>
    mercer.svdBackward(
      { u: square, s: short, vh: tall.transpose() },
      { u: square, s: short, vh: tall.transpose() },
      o,
    ),
  kronBackward: (o) => mercer.kronBackward(many.slice(0), { a: square, b: square }, o),
  kronMatvecBackward: (o) =>
    mercer.kronMatvecBackward(values.slice(0), { a: square, b: square, x: values.slice(1) }, o),
  solveTriangularBackward: (o) => mercer.solveTriangularBackward(many, { a: many, x: many }, o),
};

/** The sum of cubes. */
const cubes = (w: mercer.Tensor<'float64'>): Promise<mercer.Tensor> =>
  Promise.resolve(w.square().mul(w).sum());

/** Functions of functions: what they call is recorded. */
const TRANSFORMS: Readonly<Record<string, Call>> = {
  grad: (o) => mercer.grad(cubes, o)(values),
  valueAndGrad: (o) => mercer.valueAndGrad(cubes, o)(values),
  vjp: async (o) => {
    const { value, pull, dispose } = await mercer.vjp((w: typeof values) => w.square(), o)(values);
    try {
      return await pull(values);
    } finally {
      value.dispose();
      dispose();
    }
  },
  jvp: (o) => mercer.jvp(cubes, o)([values], [values]),
  hvp: (o) => mercer.hvp(cubes, o)(values, values),
  jacobian: (o) => mercer.jacobian((w) => w.square().sum(0), o)(values),
  hessian: (o) => mercer.hessian(cubes, o)(values),
  linearize: async (o) => {
    const { value, push, dispose } = await mercer.linearize(cubes, o)(values);
    try {
      return await push(values);
    } finally {
      value.dispose();
      dispose();
    }
  },
};

/** Calls of a function, time and again. */
const REPEATING: Readonly<Record<string, Call>> = {
  scan: (o) =>
    mercer.scan(
      async (carry: mercer.Tensor, row: mercer.Tensor) => [await carry.add(1), row] as const,
      values as mercer.Tensor,
      many as mercer.Tensor,
      o,
    ),
  checkGradients: (o) =>
    mercer.checkGradients((w: mercer.Tensor) => w.square().sum(), [values as mercer.Tensor], {
      key,
      order: 2,
      directions: 1,
      ...o,
    }),
};

const CALLS = {
  ...LOADING,
  ...MOVING,
  ...COPYING,
  ...LINEAR,
  ...SOLVERS,
  ...LINEAR_BACKWARD,
  ...TRANSFORMS,
  ...REPEATING,
};

const undisposed = (): number => undisposedBytes(a.device);

it.each(Object.entries(CALLS))('%s heeds a signal', async (_, call) => {
  await expect(call({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  // A signal that stays silent changes nothing, and a call after one that was given up is as any other.
  disposeAll(await call({ signal: new AbortController().signal }));
});

it.each(Object.entries(CALLS))(
  '%s, aborted wherever it looks, leaves no memory behind',
  async (_, call) => {
    expect(await abortedEverywhere((signal) => call({ signal }), undisposed)).toBeGreaterThan(0);
  },
);

describe('a read-back', () => {
  it.each<[string, (o: Options) => Promise<unknown>]>([
    ['toTypedArray', (o) => upstream.toTypedArray(o)],
    ['toNested', (o) => upstream.toNested(o)],
    ['item', (o) => upstream.item(o)],
    ['print', (o) => upstream.print(o)],
    ['ready', (o) => upstream.ready(o)],
    ['Stream.synchronize', (o) => upstream.device.defaultStream.synchronize(o)],
    ['Device.synchronize', (o) => upstream.device.synchronize(o)],
  ])('%s is given up at once, and the work goes on', async (_, read) => {
    const stream = upstream.device.defaultStream;
    using x = await mercer.full([1500, 256], 0.5, place);
    const before = undisposed();
    const work = await mercer.cdist(x, x, { p: 1.3 });
    using one = await mercer.tensor([[1]], place);
    await upstream.copyFrom(one);
    const controller = new AbortController();
    const waiting = read({ signal: controller.signal });
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(stream.inFlight).toBeGreaterThan(0);
    expect(await upstream.item()).toBe(1);
    work.dispose();
    await vi.waitFor(() => {
      expect(undisposed()).toBeLessThanOrEqual(before + 4);
    });
  });
});

it('a call that waits for room on its stream is given up, and enqueues nothing', async () => {
  using stream = a.device.createStream();
  using x = await mercer.full([3000, 256], 0.5, place);
  using work = await mercer.cdist(x, x, { p: 1.3, stream });
  const add = await mercer.cdist.prepare(a, b);
  using out = mercer.empty([1, 1], place);
  while (stream.inFlight < 256) add(a, b, { out, stream });
  for (const name of WAITING) {
    const call = CALLS[name];
    if (call === undefined) throw new Error(`there is no call '${name}'`);
    const before = undisposed();
    const at = enqueued(stream);
    const controller = new AbortController();
    const given = call({ stream, signal: controller.signal } as Options);
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort(reason);
    await expect(given, name).rejects.toBe(reason);
    expect.soft(enqueued(stream), name).toBe(at);
    expect.soft(undisposed(), name).toBeLessThanOrEqual(before);
  }
  expect(stream.inFlight).toBeGreaterThan(200);
  expect(work.disposed).toBe(false);
});

/** Calls that wait for room, by what they launch. */
const WAITING: readonly string[] = [
  ...['cdist', 'runKernel', 'weightedDifferences', 'cdistBackward', 'runKernelBackward', 'sum'],
  ...['map', 'sumTo', 'scatterAdd', 'gatherRows', 'clone', 'cast', 'fill', 'copyFrom'],
  ...['contiguous', 'concat', 'pad', 'cholesky', 'solveLU', 'linalg.matmul', 'kron', 'logdet'],
];

const enqueued = (stream: mercer.Stream): number =>
  (stream as never as { enqueued: number }).enqueued;

it('an output is left alone, and the compiler is stopped', async () => {
  vi.stubEnv('MERCER_CPU', 'compiled');
  const { add, mul, variable } = mercer.formula;
  const out = await mercer.full([1, 2], 7, place);
  // a number that is in no cache
  const kernel = mul(add(variable('a'), Math.random()), variable('a'));
  await expectCompilerStopped((signal) => mercer.map(kernel, { a }, { out, signal }), undisposed);
  expect(await out.toNested()).toEqual([[7, 7]]);
});
