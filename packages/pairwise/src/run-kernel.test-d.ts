import { variable } from '@mercer/formula';
import type { Tensor } from '@mercer/tensor';
import { describe, expectTypeOf, it } from 'vitest';
import {
  customKernel,
  kernelDescriptor,
  kernels,
  precompile,
  runKernel,
  type AnyRunKernelOptions,
  type KernelDescriptor,
  type PairwiseDType,
  type PairwisePlan,
  type RunKernelOptions,
} from './index.js';

declare const f32: Tensor<'float32'>;
declare const f64: Tensor<'float64'>;
declare const i32: Tensor<'int32'>;
declare const maybe: Tensor<'float32'> | undefined;
declare const promised: Promise<Tensor<'float32'>>;
declare const unknownOne: KernelDescriptor;

const diff = { innerOperator: 'diff', innerPower: 'square', outerPower: 'none' } as const;
const product = { innerOperator: 'dot', innerPower: 'none', outerPower: 'none' } as const;

describe('kernelDescriptor', () => {
  it('keeps the literal types', () => {
    const made = kernelDescriptor({ ...diff, outerPower: 'pow', kernel: 'laplace' });
    expectTypeOf(made.outerPower).toEqualTypeOf<'pow'>();
    expectTypeOf(made.kernel).toEqualTypeOf<'laplace'>();
    expectTypeOf(made).toExtend<KernelDescriptor>();
    // @ts-expect-error it is immutable
    made.kernel = 'laplace';
  });

  it('takes laplace, gaussian, none and custom kernels with any powers', () => {
    kernelDescriptor({ ...product, innerPower: 'abs', outerPower: 'sqrt', kernel: 'gaussian' });
    kernelDescriptor({ ...product, kernel: customKernel(variable('d')) });
    kernelDescriptor({ ...diff, innerPower: 'pow', kernel: 'none' });
  });

  it('refuses combinations that mean nothing', () => {
    // @ts-expect-error a radial kernel of a product
    kernelDescriptor({ ...product, kernel: 'matern52' });
    // @ts-expect-error a radial kernel of a distance
    kernelDescriptor({ ...diff, outerPower: 'sqrt', kernel: 'cauchy' });
    // @ts-expect-error a kernel of products of a difference
    kernelDescriptor({ ...diff, kernel: 'polynomial' });
    // @ts-expect-error no such kernel
    kernelDescriptor({ ...diff, kernel: 'gauss' });
    // @ts-expect-error no such power
    kernelDescriptor({ ...diff, innerPower: 'cube', kernel: 'none' });
    // @ts-expect-error a part is missing
    kernelDescriptor({ innerOperator: 'diff', innerPower: 'abs', kernel: 'none' });
    // @ts-expect-error not made by customKernel
    kernelDescriptor({ ...diff, kernel: { expression: 'exp(-d)' } });
  });
});

