import { assertType, describe, expectTypeOf, test } from 'vitest';
import {
  abs,
  add,
  clamp,
  div,
  empty,
  exp,
  isNaN,
  lt,
  maximum,
  pow,
  sub,
  where,
  type DType,
  type Pending,
  type Tensor,
} from '../index.js';

type Result<D extends DType> = Pending<Tensor<D>>;

const f64 = empty([2], { dtype: 'float64' });
const f32 = empty([2], { dtype: 'float32' });
const f16 = empty([2], { dtype: 'float16' });
const bf16 = empty([2], { dtype: 'bfloat16' });
const i64 = empty([2], { dtype: 'int64' });
const i32 = empty([2], { dtype: 'int32' });
const u8 = empty([2], { dtype: 'uint8' });
const yes = empty([2], { dtype: 'bool' });

describe('arithmetic', () => {
  test('of two dtypes is in the one in which they meet', () => {
    expectTypeOf(f64.add(f64)).toEqualTypeOf<Result<'float64'>>();
    expectTypeOf(f64.add(bf16)).toEqualTypeOf<Result<'float64'>>();
    expectTypeOf(f32.add(f64)).toEqualTypeOf<Result<'float64'>>();
    expectTypeOf(f32.add(f32)).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(f32.sub(i64)).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(f16.mul(f16)).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(f16.mul(bf16)).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(bf16.add(u8)).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(i64.add(i32)).toEqualTypeOf<Result<'int64'>>();
    expectTypeOf(i64.add(f16)).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(i32.add(i32)).toEqualTypeOf<Result<'int32'>>();
    expectTypeOf(i32.mod(u8)).toEqualTypeOf<Result<'int32'>>();
    expectTypeOf(u8.add(u8)).toEqualTypeOf<Result<'uint8'>>();
    expectTypeOf(u8.add(yes)).toEqualTypeOf<Result<'uint8'>>();
    expectTypeOf(yes.add(i64)).toEqualTypeOf<Result<'int64'>>();
    expectTypeOf(yes.mul(f32)).toEqualTypeOf<Result<'float32'>>();
  });

  test('takes a number in the dtype of the tensor', () => {
    expectTypeOf(f64.add(0.5)).toEqualTypeOf<Result<'float64'>>();
    expectTypeOf(f32.add(0.5)).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(f16.add(1)).toEqualTypeOf<Result<'float32'>>();
    // whether a number has a fraction is known when it is there
    expectTypeOf(i32.add(1)).toEqualTypeOf<Result<'int32' | 'float32'>>();
    expectTypeOf(i64.add(1)).toEqualTypeOf<Result<'int64' | 'float32'>>();
    expectTypeOf(u8.add(1)).toEqualTypeOf<Result<'uint8' | 'float32'>>();
    expectTypeOf(yes.add(1)).toEqualTypeOf<Result<'int32' | 'float32'>>();
  });

  test('is the same as functions, with the number on either side', () => {
    expectTypeOf(add(f32, f64)).toEqualTypeOf<Result<'float64'>>();
    expectTypeOf(sub(1, f32)).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(pow(2, i32)).toEqualTypeOf<Result<'int32' | 'float32'>>();
    expectTypeOf(maximum(u8, u8)).toEqualTypeOf<Result<'uint8'>>();
    expectTypeOf(abs(f16)).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(abs(i64)).toEqualTypeOf<Result<'int64'>>();
    expectTypeOf(clamp(f32, 0, 1)).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(where(yes, f32, f64)).toEqualTypeOf<Result<'float64'>>();
    expectTypeOf(yes.where(i32, u8)).toEqualTypeOf<Result<'int32'>>();
  });

  test('in floating point makes floats of whole numbers', () => {
    expectTypeOf(div(i32, i32)).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(div(i64, f64)).toEqualTypeOf<Result<'float64'>>();
    expectTypeOf(i64.div(2)).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(u8.atan2(f64)).toEqualTypeOf<Result<'float64'>>();
    expectTypeOf(exp(yes)).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(f64.exp()).toEqualTypeOf<Result<'float64'>>();
    expectTypeOf(bf16.sqrt()).toEqualTypeOf<Result<'float32'>>();
  });

  test('asks questions', () => {
    expectTypeOf(lt(f32, 0)).toEqualTypeOf<Result<'bool'>>();
    expectTypeOf(f64.eq(i32)).toEqualTypeOf<Result<'bool'>>();
    expectTypeOf(isNaN(f16)).toEqualTypeOf<Result<'bool'>>();
    expectTypeOf(f32.lt(0).logicalAnd(yes)).toEqualTypeOf<Result<'bool'>>();
  });

  test('goes on with results that are not awaited', () => {
    expectTypeOf(f32.sub(f64.mul(2)).exp()).toEqualTypeOf<Result<'float64'>>();
    expectTypeOf(f32.sub(1).square().mean()).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(f32.add(i32.mul(u8))).resolves.toEqualTypeOf<Tensor<'float32'>>();
  });

  test('of a tensor of any dtype has any', () => {
    expectTypeOf((f32 as Tensor).add(1)).toExtend<Result<DType>>();
    assertType<Tensor>(f32);
  });

  test('refuses what is no operand', () => {
    // @ts-expect-error text is no operand
    void f32.add('1');
    // @ts-expect-error a bigint: numbers alone
    void i64.add(1n);
    // @ts-expect-error a promise of a tensor that has no methods
    void f32.add(Promise.resolve(1));
    // @ts-expect-error no operand
    void f32.add();
    // @ts-expect-error no such option
    void f32.exp({ outs: f32 });
    // @ts-expect-error functions of one tensor take no number
    void exp(1);
  });
});

describe('reductions', () => {
  test('of whole numbers add up to int64 and have a mean in float32', () => {
    expectTypeOf(u8.sum()).toEqualTypeOf<Result<'int64'>>();
    expectTypeOf(yes.sum(0)).toEqualTypeOf<Result<'int64'>>();
    expectTypeOf(i32.prod([0])).toEqualTypeOf<Result<'int64'>>();
    expectTypeOf(f16.sum()).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(f64.sum()).toEqualTypeOf<Result<'float64'>>();
    expectTypeOf(i64.mean()).toEqualTypeOf<Result<'float32'>>();
    expectTypeOf(f64.std(0, { correction: 1 })).toEqualTypeOf<Result<'float64'>>();
    expectTypeOf(i32.max(-1, { keepDims: true })).toEqualTypeOf<Result<'int32'>>();
    expectTypeOf(f32.argMax()).toEqualTypeOf<Result<'int32' | 'int64'>>();
    expectTypeOf(f32.any()).toEqualTypeOf<Result<'bool'>>();
    expectTypeOf(i32.softmax()).toEqualTypeOf<Result<'float32'>>();
    // @ts-expect-error no such option
    void f32.sum(0, { keepdims: true });
    // @ts-expect-error options are behind the axes
    void f32.sum({ keepDims: true });
  });
});
