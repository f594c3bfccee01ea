import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as mercer from './index.js';
import * as npy from './npy.js';
import * as safetensors from './safetensors.js';
import { runtimeRows, type Call, type Row } from './runtime-options.test-support.js';
import { negated } from './testing/negated.test-support.js';

const { cdist, genred, JitCache, lazyI, lazyJ, tensor, formula, weightedDifferences } = mercer;

/**
 * What the types name beside them: interfaces and aliases of functions and methods that the table has under their own names, methods for subclasses,
 * parameters that are one value of an option, functions of arrays and texts, launches whose geometry was read before.
 */
const OTHERS =
  /^(TensorMethods|ElementwiseMethods|ReductionMethods)\.|^(Common|Comparison|Floating|FloatingUnary|Same|Truth)(Method|Function)$|^(Cdist|CdistBackward|WeightedDifferences|RunKernel|RunKernelBackward|cdistGrad|CountRows|GatherRows|MapCall|MapPrepare|ScatterAdd|SumTo|ArgSort|CumSum|JoinCall|Pad|Sort|TakeCall|Tile|TopKCall|Cholesky|ConditionEstimateFunction|Eigh|Inv|Kron|KronMatvec|Lstsq|Matmul|MatrixPowerFunction|Qr|RefineEigenbasis|LogdetFunction|SolveCholesky|SolveLU|SolveTriangular|Svd|Einsum|SolveBackwardFunction|(Cholesky|Eigh|Inv|Kron|KronMatvec|Lstsq|Matmul|MatrixPower|Qr|Logdet|SolveCholesky|Svd)Backward)(\.prepare)?$|^LazyTensor\.(describe|either|reduce)$|^(RowReader|npy\.NpyFile)\.readRows$|^(BlockDestination|npy\.NpyOutput)\.open$|^BlockWriter\.write$|^(load(Plan|Problem)|roomOn)$|\.(toLocaleString|localeCompare)$|^Cpu\.|^C(pu|uda)Function\.enqueue(In)?$|^CudaFunction\.loopOf$/;

const rows = 4;
const data = Float32Array.from({ length: rows * rows }, (_, at) => (at % 5 === 0 ? 3 : 0.5));
const index = new Int32Array([0, 1, 0, 1]);
let table: readonly Row[] = [];
const file = path.join(tmpdir(), `options-${process.pid}.safetensors`);
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(file, { force: true });
});

const sumOf = (x: mercer.Tensor): Promise<mercer.Tensor> => x.sum();