describe('runKernel', () => {
  it('returns the dtype of its tensors', () => {
    expectTypeOf(runKernel(kernels.dot, f32)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(runKernel(kernels.dot, f32, f32)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(runKernel(kernels.dot, f64, [[1]])).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(runKernel(kernels.dot, [[1]], f64)).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(runKernel(kernels.dot, [[1]])).resolves.toEqualTypeOf<Tensor<PairwiseDType>>();
    expectTypeOf(runKernel(kernels.gaussian, [[1]], f64, { bandwidth: 1 })).resolves.toEqualTypeOf<
      Tensor<'float64'>
    >();
  });

  it('demands what the descriptor needs', () => {
    void runKernel(kernels.gaussian, f32, { bandwidth: f32 });
    void runKernel(kernels.gaussian, f32, undefined, { bandwidth: f32 });
    void runKernel(kernels.gaussian, f32, f32, { bandwidth: 1, epsilon: 0, regularization: f32 });
    void runKernel(kernels.rationalQuadratic, f32, f32, { bandwidth: 1, alpha: f32 });
    void runKernel(kernels.polynomial, f32, f32, { gamma: 1, offset: f32, degree: 2 });
    void runKernel(kernels.sigmoid, f32, f32, { gamma: 1, offset: 0 });
    // @ts-expect-error no bandwidth
    void runKernel(kernels.gaussian, f32);
    // @ts-expect-error no bandwidth
    void runKernel(kernels.gaussian, f32, {});
    // @ts-expect-error no bandwidth
    void runKernel(kernels.gaussian, f32, f32);
    // @ts-expect-error no bandwidth
    void runKernel(kernels.gaussian, f32, f32, {});
    // @ts-expect-error alpha is missing
    void runKernel(kernels.rationalQuadratic, f32, f32, { bandwidth: 1 });
    // @ts-expect-error the degree is missing
    void runKernel(kernels.polynomial, f32, f32, { gamma: 1, offset: 0 });
  });

  it('takes options behind a where b is left out', () => {
    expectTypeOf(runKernel(kernels.gaussian, f64, { bandwidth: 1 })).resolves.toEqualTypeOf<
      Tensor<'float64'>
    >();
    expectTypeOf(runKernel(kernels.gaussian, [[1]], { bandwidth: 1 })).resolves.toEqualTypeOf<
      Tensor<PairwiseDType>
    >();
    expectTypeOf(runKernel(kernels.dot, f32, maybe)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    void runKernel(kernels.dot, f32, { symmetric: true });
    void runKernel(kernels.dot, f32, maybe, { symmetric: true });
    void runKernel(
      kernels.dot,
      f32,
      { data: new Float32Array(2), shape: [1, 2] },
      { align: false },
    );
    void runKernel(unknownOne, f32, { bandwidth: 1 });
    // @ts-expect-error options twice
    void runKernel(kernels.gaussian, f32, { bandwidth: 1 }, { bandwidth: 1 });
    // @ts-expect-error gamma is not used
    void runKernel(kernels.gaussian, f32, { bandwidth: 1, gamma: 1 });
    // @ts-expect-error another dtype
    void runKernel(kernels.gaussian, f32, { bandwidth: f64 });
    // @ts-expect-error a promise is no rows
    void runKernel(kernels.dot, f32, promised);
  });

  it('refuses what the descriptor does not use', () => {
    // @ts-expect-error the 1-norm has no bandwidth
    void runKernel(kernels.manhattan, f32, f32, { bandwidth: 1 });
    // @ts-expect-error nor an exponent
    void runKernel(kernels.manhattan, f32, f32, { p: 1 });
    // @ts-expect-error a product has no epsilon
    void runKernel(kernels.cosine, f32, f32, { epsilon: 1 });
    // @ts-expect-error no such option
    void runKernel(kernels.dot, f32, f32, { bandwith: 1 });
    // @ts-expect-error a parameter of another dtype
    void runKernel(kernels.gaussian, f32, f32, { bandwidth: f64 });
    // @ts-expect-error no number and no tensor
    void runKernel(kernels.gaussian, f32, f32, { bandwidth: '1' });
    // @ts-expect-error two dtypes
    void runKernel(kernels.dot, f32, f64);
    // @ts-expect-error integers have no kernel
    void runKernel(kernels.dot, i32, i32);
    // @ts-expect-error out has another dtype
    void runKernel(kernels.dot, f32, f32, { out: f64 });
  });

  it('takes p, or the exponents apart', () => {
    void runKernel(kernels.minkowski, f32, f32, { p: 1.5 });
    void runKernel(kernels.minkowski, f32, f32, { innerP: 1.5, outerP: f32 });
    // @ts-expect-error one exponent of two
    void runKernel(kernels.minkowski, f32, f32, { innerP: 1.5 });
    // @ts-expect-error one way or the other
    void runKernel(kernels.minkowski, f32, f32, { p: 1.5, innerP: 1.5, outerP: 1 });
    // @ts-expect-error no exponent at all
    void runKernel(kernels.minkowski, f32, f32);
    const sum = kernelDescriptor({ ...diff, innerPower: 'pow', kernel: 'none' });
    void runKernel(sum, f32, f32, { innerP: 1.5 });
    // @ts-expect-error no power outside the sum
    void runKernel(sum, f32, f32, { innerP: 1.5, outerP: 1 });
  });

  it('is symmetric only where a and b can be exchanged', () => {
    void runKernel(kernels.dot, f32, { symmetric: true });
    const signed = kernelDescriptor({ ...diff, innerPower: 'none', kernel: 'none' });
    void runKernel(signed, f32, { symmetric: false });
    // @ts-expect-error b - a changes its sign
    void runKernel(signed, f32, { symmetric: true });
  });

  it('demands the parameters of a custom kernel by name', () => {
    const kernel = customKernel(variable('d'), { parameters: ['c', 'e'] });
    const custom = kernelDescriptor({ ...diff, kernel });
    void runKernel(custom, f32, f32, { parameters: { c: 1, e: f32 } });
    // @ts-expect-error e is missing
    void runKernel(custom, f32, f32, { parameters: { c: 1 } });
    // @ts-expect-error there is no f
    void runKernel(custom, f32, f32, { parameters: { c: 1, e: 1, f: 1 } });
    // @ts-expect-error they are parameters
    void runKernel(custom, f32, f32);
    const plain = kernelDescriptor({ ...diff, kernel: customKernel(variable('d')) });
    void runKernel(plain, f32, f32);
    // @ts-expect-error it has none
    void runKernel(plain, f32, f32, { parameters: { c: 1 } });
  });

  it('takes everything for a descriptor that is not known', () => {
    expectTypeOf<RunKernelOptions>().toEqualTypeOf<AnyRunKernelOptions>();
    void runKernel(unknownOne, f32, f32, { bandwidth: 1, p: 2, symmetric: false });
    // @ts-expect-error no such option
    void runKernel(unknownOne, f32, f32, { bandwith: 1 });
  });

  it('prepares a synchronous function', async () => {
    const k = await runKernel.prepare(kernels.gaussian, f32, { bandwidth: 1 });
    expectTypeOf(k(f32)).toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(k.plan).toEqualTypeOf<PairwisePlan>();
    k(f32, f32, { bandwidth: f32, out: f32 });
    k(f32, { bandwidth: f32, out: f32 });
    k(f32, undefined, { bandwidth: f32 });
    // @ts-expect-error not a parameter of the descriptor
    k(f32, { gamma: 1 });
    // @ts-expect-error not a parameter of the descriptor
    k(f32, f32, { gamma: 1 });
    // @ts-expect-error another dtype
    k(f64);
    // @ts-expect-error fixed by prepare
    k(f32, f32, { symmetric: true });
    // @ts-expect-error no bandwidth
    await runKernel.prepare(kernels.gaussian, f32);
  });
});

describe('precompile', () => {
  it('takes descriptors, alone or with what is built in', () => {
    void precompile([kernels.manhattan, { descriptor: kernels.minkowski, p: 'tensor' }], {
      dtypes: ['float64'],
    });
    // @ts-expect-error no such dtype
    void precompile([kernels.manhattan], { dtypes: ['float16'] });
    // @ts-expect-error no such layout
    void precompile([kernels.manhattan], { layouts: [['row', 'row']] });
  });
});
