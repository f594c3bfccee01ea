import { defineOp } from '@mercer/formula';
import type { Tensor } from '@mercer/tensor';
import { describe, expectTypeOf, it } from 'vitest';
import {
  complexOf,
  genericArgKMin,
  genred,
  gradient,
  jointReduction,
  lazyI,
  lazyJ,
  lazyPair,
  param,
  valueAndGradients,
  withGradients,
  type ComplexLazyTensor,
  type LazyDType,
  type LazyReduction,
  type LazyTensor,
  type PreparedReduction,
  type ValuesAndIndices,
} from './index.js';

declare const f32: Tensor<'float32'>;
declare const f64: Tensor<'float64'>;
declare const i32: Tensor<'int32'>;
declare const i64: Tensor<'int64'>;

describe('LazyTensor', () => {
  const x = lazyI(f32);

  it('keeps the dtype of its tensor', () => {
    expectTypeOf(x).toEqualTypeOf<LazyTensor<'float32'>>();
    expectTypeOf(x.sub(lazyJ(f32)).exp().sum()).toEqualTypeOf<LazyTensor<'float32'>>();
    expectTypeOf(lazyJ([[1, 2]])).toEqualTypeOf<LazyTensor>();
    expectTypeOf(x.dtype).toEqualTypeOf<'float32' | undefined>();
    expectTypeOf(param(2)).toEqualTypeOf<LazyTensor>();
    expectTypeOf(lazyPair(f64)).toEqualTypeOf<LazyTensor<'float64'>>();
    expectTypeOf(lazyPair(f32, { components: true, name: 'm' }).mul(x)).toEqualTypeOf<
      LazyTensor<'float32'>
    >();
    expectTypeOf(lazyPair([[1, 2]])).toEqualTypeOf<LazyTensor>();
    expectTypeOf(lazyPair({ position: 0, dim: 2 })).toEqualTypeOf<LazyTensor>();
    // @ts-expect-error numbers of rows are no variable's data
    lazyPair(i32);
    expectTypeOf<LazyTensor<'float32'>>().toExtend<LazyTensor>();
  });

  it('reduces to tensors', () => {
    expectTypeOf(x.sum('j')).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(x.argMin('i')).resolves.toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf(x.argMin()).toEqualTypeOf<LazyTensor<'float32'>>();
    expectTypeOf(x.argMin('i', { indexDtype: 'int64' })).resolves.toEqualTypeOf<Tensor<'int64'>>();
    expectTypeOf(x.kMinArgKMin(3, 'j', { indexDtype: 'int64' })).resolves.toEqualTypeOf<
      ValuesAndIndices<'float32', 'int64'>
    >();
    expectTypeOf(x.kMinArgKMin(3, 'j')).resolves.toEqualTypeOf<ValuesAndIndices<'float32'>>();
    expectTypeOf(x.matmul(f32)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(x.toDense()).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(lazyI(f64).var('j')).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(complexOf(x)).toEqualTypeOf<ComplexLazyTensor<'float32'>>();
  });

  it('describes reductions', () => {
    const of = x.reduction('LogSumExp', 'j');
    expectTypeOf(of).toEqualTypeOf<LazyReduction<'LogSumExp', 'float32'>>();
    expectTypeOf(of.call()).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(of.prepare()).resolves.toEqualTypeOf<PreparedReduction<'LogSumExp', 'float32'>>();
    const near = x.reduction('KMinArgKMin', 'j', { k: 2 });
    const wide = near.prepare([], { indexDtype: 'int64' });
    expectTypeOf(wide).resolves.toEqualTypeOf<
      PreparedReduction<'KMinArgKMin', 'float32', 'int64'>
    >();
    void wide.then((call) => {
      expectTypeOf(call([])).toEqualTypeOf<ValuesAndIndices<'float32', 'int64'>>();
      call([], { out: { values: f32, indices: i64 } });
      // @ts-expect-error prepared for row numbers of the other dtype
      call([], { out: { values: f32, indices: i32 } });
    });
    void near.prepare().then((call) => {
      expectTypeOf(call([])).toEqualTypeOf<ValuesAndIndices<'float32'>>();
      // @ts-expect-error prepared for row numbers of the other dtype
      call([], { out: { values: f32, indices: i64 } });
    });
    // @ts-expect-error row numbers are int32 or int64
    void near.prepare([], { indexDtype: 'int16' });
    expectTypeOf(gradient(of, x, f32)).resolves.toEqualTypeOf<Tensor<'float32'>>();
  });

  it('names the results of several reductions', () => {
    const joint = jointReduction({
      sum: x.reduction('Sum', 'j'),
      near: x.reduction('KMinArgKMin', 'j', { k: 3 }),
      row: x.reduction('ArgMin', 'j'),
    });
    expectTypeOf(joint.call()).resolves.toEqualTypeOf<{
      readonly sum: Tensor<'float32'>;
      readonly near: ValuesAndIndices<'float32'>;
      readonly row: Tensor<'int32'>;
    }>();
    const many = x.reduceMany('j', { sum: 'Sum', near: { kind: 'ArgKMin', k: 3 } });
    expectTypeOf(many).resolves.toEqualTypeOf<{
      readonly sum: Tensor<'float32'>;
      readonly near: Tensor<'int32'>;
    }>();
    void joint.prepare([], { indexDtype: 'int64' }).then((call) => {
      expectTypeOf(call([])).toEqualTypeOf<{
        readonly sum: Tensor<'float32'>;
        readonly near: ValuesAndIndices<'float32', 'int64'>;
        readonly row: Tensor<'int64'>;
      }>();
      // @ts-expect-error prepared for row numbers of the other dtype
      call([], { out: { row: i32 } });
    });
    // @ts-expect-error out has another dtype
    void joint.call([], { out: { sum: f64 } });
    // @ts-expect-error no such result
    void x.reduceMany('j', { sum: 'Sum' }, { out: { mean: f32 } });
    // @ts-expect-error no such reduction
    void x.reduceMany('j', { sum: 'Total' });
  });

  it('names gradients beside values', () => {
    const y = lazyJ(f32);
    const near = x.sub(y).reduction('MinArgMin', 'j');
    expectTypeOf(valueAndGradients(near, { x, slope: y })).resolves.toEqualTypeOf<{
      readonly value: ValuesAndIndices<'float32'>;
      readonly gradients: {
        readonly x: Tensor<'float32'>;
        readonly slope: Tensor<'float32'>;
      };
    }>();
    void valueAndGradients(near, { x }, { out: { gradients: { x: f32 } } });
    // @ts-expect-error out has another dtype
    void valueAndGradients(near, { x }, { out: { gradients: { x: f64 } } });
    // @ts-expect-error no such gradient
    void valueAndGradients(near, { x }, { out: { gradients: { y: f32 } } });
    // @ts-expect-error the value has two tensors
    void valueAndGradients(near, { x }, { out: { value: f32 } });
    void gradient(near, x, f32, { out: f32 });
    // @ts-expect-error out has another dtype
    void gradient(near, x, f32, { out: f64 });
    const one = withGradients(x.sub(y).reduction('Sum', 'j'), { slope: x });
    expectTypeOf(one.call()).resolves.toEqualTypeOf<{
      readonly value: Tensor<'float32'>;
      readonly slope: Tensor<'float32'>;
    }>();
    // @ts-expect-error only sums need nothing of their results
    withGradients(near, { x });
  });

  it('refuses what means nothing', () => {
    // @ts-expect-error integers are not computed with
    void lazyI(i32);
    // @ts-expect-error a side is 'i' or 'j'
    void x.prod('dim');
    // @ts-expect-error no such side
    void x.sum('rows');
    // @ts-expect-error out has another dtype
    void x.sum('j', { out: f64 });
    // @ts-expect-error out has row numbers of the other dtype
    void x.argMin('j', { indexDtype: 'int64', out: i32 });
    // @ts-expect-error sums have no row numbers
    void x.sum('j', { indexDtype: 'int64' });
    // @ts-expect-error a tensor is no symbolic matrix
    x.add(f32);
    // @ts-expect-error k is missing
    void x.kMin('j');
    // @ts-expect-error no such reduction
    x.reduction('Median', 'j');
  });
});

describe('genred', () => {
  const f = genred('SqDist(x, y)', ['x = Vi(3)', 'y = Vj(3)']);

  it('takes one argument for each alias, and options', () => {
    expectTypeOf(f(f32, [[1, 2, 3]])).resolves.toEqualTypeOf<Tensor<LazyDType>>();
    expectTypeOf(f(f32, f32, { device: 'cpu' })).resolves.toEqualTypeOf<Tensor<LazyDType>>();
    // @ts-expect-error one argument is missing
    void f(f32);
    // @ts-expect-error no such option
    void f(f32, f32, { outt: f32 });
    const loose = genred('x', ['x = Vi(3)'] as readonly string[]);
    expectTypeOf(loose(f32, f32, f32)).resolves.toEqualTypeOf<Tensor<LazyDType>>();
  });

  it('gives what its reduction gives', () => {
    const near = genericArgKMin('x', 'a = Vi(3)', ['x = Vi(1)']);
    expectTypeOf(near(f32)).resolves.toEqualTypeOf<Tensor<'int32'>>();
    const both = genred('x', ['x = Vi(1)'], { reduction: 'Min_ArgMin' });
    expectTypeOf(both(f32)).resolves.toEqualTypeOf<ValuesAndIndices>();
    expectTypeOf(near.prepare(f32)).resolves.toEqualTypeOf<PreparedReduction<'ArgKMin'>>();
    expectTypeOf(near.prepare(f32, { indexDtype: 'int64' })).resolves.toEqualTypeOf<
      PreparedReduction<'ArgKMin', LazyDType, 'int64'>
    >();
    const nearest = genred('ArgKMin_Reduction(x, 3, 1)', ['x = Vi(1)']);
    expectTypeOf(nearest(f32)).resolves.toEqualTypeOf<Tensor<'int32'>>();
    const pairs = genred('Min_ArgMin_Reduction(x, 1)', ['x = Vi(1)']);
    expectTypeOf(pairs(f32)).resolves.toEqualTypeOf<ValuesAndIndices>();
    const slope = genred('Grad(Sum_Reduction(x, 1), x, 1)', ['x = Vi(1)']);
    expectTypeOf(slope(f32)).resolves.toEqualTypeOf<Tensor<LazyDType>>();
    // @ts-expect-error no such reduction
    genred('x', ['x = Vi(1)'], { reduction: 'Sums' });
  });

  it('takes operations of defineOp, as matrices do', () => {
    const twice = defineOp('Twice', ['x', 'by'], ({ x }) => x);
    genred('Twice(x, 1)', ['x = Vi(1)'], { operations: [twice] });
    const x = lazyI(f32);
    expectTypeOf(x.operation(twice, 1)).toEqualTypeOf<LazyTensor<'float32'>>();
    expectTypeOf(x.sum().traceOperator(x)).toEqualTypeOf<LazyTensor<'float32'>>();
    // @ts-expect-error no name of an operation
    x.operation('Twice', 1);
  });
});