async function rowsOf(): Promise<readonly Row[]> {
  const a = await tensor(data, { shape: [rows, rows], device: 'cpu' });
  const at = await tensor(index, { device: 'cpu' });
  const labels = await tensor(
    Int32Array.from({ length: rows }, () => 0),
    { device: 'cpu' },
  );
  const places = at.reshape([1, rows]);
  const cube = await tensor(new Float32Array(64), { shape: [4, 4, 4], device: 'cpu' });
  const vector = await tensor(new Float32Array(rows), { device: 'cpu' });
  const x = lazyI(a, { name: 'x' });
  const d = x.sqdist(lazyJ(a, { name: 'y' }));
  const sum = d.reduction('Sum', 'j');
  const joint = mercer.jointReduction({ sum });
  const row = genred('SqDist(x, y)', ['x = Vi(4)', 'y = Vj(4)']);
  const scope = new mercer.Scope();
  const cache = JitCache.open({ mode: 'off' });
  const kernel = mercer.kernels.gaussian;
  const sgd = mercer.sgd();
  const begun = await sgd.init(a);
  const bytes = npy.encodeNpy({ data, shape: [rows, rows] });
  const saved = { a, x: a, b: a };
  const system = mercer.denseOperator(a);
  const aliases = ['x = Vi(4)', 'y = Vj(4)', 'b = Vj(4)'];
  const solveText = mercer.kernelSolve('SqDist(x, y) * b', aliases, 'b', { axis: 'j' });
  const prepared = await cdist.prepare(a, a);
  const preparedGrad = await weightedDifferences.prepare(a, a, a, cube);
  const preparedKernel = await mercer.runKernel.prepare(kernel, a, a, { bandwidth: 1 });
  const preparedBackward = await mercer.cdistBackward.prepare(a, a, a);
  const preparedProduct = await mercer.matmul.prepare(a, a);
  const preparedSolve = await mercer.solveLU.prepare(a, a);
  const preparedOfOne = await mercer.runKernel.prepare(kernel, a, { bandwidth: 1 });
  const preparedSum = await sum.prepare();
  const preparedJoint = await joint.prepare();
  const complex = mercer.realToComplex(x);
  const v = formula.vi(0, 2);
  const { device } = a;
  const methods: readonly Row[] = [
    ['Tensor.contiguous', (o) => a.contiguous(o)],
    ['Tensor.clone', (o) => a.clone(o), 'output', 'out'],
    ['Tensor.cast', (o) => a.cast('float64', o)],
    ['Tensor.to', (o) => a.to('cpu', o)],
    ['Tensor.copyFrom', (o) => a.copyFrom(a, o)],
    ['Tensor.fill', (o) => a.fill(1, o)],
    ['Tensor.toTypedArray', (o) => a.toTypedArray(o)],
    ['Tensor.toNested', (o) => a.toNested(o)],
    ['Tensor.item', (o) => a.item(o)],
    ['Tensor.print', (o) => a.print(o)],
    ['Tensor.ready', (o) => a.ready(o)],
    ['Tensor.sumTo', (o) => a.sumTo([1], o)],
    ['Tensor.diag', (o) => a.diag(0, o)],
    ['Tensor.tile', (o) => a.tile(2, o)],
    ['Tensor.take', (o) => a.take([0], 0, o)],
    ['Tensor.takeAlongAxis', (o) => a.takeAlongAxis([[0]], 0, o)],
    ['Tensor.compress', (o) => a.compress(a.gt(0), undefined, o)],
    ['Tensor.index', (o) => a.index([[0]], o)],
    ['Tensor.unique', (o) => a.unique(o)],
    ['Tensor.cumSum', (o) => a.cumSum(0, o)],
    ['Tensor.topK', (o) => a.topK(1, 0, o), 'largests', 'largest'],
    ['Tensor.sort', (o) => a.sort(0, o), 'descendings', 'descending'],
    ['Tensor.argSort', (o) => a.argSort(0, o)],
    ['Tensor.pad', (o) => a.pad(1, o)],
    ['Tensor.matmul', (o) => a.matmul(a, o)],
    ['cg', (o) => mercer.cg(system, vector, o)],
    ['minres', (o) => mercer.minres(system, vector, o)],
    ['gmres', (o) => mercer.gmres(system, vector, o)],
    ['lsqr', (o) => mercer.lsqr(system, vector, o)],
    ['lsmr', (o) => mercer.lsmr(system, vector, o)],
    ['eigsh', (o) => mercer.eigsh(system, o)],
    ['lanczos', (o) => mercer.lanczos(system, o)],
    ['lobpcg', (o) => mercer.lobpcg(system, a, o)],
    ['logdet of an operator', (o) => mercer.logdet(system, o)],
    ['trace', (o) => mercer.trace(system, o)],
    ['accumulate', (o) => mercer.accumulate(mercer.sgd(), o)],
    ['adam', (o) => mercer.adam(o), 'betta', 'betas'],
    ['adamW', (o) => mercer.adamW(o)],
    ['ema', (o) => mercer.ema(saved, o)],
    ['lbfgs', (o) => mercer.lbfgs(o)],
    ['lossScale', (o) => mercer.lossScale(mercer.sgd(), o)],
    ['muon', (o) => mercer.muon(o)],
    ['parameterGroups', (o) => mercer.parameterGroups(o)],
    [
      'loadCheckpoint',
      (o) => mercer.loadCheckpoint(file, { optimiser: sgd, params: a, state: begun }, o),
    ],
    [
      'saveCheckpoint',
      (o) => mercer.saveCheckpoint(file, { optimiser: sgd, params: a, state: begun }, o),
    ],
    ['schedules.cosine', (o) => mercer.schedules.cosine(o)],
    ['schedules.exponential', (o) => mercer.schedules.exponential(o)],
    ['schedules.linearWarmUp', (o) => mercer.schedules.linearWarmUp(o)],
    ['schedules.steps', (o) => mercer.schedules.steps(o)],
    ['sgd', (o) => mercer.sgd(o)],
    ['shampoo', (o) => mercer.shampoo(o), 'frequncy', 'frequency'],
    ['soap', (o) => mercer.soap(o)],
    ['kfac', (o) => mercer.kfac(o)],
    ['naturalGradient', (o) => mercer.naturalGradient(o)],
    ['LazyTensor.solve', (o) => d.solve(vector, o)],
    ['LazyTensor.asOperator', (o) => d.asOperator(o)],
    ['KernelSolve', (o) => solveText([a, a, a], o)],
    ['kernelSolve', (o) => mercer.kernelSolve('SqDist(x, y) * b', aliases, 'b', o)],
    ['operator', (o) => mercer.operator(o)],
    ['kernelOperator', (o) => mercer.kernelOperator(mercer.kernels.gaussian, a, a, o)],
    ['storedOperator', (o) => mercer.storedOperator(system, o)],
    ['nystrom', (o) => mercer.nystrom(system, o)],
    ['eigenPro', (o) => mercer.eigenPro(system, o)],
    ['falkon', (o) => mercer.falkon(system, o)],
    ['pivotedCholesky', (o) => mercer.pivotedCholesky(system, o)],
    ['Device.synchronize', (o) => device.synchronize(o)],
    ['Stream.synchronize', (o) => device.defaultStream.synchronize(o)],
    ['Stream.room', (o) => device.defaultStream.room(o)],
    ['Device.createStream', (o) => device.createStream(o), 'Priority', 'priority'],
    ['Device.allocate', (o) => device.allocate(8, o)],
    ['Device.load', (o) => device.load({} as never, o)],
    ['Device.loadAll', (o) => device.loadAll([], o)],
    ['Scope.tensor', (o) => scope.tensor(data, o), 'size', 'shape'],
    ['Scope.empty', (o) => scope.empty([1], o)],
    ['Scope.zeros', (o) => scope.zeros([1], o)],
    ['Scope.full', (o) => scope.full([1], 1, o)],
    ['JitCache.open', (o) => JitCache.open(o)],
    ['JitCache.get', (o) => cache.get({} as never, {} as never, o)],
    ['JitCache.getAll', (o) => cache.getAll([], {} as never, o)],
    ['JitCache.prune', (o) => cache.prune(o)],
    ['JitCache.bundled', (o) => cache.bundled({} as never, o)],
    ['LazyReduction.call', (o) => sum.call([], o), 'dtype_acc', 'accumulate'],
    ['LazyReduction.prepare', (o) => sum.prepare([], o)],
    ['PreparedReduction', (o) => preparedSum([], o)],
    ['JointReduction.call', (o) => joint.call([], o)],
    ['JointReduction.prepare', (o) => joint.prepare([], o)],
    ['PreparedJointReduction', (o) => preparedJoint([], o)],
    ['Genred', (o) => row(a, a, o)],
    ['Genred.prepare', (o) => row.prepare(a, a, o)],
    ['PreparedCdist', (o) => prepared(a, a, o)],
    ['PreparedWeightedDifferences', (o) => preparedGrad(a, a, a, cube, o)],
    ['PreparedKernel', (o) => preparedKernel(a, a, o)],
    ['PreparedBackward', (o) => preparedBackward(a, a, a, o)],
    ['a prepared product', (o) => preparedProduct(a, a, o), 'betas', 'beta'],
    ['a prepared solve', (o) => preparedSolve(a, a, o)],
    ['PreparedKernel without b', (o) => preparedOfOne(a, o)],
    ['LazyTensor.matmul', (o) => d.matmul(a, o)],
    ['LazyTensor.toDense', (o) => d.toDense(o)],
    ['LazyTensor.diag', (o) => d.diag(o)],
    ['LazyFormula.toDense', (o) => d.toDense(o)],
    ['LazyFormula.diag', (o) => d.diag(o)],
    ['LazyTensor.reduceMany', (o) => d.reduceMany('j', { sum: 'Sum' }, o)],
    ['LazyTensor.reduceMany: a spec', (o) => d.reduceMany('j', { sum: o })],
    ['LazyTensor.nonzero', (o) => d.nonzero('j', o)],
    ['LazyTensor.histogram', (o) => d.histogram('j', o)],
    ['LazyTensor.reduction', (o) => d.reduction('Sum', 'j', o), 'opt_arg', 'k'],
    ['LazyTensor.sum over dim', (o) => (d.sum as Reduce)('dim', o)],
    ['LazyTensor.sumSoftMaxWeight', (o) => d.sumSoftMaxWeight(1, 'j', o)],
    ['ComplexLazyTensor.sum', (o) => complex.sum('j', o)],
    ['ComplexLazyTensor.mean', (o) => complex.mean('j', o)],
    ['ComplexLazyTensor.matmul', (o) => complex.matmul(complex, o)],
    ['ComplexLazyTensor.toDense', (o) => complex.toDense(o)],
    ['ComplexLazyTensor.diag', (o) => complex.diag(o)],
    ...['sum', 'prod', 'mean', 'any', 'all', 'count', 'var', 'logSumExp'].map(reduceRow),
    ...['min', 'max', 'argMin', 'argMax', 'minArgMin', 'maxArgMax'].map(reduceRow),
    ...['kMin', 'argKMin', 'kMinArgKMin', 'kMax', 'argKMax', 'kMaxArgKMax'].map((name): Row => [
      `LazyTensor.${name}`,
      (o) => (d as never as Methods)[name]?.(2, 'j', o),
    ]),
  ];
  function reduceRow(name: string): Row {
    return [`LazyTensor.${name}`, (o) => (d as never as Methods)[name]?.('j', o)];
  }
  const functions: readonly Row[] = [
    ['tensor', (o) => tensor(data, o), 'size', 'shape'],
    ['empty', (o) => mercer.empty([1], o)],
    ['zeros', (o) => mercer.zeros([1], o)],
    ['full', (o) => mercer.full([1], 1, o)],
    ['arange', (o) => mercer.arange(0, 3, 1, o)],
    ['linspace', (o) => mercer.linspace(0, 1, 3, o), 'end_point', 'endpoint'],
    ['eye', (o) => mercer.eye(3, o), 'column', 'columns'],
    ['diag', (o) => mercer.diag(a, 0, o)],
    ['oneHot', (o) => mercer.oneHot(at, 2, o), 'dtypes', 'dtype'],
    ['random.uniform', (o) => mercer.random.uniform([2], o), 'lower', 'low'],
    ['random.normal', (o) => mercer.random.normal([2], o), 'deviations', 'deviation'],
    ['random.permutation', (o) => mercer.random.permutation(2, o)],
    ['random.choice', (o) => mercer.random.choice(2, [1], o), 'replaces', 'replace'],
    ['grad', (o) => mercer.grad(sumOf, o)(a), 'argnum', 'argnums'],
    ['valueAndGrad', (o) => mercer.valueAndGrad(sumOf, o)(a), 'argnum', 'argnums'],
    ['vjp', (o) => mercer.vjp(sumOf, o)(a), 'hasaux', 'hasAux'],
    ['vmap', (o) => mercer.vmap((v: typeof a) => v, o)(a), 'inAxis', 'inAxes'],
    ['jvp', (o) => mercer.jvp(async (v: typeof a) => v, o)([a], [a]), 'detectNan', 'detectNaN'],
    ['hvp', (o) => mercer.hvp(sumOf, o)(a, a)],
    ['jacobian', (o) => mercer.jacobian(sumOf, o)(a)],
    ['hessian', (o) => mercer.hessian(sumOf, o)(a)],
    ['linearize', (o) => mercer.linearize(sumOf, o)(a)],
    ['checkGradients', (o) => mercer.checkGradients(sumOf, [a], o), 'orders', 'order'],
    [
      'scan',
      (o) => mercer.scan(async (c: typeof a) => [c, c] as const, a, a, o),
      'reversed',
      'reverse',
    ],
    ['concat', (o) => mercer.concat([a, a], 0, o), 'output', 'out'],
    ['concat.prepare', (o) => mercer.concat.prepare([a, a], 0, o)],
    ['stack', (o) => mercer.stack([a, a], 0, o)],
    ['stack.prepare', (o) => mercer.stack.prepare([a, a], 0, o)],
    ['tile', (o) => mercer.tile(a, 2, o)],
    ['tile.prepare', (o) => mercer.tile.prepare(a, 2, o)],
    ['pad', (o) => mercer.pad(a, 1, o), 'values', 'value'],
    ['pad.prepare', (o) => mercer.pad.prepare(a, 1, o)],
    ['take', (o) => mercer.take(a, at, 0, o), 'output', 'out'],
    ['take.prepare', (o) => mercer.take.prepare(a, at, 0, o)],
    ['takeAlongAxis', (o) => mercer.takeAlongAxis(a, [[0]], 0, o)],
    ['takeAlongAxis.prepare', (o) => mercer.takeAlongAxis.prepare(a, places, 0, o)],
    ['compress', (o) => mercer.compress(a, a.gt(0), undefined, o)],
    ['index', (o) => mercer.index(a, [[0]], o)],
    ['unique', (o) => mercer.unique(a, o)],
    ['cumSum', (o) => mercer.cumSum(a, 0, o)],
    ['cumSum.prepare', (o) => mercer.cumSum.prepare(a, 0, o)],
    ['topK', (o) => mercer.topK(a, 1, 0, o), 'largests', 'largest'],
    ['topK.prepare', (o) => mercer.topK.prepare(a, 1, 0, o)],
    ['sort', (o) => mercer.sort(a, 0, o), 'descendings', 'descending'],
    ['sort.prepare', (o) => mercer.sort.prepare(a, 0, o)],
    ['argSort', (o) => mercer.argSort(a, 0, o)],
    ['argSort.prepare', (o) => mercer.argSort.prepare(a, 0, o)],
    ['scatterAdd', (o) => mercer.scatterAdd(a, at, 2, o)],
    ['scatterAdd.prepare', (o) => mercer.scatterAdd.prepare(a, at, 2, o)],
    ['countRows', (o) => mercer.countRows(at, 2, o)],
    ['countRows.prepare', (o) => mercer.countRows.prepare(at, 2, o)],
    ['gatherRows', (o) => mercer.gatherRows(a, at, o)],
    ['gatherRows.prepare', (o) => mercer.gatherRows.prepare(a, at, o)],
    ['map', (o) => mercer.map(formula.variable('a'), { a }, o)],
    ['map.prepare', (o) => mercer.map.prepare(formula.variable('a'), { a }, o)],
    ['UnsafeKernel', (o) => negated({ x: a }, o)],
    ['UnsafeKernel.prepare', (o) => negated.prepare({ x: a }, o)],
    ['sumTo', (o) => mercer.sumTo(a, [1], o)],
    ['sumTo.prepare', (o) => mercer.sumTo.prepare(a, [1], o)],
    ['cpu.builtin', (o) => mercer.cpu.builtin('copy', o)],
    ['configureJitCache', (o) => mercer.configureJitCache(o)],
    ['cdist', (o) => cdist(a, a, o), 'P', 'p'],
    ['cdist.prepare', (o) => cdist.prepare(a, a, o), 'metric', 'p'],
    ['weightedDifferences', (o) => weightedDifferences(a, a, a, cube, o)],
    ['weightedDifferences.prepare', (o) => weightedDifferences.prepare(a, a, a, cube, o)],
    ['cdistBackward', (o) => mercer.cdistBackward(a, a, a, o), 'outs', 'out'],
    ['cdistBackward.prepare', (o) => mercer.cdistBackward.prepare(a, a, a, o)],
    ['runKernel', (o) => mercer.runKernel(kernel, a, a, o), 'sigma', 'bandwidth'],
    [
      'runKernel without b',
      (o) => mercer.runKernel<Gaussian, typeof a, Bandwidth>(kernel, a, o),
      'sigma',
      'bandwidth',
    ],
    ['runKernel.prepare', (o) => mercer.runKernel.prepare(kernel, a, a, o)],
    [
      'runKernel.prepare without b',
      (o) => mercer.runKernel.prepare<Gaussian, 'float32', Bandwidth>(kernel, a, o),
    ],
    ['runKernelBackward', (o) => mercer.runKernelBackward(kernel, a, a, a, o)],
    ['runKernelBackward.prepare', (o) => mercer.runKernelBackward.prepare(kernel, a, a, a, o)],
    [
      'runKernelBackward without b',
      (o) => mercer.runKernelBackward<Gaussian, 'float32', Bandwidth>(kernel, a, a, o),
    ],
    ['customKernel', (o) => mercer.customKernel(formula.variable('d'), o)],
    ['precompile', (o) => mercer.precompile([], o)],
    ['genred', (o) => genred('x', ['x = Vi(1)'], o), 'dim', 'axis'],
    ['genericLogSumExp', (o) => mercer.genericLogSumExp('x', 'a = Vj(1)', ['x = Vi(1)'], o)],
    ['gradient', (o) => mercer.gradient(sum, 'x', vector, o)],
    ['valueAndGradients', (o) => mercer.valueAndGradients(sum, { x: 'x' }, o)],
    ['gridCluster', (o) => mercer.gridCluster(a, 1, o)],
    ['sortClusters', (o) => mercer.sortClusters(a, labels, o)],
    ['clusterRanges', (o) => mercer.clusterRanges(labels, o)],
    ['clusterCentroids', (o) => mercer.clusterCentroids(a, labels, o), 'weight', 'weights'],
    ['clusterRangesCentroids', (o) => mercer.clusterRangesCentroids(a, labels, o)],
    ['cutoffOf', (o) => mercer.cutoffOf(o)],
    ['fromMatrix', (o) => mercer.fromMatrix([], [], a, o)],
    ['kMeans', (o) => mercer.kMeans(a, 2, o), 'maxIteration', 'maxIterations'],
    ['truncatedRanges', (o) => mercer.truncatedRanges(a, a, o), 'cutOff', 'cutoff'],
    ['lazyI', (o) => lazyI(a, o)],
    ['lazyJ', (o) => lazyJ(a, o)],
    ['lazyPair', (o) => mercer.lazyPair(a, o)],
    ['param', (o) => mercer.param(vector, o)],
    ['joinGroup', (o) => mercer.joinGroup(o), 'ranks', 'rank'],
    ['ProcessGroup.allReduce', (o) => mercer.ProcessGroup.prototype.allReduce.call({}, a, o)],
    ['lazy', (o) => mercer.lazy(a, 'i', o)],
    ['lazy without axis', (o) => mercer.lazy(cube, o)],
    ['cholesky', (o) => mercer.cholesky(a, o), 'fillMode', 'uplo'],
    ['cholesky.prepare', (o) => mercer.cholesky.prepare(a, o)],
    ['refineEigenbasis', (o) => mercer.refineEigenbasis(a, a, o)],
    ['refineEigenbasis.prepare', (o) => mercer.refineEigenbasis.prepare(a, a, o)],
    ['conditionEstimate', (o) => mercer.conditionEstimate(a, o)],
    ['conditionEstimate.prepare', (o) => mercer.conditionEstimate.prepare(a, o)],
    ['eigh', (o) => mercer.eigh(a, o), 'UPLO', 'uplo'],
    ['eigh.prepare', (o) => mercer.eigh.prepare(a, o)],
    ['einsum', (o) => mercer.einsum('ij,jk', [a, a], o)],
    ['einsum.prepare', (o) => mercer.einsum.prepare('ij,jk', [a, a], o)],
    ['inv', (o) => mercer.inv(a, o)],
    ['inv.prepare', (o) => mercer.inv.prepare(a, o)],
    ['kron', (o) => mercer.kron(a, a, o)],
    ['kron.prepare', (o) => mercer.kron.prepare(a, a, o)],
    ['kronMatvec', (o) => mercer.kronMatvec(a, a, a, o)],
    ['kronMatvec.prepare', (o) => mercer.kronMatvec.prepare(a, a, a, o)],
    ['logdet', (o) => mercer.logdet(a, o)],
    ['logdet.prepare', (o) => mercer.logdet.prepare(a, o)],
    ['lstsq', (o) => mercer.lstsq(a, a, o)],
    ['lstsq.prepare', (o) => mercer.lstsq.prepare(a, a, o)],
    ['matmul', (o) => mercer.matmul(a, a, o), 'transpose_a', 'transposeA'],
    ['matmul.prepare', (o) => mercer.matmul.prepare(a, a, o)],
    ['matrixPower', (o) => mercer.matrixPower(a, 2, o)],
    ['matrixPower.prepare', (o) => mercer.matrixPower.prepare(a, 2, o)],
    ['qr', (o) => mercer.qr(a, o)],
    ['qr.prepare', (o) => mercer.qr.prepare(a, o)],
    ['svd', (o) => mercer.svd(a, o)],
    ['svd.prepare', (o) => mercer.svd.prepare(a, o)],
    ['solveCholesky', (o) => mercer.solveCholesky(a, a, o), 'fillMode', 'uplo'],
    ['solveCholesky.prepare', (o) => mercer.solveCholesky.prepare(a, a, o)],
    ['solveLU', (o) => mercer.solveLU(a, a, o)],
    ['solveLU.prepare', (o) => mercer.solveLU.prepare(a, a, o)],
    ['solveTriangular', (o) => mercer.solveTriangular(a, a, o)],
    ['solveTriangular.prepare', (o) => mercer.solveTriangular.prepare(a, a, o)],
    ['choleskyBackward', (o) => mercer.choleskyBackward(a, { factor: a }, o)],
    ['choleskyBackward.prepare', (o) => mercer.choleskyBackward.prepare(a, { factor: a }, o)],
    ['eighBackward', (o) => mercer.eighBackward({}, { values: vector, vectors: a }, o)],
    [
      'eighBackward.prepare',
      (o) => mercer.eighBackward.prepare({}, { values: vector, vectors: a }, o),
    ],
    ['invBackward', (o) => mercer.invBackward(a, { inverse: a }, o)],
    ['invBackward.prepare', (o) => mercer.invBackward.prepare(a, { inverse: a }, o)],
    ['kronBackward', (o) => mercer.kronBackward(a, { a, b: a }, o)],
    ['kronBackward.prepare', (o) => mercer.kronBackward.prepare(a, { a, b: a }, o)],
    ['kronMatvecBackward', (o) => mercer.kronMatvecBackward(a, saved, o)],
    ['kronMatvecBackward.prepare', (o) => mercer.kronMatvecBackward.prepare(a, saved, o)],
    ['logdetBackward', (o) => mercer.logdetBackward(vector, { a }, o)],
    ['logdetBackward.prepare', (o) => mercer.logdetBackward.prepare(vector, { a }, o)],
    ['lstsqBackward', (o) => mercer.lstsqBackward(a, saved, o)],
    ['lstsqBackward.prepare', (o) => mercer.lstsqBackward.prepare(a, saved, o)],
    ['matmulBackward', (o) => mercer.matmulBackward(a, { a, b: a }, o)],
    ['matmulBackward.prepare', (o) => mercer.matmulBackward.prepare(a, { a, b: a }, o)],
    ['matrixPowerBackward', (o) => mercer.matrixPowerBackward(a, { a }, 2, o)],
    ['matrixPowerBackward.prepare', (o) => mercer.matrixPowerBackward.prepare(a, { a }, 2, o)],
    ['qrBackward', (o) => mercer.qrBackward({}, { q: a, r: a }, o)],
    ['qrBackward.prepare', (o) => mercer.qrBackward.prepare({}, { q: a, r: a }, o)],
    ['solveCholeskyBackward', (o) => mercer.solveCholeskyBackward(a, saved, o)],
    ['solveCholeskyBackward.prepare', (o) => mercer.solveCholeskyBackward.prepare(a, saved, o)],
    ['solveLUBackward', (o) => mercer.solveLUBackward(a, saved, o)],
    ['solveLUBackward.prepare', (o) => mercer.solveLUBackward.prepare(a, saved, o)],
    ['svdBackward', (o) => mercer.svdBackward({}, { u: a, values: vector, v: a } as never, o)],
    [
      'svdBackward.prepare',
      (o) => mercer.svdBackward.prepare({}, { u: a, values: vector, v: a } as never, o),
    ],
    ['solveTriangularBackward', (o) => mercer.solveTriangularBackward(a, saved, o)],
    ['solveTriangularBackward.prepare', (o) => mercer.solveTriangularBackward.prepare(a, saved, o)],
    ['formula.simplify', (o) => formula.simplify(formula.variable('a'), o)],
    ['formula.simplifyAll', (o) => formula.simplifyAll([], o)],
    ['formula.reduction', (o) => formula.reduction('Sum', v, o), 'K', 'k'],
    ['formula.parseFormula', (o) => formula.parseFormula('1', [], o)],
    ['formula.parseReduction', (o) => formula.parseReduction('Sum_Reduction(1, 0)', [], o)],
    ['formula.printFormula', (o) => formula.printFormula(v, o)],
    ['formula.printReduction', (o) => formula.printReduction(formula.reduction('Sum', v), o)],
    ['npy.decodeNpy', (o) => npy.decodeNpy(bytes, o)],
    ['npy.encodeNpy', (o) => npy.encodeNpy({ data, shape: [16] }, o)],
    ['npy.readNpy', (o) => npy.readNpy(bytes, o)],
    ['npy.openNpy', (o) => npy.openNpy('/nowhere/a.npy', o)],
    ['npy.writeNpy', (o) => npy.writeNpy('/nowhere/a.npy', { data, shape: [16] }, o)],
    ['npy.writeFileWhole', (o) => npy.writeFileWhole('/nowhere/a', [], o)],
    ['npy.readNpz', (o) => npy.readNpz(bytes, o)],
    ['npy.listNpz', (o) => npy.listNpz(bytes, o)],
    ['npy.writeNpz', (o) => npy.writeNpz('/nowhere/a.npz', {}, o)],
    ['safetensors.readSafetensors', (o) => safetensors.readSafetensors(bytes, o)],
    [
      'safetensors.writeSafetensors',
      (o) => safetensors.writeSafetensors('/nowhere/a.safetensors', {}, o),
      'metaData',
      'metadata',
    ],
    ['autocast', (o) => mercer.autocast(sumOf, o), 'dType', 'dtype'],
    ['withStatistics', (o) => mercer.withStatistics(sumOf, o)],
    [
      'perSampleGradients',
      (o) => mercer.perSampleGradients(sumOf, a, a, a, o),
      'chunksize',
      'chunkSize',
    ],
    ['functional.attention', (o) => mercer.functional.attention(a, a, a, o)],
    ['initialisers.kaimingNormal', (o) => mercer.initialisers.kaimingNormal(o)],
    ['initialisers.kaimingUniform', (o) => mercer.initialisers.kaimingUniform(o)],
    ['initialisers.truncatedNormal', (o) => mercer.initialisers.truncatedNormal(o)],
    ['initialisers.xavierNormal', (o) => mercer.initialisers.xavierNormal(o)],
    ['initialisers.xavierUniform', (o) => mercer.initialisers.xavierUniform(o)],
    ['layers.averagePool2d', (o) => mercer.layers.averagePool2d(o)],
    ['layers.batchNorm', (o) => mercer.layers.batchNorm(o)],
    ['layers.conv1d', (o) => mercer.layers.conv1d(o)],
    ['layers.conv2d', (o) => mercer.layers.conv2d(o), 'strides', 'stride'],
    ['layers.dropout', (o) => mercer.layers.dropout(o)],
    ['layers.embedding', (o) => mercer.layers.embedding(o)],
    ['layers.layerNorm', (o) => mercer.layers.layerNorm(o)],
    ['layers.linear', (o) => mercer.layers.linear(o), 'output', 'outputs'],
    ['layers.loadWeights', (o) => mercer.layers.loadWeights('/nowhere/a.safetensors', { a }, o)],
    ['layers.maxPool2d', (o) => mercer.layers.maxPool2d(o)],
    ['layers.multiHeadAttention', (o) => mercer.layers.multiHeadAttention(o)],
    ['layers.saveWeights', (o) => mercer.layers.saveWeights('/nowhere/a.safetensors', { a }, o)],
    [
      'losses.binaryCrossEntropyWithLogits',
      (o) => mercer.losses.binaryCrossEntropyWithLogits(a, a, o),
    ],
    ['losses.crossEntropy', (o) => mercer.losses.crossEntropy(a, labels, o)],
    ['losses.huber', (o) => mercer.losses.huber(a, a, o)],
    ['losses.l1', (o) => mercer.losses.l1(a, a, o)],
    ['losses.mse', (o) => mercer.losses.mse(a, a, o)],
    ['losses.nll', (o) => mercer.losses.nll(a, labels, o)],
  ];
  const arithmetic = Object.entries(OPERATIONS).flatMap(([name, more]): readonly Row[] => {
    const others = REDUCTIONS.has(name) ? [0] : Array.from({ length: more }, () => a);
    const method: Row = [`Tensor.${name}`, (o) => (a as never as Methods)[name]?.(...others, o)];
    const ofAll = (mercer as never as Methods)[name];
    return ofAll === undefined ? [method] : [method, [name, (o) => ofAll(a, ...others, o)]];
  });
  return [...functions, ...methods, ...arithmetic, ...runtimeRows()];
}

