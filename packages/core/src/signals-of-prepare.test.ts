import { beforeAll, describe, expect, it } from 'vitest';
import { abortedEverywhere, disposeAll } from '../../tensor/test/aborted-everywhere.mjs';
import * as mercer from './index.js';
import { expectCompilerStopped } from './stopped-compiler.test-support.js';
import { undisposedBytes } from '../../tensor/test/memory-kept.mjs';

type Options = { readonly signal: AbortSignal };
type Prepare = (options: Options) => Promise<unknown>;

/** A preparation, one whose arguments are refused, and what the prepared call is given. */
type Row = readonly [
  name: string,
  prepare: Prepare,
  refused: Prepare,
  args: () => readonly unknown[],
];

const reason = new Error('given up');
const { kernels, formula } = mercer;
const decay = mercer.kernelDescriptor({
  innerOperator: 'diff',
  innerPower: 'square',
  outerPower: 'none',
  kernel: mercer.customKernel(formula.exp(formula.mul(formula.variable('d'), -0.625))),
});
const ranges = { rangesI: [[0, 3]], slicesI: [1], redrangesJ: [[0, 3]] } as const;
const width = { bandwidth: 1 };

let a: mercer.Tensor<'float32'>;
let wide: mercer.Tensor<'float32'>;
let square: mercer.Tensor<'float32'>;
/** (3, 1). */
let ones: mercer.Tensor<'float32'>;
let index: mercer.Tensor<'int32'>;

beforeAll(async () => {
  // Else the kernels of an earlier run would be found, and no compiler would start.
  mercer.configureJitCache({ mode: 'off' });
  const place = { device: 'cpu' } as const;
  a = await mercer.full([3, 2], 0.5, place);
  wide = await mercer.full([3, 5], 0.5, place);
  square = await mercer.full([3, 3], 0.5, place);
  ones = await mercer.full([3, 1], 1, place);
  index = await mercer.tensor(Int32Array.of(0, 1, 0), place);
});

const distance = (): mercer.LazyTensor => mercer.lazyI(a, { name: 'x' }).sqdist(mercer.lazyJ(a));
const soft = mercer.genred('Exp(-SqDist(x, y))', ['x = Vi(2)', 'y = Vj(2)'], { axis: 'j' });
const slope = mercer.genred('Grad(Sum_Reduction(Sin(SqDist(x, y)), 0), x, e)', [
  'x = Vi(2)',
  'y = Vj(2)',
  'e = Vi(1)',
]);
const joint = mercer.jointReduction({
  weight: soft.reduction,
  nearest: mercer.genred('SqDist(x, y)', ['x = Vi(2)', 'y = Vj(2)'], {
    reduction: 'ArgMin',
    axis: 'j',
  }).reduction,
});
const withSlopes = (): mercer.JointReduction =>
  mercer.withGradients(distance().atan().reduction('Sum', 'j'), { x: 'x' });

