import { drawn } from '../../autodiff/test/differences.mjs';
import * as mercer from './index.js';

const { eye, formula, kernels, matmul, tensor } = mercer;

export type Floats = mercer.Tensor<'float64'>;
/** The arguments of a call with x (3, 3), whose elements are between 0.2 and 0.8. */
type Arguments = (x: Floats) => readonly unknown[] | Promise<readonly unknown[]>;

export const words = (text: string): readonly string[] => text.split(' ');
const ofX: Arguments = (x) => [x];
const behindX =
  (...given: readonly unknown[]): Arguments =>
  (x) => [x, ...given];
const each = (text: string, args: Arguments): Record<string, Arguments> =>
  Object.fromEntries(words(text).map((name) => [name, args]));

const definite = async (x: Floats): Promise<Floats> =>
  matmul(x, x, { transposeB: true }).add(await eye(3, { dtype: 'float64', device: 'cpu' }));
const index = (): Promise<mercer.Tensor> => tensor(Int32Array.of(0, 2, 2), { device: 'cpu' });
const keptRows = (): Promise<mercer.Tensor> => tensor([1, 0, 1], { dtype: 'bool', device: 'cpu' });
const others = (): Promise<Floats> => drawn([2, 3], [1, 2], 5);
const v = formula.variable('v');

export const ELEMENTWISE =
  'abs acos asin atan cos cosh erf erfc exp expm1 gelu lgamma log log10 log1p log2 neg reciprocal relu rsqrt sigmoid sin sinh softplus sqrt square tan tanh';
export const CONSTANT = 'ceil floor round sign isFinite isInfinite isNaN logicalNot';
export const BINARY = 'add atan2 div maximum minimum mod mul pow sub';
export const CONSTANT_BINARY = 'eq ge gt le logicalAnd logicalOr logicalXor lt ne';

/** An operator of three rows that is symmetric and positive definite. */
const positive = async (): Promise<mercer.LinearOperator> =>
  mercer.denseOperator(await mercer.eye(3, { device: 'cpu', dtype: 'float64' })).shift(1);

/** Every function of tensors that takes them as arguments. */
export const FUNCTIONS: Readonly<Record<string, Arguments>> = {
  ...each(`${ELEMENTWISE} ${CONSTANT}`, ofX),
  ...each(`${BINARY} ${CONSTANT_BINARY}`, behindX(0.7)),
  clamp: behindX(0.3, 0.6),
  where: (x) => [x.gt(0.5), x, 1],
  concat: (x) => [[x, x], 0],
  stack: (x) => [[x, x], 0],
  split: behindX(3),
  flip: ofX,
  pad: behindX(1),
  tile: behindX(2),
  tril: ofX,
  triu: ofX,
  diag: behindX(0),
  tensor: ofX,
  ...each('cg minres gmres lsqr lsmr', async (x) => [await positive(), x, { rtol: 1e-14 }]),
  sumTo: behindX([3]),
  gatherRows: async (x) => [x, await index()],
  scatterAdd: async (x) => [x, await index(), 4],
  take: behindX([0, 2, -1, 0], 1),
  takeAlongAxis: async (x) => [x, (await index()).reshape([3, 1])],
  compress: async (x) => [x, await keptRows(), 0],
  index: behindX([[0, 2, 0], null]),
  cumSum: behindX(0),
  sort: ofX,
  argSort: ofX,
  topK: behindX(2),
  unique: ofX,
  map: (x) => [formula.exp(v), { v: x }],
  matmul: (x) => [x, x],
  einsum: (x) => ['ij,jk->k', [x, x]],
  kron: (x) => [x, x],
  kronMatvec: (x) => [x, x, x.reshape([9])],
  ...each('solveLU solveCholesky lstsq', async (x) => [await definite(x), x]),
  solveTriangular: (x) => [x, x],
  ...each('cholesky inv logdet eigh', async (x) => [await definite(x)]),
  ...each('svd qr', ofX),
  matrixPower: async (x) => [await definite(x), -0.5],
  conditionEstimate: async (x) => [await definite(x)],
  refineEigenbasis: async (x) => [await definite(x), x],
  choleskyBackward: (x) => [x, { factor: x }],
  eighBackward: (x) => [{ vectors: x }, { values: x.slice(0), vectors: x }],
  invBackward: (x) => [x, { inverse: x }],
  kronBackward: async (x) => [await mercer.kron(x, x), { a: x, b: x }],
  kronMatvecBackward: (x) => [x.reshape([9]), { a: x, b: x, x: x.reshape([9]) }],
  ...each('lstsqBackward solveLUBackward solveCholeskyBackward solveTriangularBackward', (x) => [
    x,
    { a: x, b: x, x },
  ]),
  matmulBackward: (x) => [x, { a: x, b: x }],
  matrixPowerBackward: async (x) => [x, { a: await definite(x) }, 2],
  qrBackward: (x) => [{ q: x }, { q: x, r: x }],
  logdetBackward: (x) => [x.slice(0, 0), { a: x }],
  svdBackward: (x) => [{ u: x }, { u: x, s: x.slice(0), vh: x }],
  cdist: async (x) => [x, await others()],
  cdistBackward: async (x) => [await drawn([3, 2], [0, 1]), x, await others()],
  weightedDifferences: async (x) => [x, await others(), await others(), await others()],
  runKernel: async (x) => [kernels.gaussian, x, await others(), { bandwidth: 1 }],
  runKernelBackward: async (x) => [
    kernels.gaussian,
    await drawn([3, 2], [0, 1]),
    x,
    await others(),
    { bandwidth: 1 },
  ],
};