const named = (names: string, more: number): Readonly<Record<string, number>> =>
  Object.fromEntries(names.split(' ').map((name) => [name, more]));

/** They take axes before their options. */
const REDUCTIONS = new Set(
  'sum mean prod min max argMin argMax any all var std norm logSumExp'.split(' '),
);

/** Elementwise operations and reductions, with the number of operands beside the tensor. */
const OPERATIONS: Readonly<Record<string, number>> = {
  ...named(
    'neg abs sign square relu floor ceil round reciprocal exp expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh erf erfc lgamma sigmoid softplus gelu logicalNot isNaN isFinite isInfinite',
    0,
  ),
  ...named(
    'add sub mul mod pow minimum maximum div atan2 eq ne lt le gt ge logicalAnd logicalOr logicalXor',
    1,
  ),
  ...named('where clamp', 2),
  ...named([...REDUCTIONS].join(' '), 0),
};

type Methods = Record<string, ((...args: unknown[]) => unknown) | undefined>;
type Gaussian = typeof mercer.kernels.gaussian;
type Bandwidth = { readonly bandwidth: number };
type Reduce = (axis: 'dim', options: never) => unknown;

/** What a call throws or rejects with. */
async function errorOf(call: Call, options: unknown): Promise<Error & { code?: unknown }> {
  try {
    await call(options as never);
  } catch (error) {
    return error as Error;
  }
  return new WentThrough();
}