/** Kernels that hold a formula: a compiler makes them. */
const COMPILED: readonly Row[] = [
  [
    'cdist',
    (o) => mercer.cdist.prepare(a, a, { p: 1.3, ...o }),
    (o) => mercer.cdist.prepare(a, wide, o),
    () => [a, a],
  ],
  [
    'runKernel',
    (o) => mercer.runKernel.prepare(kernels.gaussian, a, a, { ...width, ...o }),
    (o) => mercer.runKernel.prepare(kernels.gaussian, a, wide, { ...width, ...o }),
    () => [a, a],
  ],
  [
    'runKernel of a custom kernel',
    (o) => mercer.runKernel.prepare(decay, a, a, o),
    (o) => mercer.runKernel.prepare(decay, a, wide, o),
    () => [a, a],
  ],
  [
    'runKernel of prepared rows',
    (o) => mercer.runKernel.prepare(kernels.cosine, a, a, { scale: 2, ...o }),
    (o) => mercer.runKernel.prepare(kernels.cosine, a, wide, { scale: 2, ...o }),
    () => [a, a],
  ],
  [
    'weightedDifferences',
    (o) => mercer.weightedDifferences.prepare(square, square, square, square, o),
    (o) => mercer.weightedDifferences.prepare(square, square, wide, square, o),
    () => [square, square, square, square],
  ],
  [
    'cdistBackward',
    (o) => mercer.cdistBackward.prepare(square, a, a, { p: 1.5, wrt: ['a', 'b', 'p'], ...o }),
    (o) => mercer.cdistBackward.prepare(square, a, wide, o),
    () => [square, a, a],
  ],
  [
    'runKernelBackward',
    (o) => mercer.runKernelBackward.prepare(kernels.gaussian, square, a, a, { ...width, ...o }),
    (o) => mercer.runKernelBackward.prepare(kernels.gaussian, square, a, wide, { ...width, ...o }),
    () => [square, a, a],
  ],
  [
    'LazyReduction',
    (o) => distance().sqrt().reduction('LogSumExp', 'j').prepare([], o),
    (o) => soft.reduction.prepare([a, wide], o),
    () => [[]],
  ],
  [
    'LazyReduction with ranges',
    (o) =>
      distance()
        .cos()
        .reduction('Sum', 'j')
        .prepare([], { ranges, ...o }),
    (o) =>
      distance()
        .cos()
        .reduction('Sum', 'i')
        .prepare([], { ranges, ...o }),
    () => [[]],
  ],
  ['genred', (o) => soft.prepare(a, a, o), (o) => soft.prepare(a, wide, o), () => [[a, a]]],
  [
    'genred of a gradient',
    (o) => slope.prepare(a, a, ones, o),
    (o) => slope.prepare(a, a, a, o),
    () => [[a, a, ones]],
  ],
  [
    'JointReduction',
    (o) => joint.prepare([a, a], o),
    (o) => joint.prepare([a, wide], o),
    () => [[a, a]],
  ],
  [
    'a sum with its gradients',
    (o) => withSlopes().prepare([], o),
    (o) => withSlopes().prepare([a], o),
    () => [[]],
  ],
  [
    'choleskyBackward',
    (o) => mercer.choleskyBackward.prepare(square, { factor: square }, o),
    (o) => mercer.choleskyBackward.prepare(square, { factor: a }, o),
    () => [square, { factor: square }],
  ],
  [
    'einsum',
    (o) => mercer.einsum.prepare('ij,ij->ij', [a, a], o),
    (o) => mercer.einsum.prepare('ij,ji->ij', [a, a], o),
    () => [[a, a]],
  ],
  [
    'map',
    (o) => mercer.map.prepare(formula.exp(formula.variable('u')), { u: a }, o),
    (o) => mercer.map.prepare(formula.exp(formula.variable('u')), { v: a }, o),
    () => [{ u: a }],
  ],
];

