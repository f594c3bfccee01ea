import type { Pending, Tensor } from '@mercer/tensor';
import { variable } from '@mercer/formula';
import type { PairwiseDType } from '@mercer/kernels';
import { describe, expectTypeOf, it } from 'vitest';
import {
  cdistBackward,
  customKernel,
  kernelDescriptor,
  kernels,
  runKernelBackward,
  type Gradients,
} from './index.js';

declare const f32: Tensor<'float32'>;
declare const f64: Tensor<'float64'>;
declare const i32: Tensor<'int32'>;
declare const later: Pending<Tensor<'float32'>>;

describe('cdistBackward', () => {
  it('has exactly the wanted gradients', () => {
    expectTypeOf(cdistBackward(f32, f32, f32)).resolves.toEqualTypeOf<
      Gradients<readonly ['a', 'b'], 'float32'>
    >();
    const some = cdistBackward(f64, f64, f64, { p: 3, wrt: ['a', 'p'] });
    expectTypeOf(some).resolves.toHaveProperty('p').toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(some).resolves.not.toHaveProperty('b');
  });

  it('takes operands that are not there yet, and prepared calls do not', () => {
    expectTypeOf(cdistBackward(later, f32, later)).resolves.toEqualTypeOf<
      Gradients<readonly ['a', 'b'], 'float32'>
    >();
    // @ts-expect-error two dtypes
    void cdistBackward(later, f64, f32);
    const rows = { data: new Float32Array(4), shape: [2, 2] };
    const host = new Float32Array(4);
    expectTypeOf(cdistBackward(rows, f32, rows, { out: { a: host } })).resolves.toEqualTypeOf<{
      readonly a: Float32Array<ArrayBuffer>;
      readonly b: Tensor<PairwiseDType>;
    }>();
    expectTypeOf(
      cdistBackward(f32, f32, f32, { out: { b: f32 }, maxBytes: 5 }),
    ).resolves.toEqualTypeOf<Gradients<readonly ['a', 'b'], 'float32'>>();
    // @ts-expect-error the gradient of a parameter is written to a tensor
    void cdistBackward(f32, f32, f32, { wrt: ['p'], out: { p: host } });
    // @ts-expect-error a prepared call has no blocks
    void cdistBackward.prepare(f32, f32, f32, { maxBytes: 5 });
    void cdistBackward.prepare(f32, f32, f32).then((prepared) => {
      // @ts-expect-error synchronous
      prepared(f32, later, f32);
    });
  });

  it('refuses mixed and integer dtypes, and names that it does not have', () => {
    // @ts-expect-error two dtypes
    void cdistBackward(f32, f64, f32);
    // @ts-expect-error integers have no gradient
    void cdistBackward(i32, i32, i32);
    // @ts-expect-error no such variable
    void cdistBackward(f32, f32, f32, { wrt: ['bandwidth'] });
  });
});

describe('runKernelBackward', () => {
  it('has exactly the wanted gradients', () => {
    const both = runKernelBackward(kernels.gaussian, f32, f32, f32, { bandwidth: 1 });
    expectTypeOf(both).resolves.toEqualTypeOf<Gradients<readonly ['a', 'b'], 'float32'>>();
    const one = runKernelBackward(kernels.gaussian, f32, f32, { bandwidth: 1 });
    expectTypeOf(one).resolves.toEqualTypeOf<Gradients<readonly ['a'], 'float32'>>();
    const left = runKernelBackward(kernels.gaussian, f32, f32, undefined, { bandwidth: 1 });
    expectTypeOf(left).resolves.toEqualTypeOf<Gradients<readonly ['a'], 'float32'>>();
    expectTypeOf(runKernelBackward(kernels.dot, f32, f32)).resolves.toEqualTypeOf<
      Gradients<readonly ['a'], 'float32'>
    >();
    const named = runKernelBackward(kernels.rationalQuadratic, f64, f64, {
      bandwidth: f64,
      alpha: 2,
      scale: f64,
      wrt: ['bandwidth', 'alpha', 'scale'],
    });
    expectTypeOf(named).resolves.toHaveProperty('alpha').toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(named).resolves.not.toHaveProperty('a');
  });

  it('takes operands that are not there yet, and has the gradients of both', () => {
    const options = { bandwidth: 1 };
    expectTypeOf(runKernelBackward(kernels.gaussian, later, later, later, options)).resolves.toEqualTypeOf<
      Gradients<readonly ['a', 'b'], 'float32'>
    >(); // prettier-ignore
    expectTypeOf(runKernelBackward(kernels.gaussian, later, f32, options)).resolves.toEqualTypeOf<
      Gradients<readonly ['a'], 'float32'>
    >();
    // @ts-expect-error an example is there
    void runKernelBackward.prepare(kernels.gaussian, f32, later, f32, options);
  });

  it('names the parameters of the descriptor and no others', () => {
    void runKernelBackward(kernels.minkowski, f32, f32, f32, { p: 1.5, wrt: ['p', 'a'] });
    void runKernelBackward(kernels.minkowski, f32, f32, f32, {
      innerP: 2,
      outerP: 1,
      wrt: ['innerP', 'outerP'],
    });
    // @ts-expect-error a norm has no bandwidth
    void runKernelBackward(kernels.minkowski, f32, f32, f32, { p: 1.5, wrt: ['bandwidth'] });
    const cubic = { gamma: 1, offset: 0, degree: 3 };
    void runKernelBackward(kernels.polynomial, f32, f32, f32, {
      ...cubic,
      wrt: ['gamma', 'degree'],
    });
    void runKernelBackward(kernels.gaussian, f32, f32, f32, { bandwidth: 1, wrt: ['epsilon'] });
    // @ts-expect-error a product has no epsilon
    void runKernelBackward(kernels.polynomial, f32, f32, f32, { ...cubic, wrt: ['epsilon'] });
    // @ts-expect-error no such variable
    void runKernelBackward(kernels.gaussian, f32, f32, { bandwidth: 1, wrt: ['alpha'] });
    // @ts-expect-error the bandwidth is missing
    void runKernelBackward(kernels.gaussian, f32, f32);
    // @ts-expect-error the bandwidth is missing
    void runKernelBackward(kernels.gaussian, f32, f32, f32, {});
    void runKernelBackward(kernels.gaussian, f32, f32, f32, { bandwidth: 1, out: { b: f32 } });
    const others = { bandwidth: 1, out: { bandwidth: f32 } };
    // @ts-expect-error the gradient by the bandwidth is not wanted
    void runKernelBackward(kernels.gaussian, f32, f32, f32, { ...others, wrt: ['a'] });
    const prepared = runKernelBackward.prepare(kernels.gaussian, f32, f32, f32, { bandwidth: 1 });
    expectTypeOf(prepared).resolves.returns.toEqualTypeOf<
      Gradients<readonly ['a', 'b'], 'float32'>
    >();
  });

  it('names the parameters of a custom kernel', () => {
    const decay = kernelDescriptor({
      innerOperator: 'diff',
      innerPower: 'square',
      outerPower: 'none',
      kernel: customKernel(variable('d'), { parameters: ['c'] }),
    });
    const options = { parameters: { c: 2 } };
    const result = runKernelBackward(decay, f32, f32, f32, { ...options, wrt: ['parameters.c'] });
    expectTypeOf(result).resolves.toHaveProperty('parameters.c').toEqualTypeOf<Tensor<'float32'>>();
    // @ts-expect-error no such parameter
    void runKernelBackward(decay, f32, f32, f32, { ...options, wrt: ['parameters.e'] });
  });
});