/** Of a call that nothing stopped. */
class WentThrough extends Error {
  readonly code = 'THROUGH';
}

/** The options that a call knows, as it says itself. */
async function optionsOf(call: Call): Promise<readonly string[]> {
  const { message } = await errorOf(call, { bogus: 1 });
  return /The options are (.*)\.$/.exec(message)?.[1]?.split(', ') ?? [];
}

/** Rows whose receivers or units are stand-ins, which no more than the reading of options goes through. */
const STAND_INS =
  /^(JitCache\.(get|bundled)|CudaDevice\.create(Stream|Event)|CpuFunction\.launch|NcclCommunicator\.all(Reduce|Gather)|ProcessGroup\.allReduce)$/;

function throwing(): object {
  return {
    get debug() {
      throw new TypeError('a getter');
    },
  };
}

const revoked = Proxy.revocable({}, {});
revoked.revoke();

const ODD: readonly (readonly [what: string, value: unknown])[] = [
  ['null', null],
  ['a Symbol', Symbol('odd')],
  ['a number', 7],
  ['NaN', NaN],
  ['a BigInt', 7n],
  ['a string', 'odd'],
  ['true', true],
  ['a function', () => undefined],
  ['an unknown name', { bogus: 1 }],
  ['an unknown name without a value', { bogus: undefined }],
  ['a Symbol as a name', { [Symbol('odd')]: 1 }],
  ['a getter that throws', throwing()],
  ['a revoked Proxy', revoked.proxy],
];