/** Built-in functions on a CPU: nothing is compiled. */
const BUILT_IN: readonly Row[] = [
  [
    'sumTo',
    (o) => mercer.sumTo.prepare(a, [1, 2], o),
    (o) => mercer.sumTo.prepare(a, [7], o),
    () => [a, [1, 2]],
  ],
  [
    'scatterAdd',
    (o) => mercer.scatterAdd.prepare(a, index, 2, o),
    (o) => mercer.scatterAdd.prepare(a, index, -1, o),
    () => [a, index, 2],
  ],
  [
    'gatherRows',
    (o) => mercer.gatherRows.prepare(a, index, o),
    (o) => mercer.gatherRows.prepare(a, a as never, o),
    () => [a, index],
  ],
  [
    'solveCholesky',
    (o) => mercer.solveCholesky.prepare(square, ones, o),
    (o) => mercer.solveCholesky.prepare(square, a.transpose(), o),
    () => [square, ones],
  ],
  [
    'solveLU',
    (o) => mercer.solveLU.prepare(square, ones, o),
    (o) => mercer.solveLU.prepare(a, ones, o),
    () => [square, ones],
  ],
  [
    'solveTriangular',
    (o) => mercer.solveTriangular.prepare(square, ones, o),
    (o) => mercer.solveTriangular.prepare(square, a.transpose(), o),
    () => [square, ones],
  ],
  [
    'cholesky',
    (o) => mercer.cholesky.prepare(square, o),
    (o) => mercer.cholesky.prepare(a, o),
    () => [square],
  ],
  ['inv', (o) => mercer.inv.prepare(square, o), (o) => mercer.inv.prepare(a, o), () => [square]],
  [
    'logdet',
    (o) => mercer.logdet.prepare(square, o),
    (o) => mercer.logdet.prepare(a, o),
    () => [square],
  ],
  [
    'conditionEstimate',
    (o) => mercer.conditionEstimate.prepare(square, o),
    (o) => mercer.conditionEstimate.prepare(a, o),
    () => [square],
  ],
  [
    'refineEigenbasis',
    (o) => mercer.refineEigenbasis.prepare(square, square, o),
    (o) => mercer.refineEigenbasis.prepare(a, a, o),
    () => [square, square],
  ],
  ['qr', (o) => mercer.qr.prepare(a, o), (o) => mercer.qr.prepare(ones.reshape([3]), o), () => [a]],
  [
    'matmul',
    (o) => mercer.matmul.prepare(square, a, o),
    (o) => mercer.matmul.prepare(a, square, o),
    () => [square, a],
  ],
  [
    'kron',
    (o) => mercer.kron.prepare(a, ones, o),
    (o) => mercer.kron.prepare(a, index as never, o),
    () => [a, ones],
  ],
  [
    'kronMatvec',
    (o) => mercer.kronMatvec.prepare(square, ones, ones.reshape([3]), o),
    (o) => mercer.kronMatvec.prepare(square, a, ones.reshape([3]), o),
    () => [square, ones, ones.reshape([3])],
  ],
  [
    'countRows',
    (o) => mercer.countRows.prepare(index, 2, o),
    (o) => mercer.countRows.prepare(index, -1, o),
    () => [index, 2],
  ],
];

const undisposed = (): number => undisposedBytes(a.device);

// First of all: no kernel is there yet.
describe('a preparation that waits for the compiler', () => {
  it.each(COMPILED)(
    'of %s is given up at once, and the compiler is stopped',
    async (_, prepare) => {
      await expectCompilerStopped((signal) => prepare({ signal }), undisposed);
    },
  );
});

describe('a preparation', () => {
  it.each([...COMPILED, ...BUILT_IN])(
    'of %s, aborted wherever it looks, leaves no memory behind',
    async (_, prepare) => {
      expect(await abortedEverywhere((signal) => prepare({ signal }), undisposed)).toBeGreaterThan(
        0,
      );
    },
  );

  it.each([...COMPILED, ...BUILT_IN])(
    'of %s is not begun where the signal has aborted, whatever its arguments are',
    async (_, prepare, refused) => {
      const signal = AbortSignal.abort(reason);
      await expect(prepare({ signal })).rejects.toBe(reason);
      await expect(refused({ signal })).rejects.toBe(reason);
      // The arguments are bad indeed, and options are read before the signal is looked at.
      await expect(refused({ signal: new AbortController().signal })).rejects.toThrow(
        mercer.MercerError,
      );
      await expect(prepare({ signal, bogus: 1 } as Options)).rejects.toThrow("no option 'bogus'");
    },
  );

  it.each([...COMPILED, ...BUILT_IN])(
    'of %s that has resolved is not undone by its signal, and its calls take none',
    async (_, prepare, __, args) => {
      const controller = new AbortController();
      const { signal } = controller;
      const call = (await prepare({ signal })) as (...given: readonly unknown[]) => unknown;
      controller.abort(reason);
      expect(() => call(...args(), { signal })).toThrow("no option 'signal'");
      const results = call(...args());
      expect(results).toBeTypeOf('object');
      disposeAll(results);
      disposeAll(call);
    },
  );
});