/** Of a result with several tensors the one that is looked at. */
export const RESULTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(words('solveLU solveCholesky solveTriangular lstsq').map((n) => [n, 'x'])),
  cholesky: 'factor',
  inv: 'inverse',
  logdet: 'logAbs',
  eigh: 'values',
  svd: 's',
  qr: 'r',
  matrixPower: 'result',
  topK: 'values',
  unique: 'values',
};

/** Functions that take no tensors, or give none, and those of symbolic matrices, which have tests of their own. */
export const NO_OPERATIONS = [
  'checkGradients scan checkpoint customJvp customVjp grad hessian hvp jacobian jvp linearize prepare stopGradient valueAndGrad vjp vmap autocast perSampleGradients withStatistics',
  'arange empty eye full linspace oneHot zeros countRows scope',
  'broadcastShapes closeJitCache columnMajorStrides configureJitCache cpuExecutor defaultDevice device devices dtypeBytes isDType isPending isTensor',
  'unsafeKernel cdistGrad jitCache memory createGroupId joinGroup planOf rowMajorStrides startProfile timeSpan customKernel kernelDescriptor precompile',
  'band complexOf exp1j genericArgKMin genericArgMin genericLogSumExp genericSum genred gradient imagToComplex jointReduction lazy lazyI lazyJ lazyPair',
  'blockColumns blockRows denseOperator eigenPro falkon jacobi kernelOperator kernelSolve kroneckerOperator lowRankOperator nystrom operator pivotedCholesky sparseOperator storedOperator',
  'eigsh lanczos lobpcg trace',
  'sgd adam adamW muon lbfgs shampoo soap kfac naturalGradient accumulate clipByGlobalNorm ema lossScale parameterGroups loadCheckpoint saveCheckpoint readCheckpointHeader',
  'clusterCentroids clusterRanges clusterRangesCentroids cutoffOf fromMatrix gridCluster kMeans sortClusters truncatedRanges',
  'localWindow lowerTriangle offDiagonal param rangesFromMatrix realToComplex rowNumberI rowNumberJ swapAxes upperTriangle valueAndGradients withGradients',
].flatMap(words);

/** Every method by what it is called with. */
export const METHODS: Readonly<Record<string, readonly unknown[]>> = {
  ...Object.fromEntries(words(`${ELEMENTWISE} ${CONSTANT}`).map((name) => [name, []])),
  ...Object.fromEntries(words(`${BINARY} ${CONSTANT_BINARY}`).map((name) => [name, [0.7]])),
  ...Object.fromEntries(
    words(
      'all any argMax argMin logSoftmax logSumExp max mean min norm prod softmax std sum var',
    ).map((name) => [name, [0]]),
  ),
  argSort: [],
  take: [[0, 2, -1, 0], 1],
  takeAlongAxis: [],
  compress: [],
  index: [[[0, 2, 0], null]],
  cumSum: [0],
  sort: [],
  topK: [2],
  unique: [],
  broadcastTo: [[2, 3, 3]],
  cast: ['float64'],
  clamp: [0.3, 0.6],
  clone: [],
  contiguous: [],
  copyFrom: [],
  diag: [0],
  fill: [1],
  flip: [],
  matmul: [],
  pad: [1],
  permute: [[1, 0]],
  reshape: [[9]],
  slice: [1],
  split: [3],
  sumTo: [[3]],
  tile: [2],
  to: ['cpu'],
  transpose: [],
  tril: [],
  triu: [],
  view: [],
  where: [],
};

/** Members that give no tensors. */
export const READERS = words(
  'constructor handle device dtype shape strides offset size byteOffset rank bytes label disposed storage assertAlive isContiguous toTypedArray toNested item print ready dispose toString toJSON',
);

export type Fun = ((...given: readonly unknown[]) => unknown) & { readonly prepare?: Fun };
export const functionNamed = (name: string): Fun =>
  (mercer as never as Record<string, Fun>)[name] as Fun;

export const called = async (name: string, x: Floats): Promise<unknown> => {
  const found = await functionNamed(name)(...(await FUNCTIONS[name]?.(x)) ?? []); // prettier-ignore
  const one = RESULTS[name];
  return one === undefined ? found : (found as Record<string, unknown>)[one];
};

export const calledMethod = async (name: string, x: Floats): Promise<unknown> => {
  const special: Readonly<Record<string, readonly unknown[]>> = {
    copyFrom: [x],
    matmul: [x],
    where: [x, 1],
    takeAlongAxis: [(await index()).reshape([3, 1])],
    compress: [await keptRows(), 0],
  };
  const self = name === 'where' ? x.gt(0.5) : x;
  const given = special[name] ?? METHODS[name] ?? [];
  const found = await (self as never as Record<string, Fun>)[name]?.(...given);
  return name === 'topK' || name === 'unique'
    ? (found as { readonly values: unknown }).values
    : found;
};