const ODD_VALUES: readonly (readonly [what: string, value: unknown])[] = [
  ['a BigInt', 3n],
  ['null', null],
  ['an object without a prototype', Object.create(null)],
  ['a revoked Proxy', revoked.proxy],
];

beforeAll(async () => {
  // Options are read before a kernel is chosen: on the interpreter nothing waits for a compiler.
  if (process.env['MERCER_TEST_FULL'] !== '1') vi.stubEnv('MERCER_CPU', 'interpreted');
  table = await rowsOf();
});

describe('options of every public entry point', () => {
  it.each(ODD)('are refused with a code where they are %s', async (_, odd) => {
    const through: string[] = [];
    for (const [name, call] of table) {
      const { code, message } = await errorOf(call, odd);
      if (!/^(INVALID_ARGUMENT|NPY_ARGUMENT)$/.test(String(code))) {
        through.push(`${name}: ${String(code)} ${message}`);
      }
    }
    expect(through).toEqual([]);
  });

  it.each(ODD_VALUES)('go through or are refused with a code where one is %s', async (_, odd) => {
    const through: string[] = [];
    for (const [name, call] of table) {
      if (STAND_INS.test(name)) continue;
      for (const option of await optionsOf(call)) {
        if (option === 'debug') continue; // it would print
        const error = await errorOf(call, { [option]: odd });
        if (error instanceof mercer.MercerError || error instanceof WentThrough) continue;
        through.push(`${name}: ${option}: ${error.message}`);
      }
    }
    expect(through).toEqual([]);
  });

  it('are never Symbols', async () => {
    for (const [name, call] of table) {
      for (const option of await optionsOf(call)) {
        const { message } = await errorOf(call, { [option]: Symbol('odd') });
        expect(`${name}: ${message}`).toContain(`${option} is Symbol(odd). `);
      }
    }
  });

  it('name the nearest option', async () => {
    for (const [name, call, wrong, meant] of table) {
      if (wrong === undefined) continue;
      const { message } = await errorOf(call, { [wrong]: 1 });
      expect(`${name}: ${message}`).toContain(`no option '${wrong}'. Did you mean '${meant}'?`);
    }
  });

  it('are own properties: nothing is read from Object.prototype', async () => {
    const a = await tensor(data, { shape: [rows, rows], device: 'cpu' });
    const wanted = await (await cdist(a, a)).toNested();
    const sums = await (await lazyI(a).sqdist(lazyJ(a)).sum('j')).toNested();
    const polluted: Record<string, unknown> = {
      p: 1,
      skipEpilogue: true,
      out: a,
      dtype: 'float64',
      device: 'cuda:7',
      stream: 3,
    };
    const prototype = Object.prototype as Record<string, unknown>;
    let found: unknown[] = [];
    try {
      Object.assign(prototype, polluted);
      found = [
        await (await cdist(a, a)).toNested(),
        await (await cdist(a, a, {})).toNested(),
        await (await lazyI(a).sqdist(lazyJ(a)).sum('j')).toNested(),
      ];
    } finally {
      for (const name of Object.keys(polluted)) Reflect.deleteProperty(prototype, name);
    }
    expect(found).toEqual([wanted, wanted, sums]);
  });

  it('are all in the table: the types know no others', () => {
    const named = new Set(table.map(([name]) => name));
    expect(entryPoints().filter((name) => !named.has(name) && !OTHERS.test(name))).toEqual([]);
  });
});

/** What a type is called whose values are options. */
const OPTIONS_TYPE =
  /\b\w*(Options|Option|Request|Geometry|TileProgram)\b|\b(Factor|[A-Z][a-z]*)Shape\b/;

/** Functions and methods of the published types that have a parameter of a type with such a name. */
function entryPoints(): readonly string[] {
  const packages = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
  const files = [
    'core/dist/index',
    'core/dist/npy',
    'core/dist/safetensors',
    'cpu-runtime/dist/index',
    'cuda-runtime/dist/index',
  ].map((file) => path.join(packages, `${file}.d.ts`));
  const program = ts.createProgram(files, {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    strict: true,
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const found = new Set<string>();
  const takesOptions = (type: ts.Type): boolean =>
    type.getCallSignatures().some((one) =>
      one.parameters.some(({ valueDeclaration: at }) => {
        if (at === undefined || !ts.isParameter(at) || at.type === undefined) return false;
        return OPTIONS_TYPE.test(at.type.getText());
      }),
    );
  const visit = (symbol: ts.Symbol, prefix: string, nested: boolean): void => {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    const name = prefix + symbol.name;
    const at = target.valueDeclaration;
    if (
      target.flags & ts.SymbolFlags.NamespaceModule ||
      target.flags & ts.SymbolFlags.ValueModule
    ) {
      for (const one of checker.getExportsOfModule(target)) visit(one, `${name}.`, nested);
      return;
    }
    const isType = target.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface);
    if (isType) {
      const type = checker.getDeclaredTypeOfSymbol(target);
      if (type.getCallSignatures().length > 0 && takesOptions(type)) found.add(name);
      for (const member of type.getProperties()) {
        if (member.valueDeclaration === undefined) continue;
        if (member.name.startsWith('__@')) continue; // by a Symbol: Node calls it
        if (takesOptions(checker.getTypeOfSymbolAtLocation(member, member.valueDeclaration))) {
          found.add(`${name}.${member.name}`);
        }
      }
    }
    if (at === undefined) return;
    const type = checker.getTypeOfSymbolAtLocation(target, at);
    if (!isType && takesOptions(type)) found.add(name);
    for (const member of type.getProperties()) {
      if (nested || member.valueDeclaration === undefined) continue;
      if (takesOptions(checker.getTypeOfSymbolAtLocation(member, member.valueDeclaration))) {
        found.add(`${name}.${member.name}`);
      }
    }
  };
  for (const file of files) {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    const [, prefix = ''] = /core\/dist\/((?!index)\w+\.)d\.ts$/.exec(file) ?? [];
    for (const one of module ? checker.getExportsOfModule(module) : []) visit(one, prefix, false);
  }
  return [...found].sort();
}
