import { gt, mul, variable } from '@mercer/formula';
import { assertType, describe, expectTypeOf, test } from 'vitest';
import {
  arange,
  concat,
  countRows,
  cumSum,
  device,
  diag,
  empty,
  eye,
  full,
  gatherRows,
  linspace,
  map,
  memory,
  oneHot,
  random,
  scatterAdd,
  scope,
  sort,
  split,
  stack,
  sumTo,
  take,
  tensor,
  topK,
  unsafeKernel,
  zeros,
  type Device,
  type DType,
  type LoadedKernel,
  type MemoryReport,
  type NestedOf,
  type Pending,
  type Progress,
  type RawArrayOf,
  type Storage,
  type Stream,
  type Tensor,
  type TopK,
  type TypedArrayOf,
} from './index.js';

describe('public signatures', () => {
  test('dtype from the data', () => {
    expectTypeOf(tensor([1, 2])).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(tensor([[true]])).resolves.toEqualTypeOf<Tensor<'bool'>>();
    expectTypeOf(tensor([[[1n]]])).resolves.toEqualTypeOf<Tensor<'int64'>>();
    expectTypeOf(tensor(3)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(tensor(new Float64Array(1))).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(tensor(new Int16Array(1), { shape: [1, 1] })).resolves.toEqualTypeOf<
      Tensor<'int32'>
    >();
    expectTypeOf(tensor(new BigInt64Array(1))).resolves.toEqualTypeOf<Tensor<'int64'>>();
    expectTypeOf(tensor(new Uint8Array(1))).resolves.toEqualTypeOf<Tensor<'uint8'>>();
    expectTypeOf(tensor([new Float64Array(1)])).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(tensor([1], { dtype: 'bfloat16' })).resolves.toEqualTypeOf<Tensor<'bfloat16'>>();
    expectTypeOf(
      tensor({ data: new Float32Array(1), shape: [1] }),
    ).resolves.toEqualTypeOf<Tensor>();
    // @ts-expect-error text is no data
    void tensor('1');
    // @ts-expect-error no such dtype
    void empty([1], { dtype: 'float8' });
  });

  test('dtypes of joined tensors, and views of what is pending', () => {
    const halves = empty([1], { dtype: 'float16' });
    const whole = empty([1], { dtype: 'int32' });
    expectTypeOf(concat([halves, halves])).resolves.toEqualTypeOf<Tensor<'float16'>>();
    expectTypeOf(stack([whole, whole.mul(2)])).resolves.toExtend<Tensor<'int32' | 'float32'>>();
    expectTypeOf(concat([halves, whole])).resolves.toExtend<
      Tensor<'float32' | 'float16' | 'int32'>
    >();
    expectTypeOf(whole.split(2)).toEqualTypeOf<Tensor<'int32'>[]>();
    expectTypeOf(whole.mul(whole).split(2)).toEqualTypeOf<Pending<Tensor<'int32'>>[]>();
    expectTypeOf(split(whole, [1, 2])).toEqualTypeOf<Tensor<'int32'>[]>();
    expectTypeOf(whole.flip()).toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf(whole.neg().flip(0)).toEqualTypeOf<Pending<Tensor<'int32'>>>();
    expectTypeOf(halves.tile(2)).resolves.toEqualTypeOf<Tensor<'float16'>>();
    // @ts-expect-error an output of another dtype
    void halves.pad(1, { out: whole });
  });

  test('dtypes of creators', () => {
    expectTypeOf(arange(3)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(arange(0, 3, 1, { dtype: 'int32' })).resolves.toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf(linspace(0, 1, 3, { endpoint: false })).resolves.toEqualTypeOf<
      Tensor<'float32'>
    >();
    expectTypeOf(eye(3, { dtype: 'bool' })).resolves.toEqualTypeOf<Tensor<'bool'>>();
    const whole = arange(3, { dtype: 'int64' });
    expectTypeOf(diag(whole)).resolves.toEqualTypeOf<Tensor<'int64'>>();
    expectTypeOf(whole.diag().tril(1)).resolves.toEqualTypeOf<Tensor<'int64'>>();
    expectTypeOf(oneHot(whole, 3)).resolves.toEqualTypeOf<Tensor<'float32'>>();
    const floats = arange(3);
    // @ts-expect-error classes are whole numbers
    void oneHot(floats, 3);
  });

  test('dtypes of random numbers', () => {
    const key = random.key(1);
    expectTypeOf(random.uniform([2], { key })).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(random.normal([2], { key, dtype: 'float64' })).resolves.toEqualTypeOf<
      Tensor<'float64'>
    >();
    expectTypeOf(random.permutation(3, { key })).resolves.toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf(random.split(key)).toEqualTypeOf<[random.RandomKey, random.RandomKey]>();
    expectTypeOf(random.split(key, 3)).toEqualTypeOf<random.RandomKey[]>();
    // @ts-expect-error a key is needed
    void random.uniform([2], {});
    // @ts-expect-error whole numbers are for choice
    void random.uniform([2], { key, dtype: 'int32' });
    // @ts-expect-error a seed is no key
    void random.uniform([2], { key: 7 });
  });

  test('dtype from the options', () => {
    expectTypeOf(empty([2])).toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(empty([2], { dtype: 'int64' })).toEqualTypeOf<Tensor<'int64'>>();
    expectTypeOf(zeros([2], { dtype: 'bool', device: 'cuda:1' })).resolves.toEqualTypeOf<
      Tensor<'bool'>
    >();
    expectTypeOf(full([2], 1n, { dtype: 'uint8' })).resolves.toEqualTypeOf<Tensor<'uint8'>>();
  });

  test('readback', () => {
    expectTypeOf<TypedArrayOf<'float16'>>().toEqualTypeOf<Float32Array<ArrayBuffer>>();
    expectTypeOf<TypedArrayOf<'int64'>>().toEqualTypeOf<BigInt64Array<ArrayBuffer>>();
    expectTypeOf<TypedArrayOf<'bool'>>().toEqualTypeOf<Uint8Array<ArrayBuffer>>();
    expectTypeOf<RawArrayOf<'bfloat16'>>().toEqualTypeOf<Uint16Array<ArrayBuffer>>();
    expectTypeOf<RawArrayOf<'float64'>>().toEqualTypeOf<Float64Array<ArrayBuffer>>();
    const half = empty([1], { dtype: 'float16' });
    expectTypeOf(half.toTypedArray()).resolves.toEqualTypeOf<Float32Array<ArrayBuffer>>();
    expectTypeOf(half.toTypedArray({ raw: true })).resolves.toEqualTypeOf<
      Uint16Array<ArrayBuffer>
    >();
    expectTypeOf(half.toNested()).resolves.toEqualTypeOf<NestedOf<'float16'>>();
    expectTypeOf(half.ready()).resolves.toEqualTypeOf<Tensor<'float16'>>();
  });

  test('signals and progress', () => {
    const { signal } = new AbortController();
    const half = empty([1], { dtype: 'float16' });
    expectTypeOf(half.item({ signal })).resolves.toEqualTypeOf<number>();
    expectTypeOf(half.print({ signal })).resolves.toBeVoid();
    expectTypeOf(half.cast('int32', { signal })).resolves.toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf(half.device.synchronize({ signal })).resolves.toBeVoid();
    expectTypeOf(half.device.defaultStream.room({ signal })).resolves.toBeVoid();
    const onProgress = (progress: Progress): number => progress.done / progress.total;
    expectTypeOf(tensor([1], { signal, onProgress })).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(half.to('cpu', { signal, onProgress })).resolves.toEqualTypeOf<
      Tensor<'float16'>
    >();
    // @ts-expect-error empty takes no time
    empty([1], { signal });
    // @ts-expect-error a fill is enqueued
    void half.fill(1, { onProgress });
  });

  test('operations', () => {
    const a = empty([2, 3], { dtype: 'int32' });
    expectTypeOf(a.slice(0, [1, null, -1], null)).toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf(a.transpose()).toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf(a.permute([1, 0]).reshape([6]).broadcastTo([2, 6]).view()).toEqualTypeOf<
      Tensor<'int32'>
    >();
    expectTypeOf(a.cast('float16')).resolves.toEqualTypeOf<Tensor<'float16'>>();
    expectTypeOf(
      a.cast('float16', { out: empty([2, 3], { dtype: 'float16' }) }),
    ).resolves.toEqualTypeOf<Tensor<'float16'>>();
    // @ts-expect-error out has another dtype
    void a.cast('float16', { out: a });
    expectTypeOf(a.clone()).resolves.toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf(a.contiguous()).resolves.toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf(a.to('cpu')).resolves.toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf(a.fill(1)).resolves.toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf(a.copyFrom(empty([1]))).resolves.toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf(a.shape).toEqualTypeOf<readonly number[]>();
    // @ts-expect-error shapes do not change
    a.shape[0] = 1;
    assertType<Tensor>(a);
    assertType<Disposable>(a);
  });

  test('maps', () => {
    const x = variable('x');
    const single = empty([2]);
    const double = empty([2], { dtype: 'float64' });
    const whole = empty([2], { dtype: 'int32' });
    expectTypeOf(map(x, { x: single, whole })).resolves.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(map(x, { x: double })).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(map(x, { x: single, double })).resolves.toEqualTypeOf<
      Tensor<'float32' | 'float64'>
    >();
    expectTypeOf(map(x, { x: single.mul(2), y: whole.clone() })).resolves.toEqualTypeOf<
      Tensor<'float32'>
    >();
    expectTypeOf(map(x, { x: [double, double.mul(2)] })).resolves.toEqualTypeOf<
      readonly Tensor<'float64'>[]
    >();
    expectTypeOf(map(gt(x, 0), { x: double })).resolves.toEqualTypeOf<Tensor<'bool'>>();
    expectTypeOf(map(x, { x: double }, { dtype: 'int64' })).resolves.toEqualTypeOf<
      Tensor<'int64'>
    >();
    expectTypeOf(
      map(x, {}, { out: whole, parameters: { x: 1 }, indices: { row: -2 } }),
    ).resolves.toEqualTypeOf<Tensor<'int32'>>();
    // @ts-expect-error a parameter is a number
    void map(x, {}, { out: whole, parameters: { x: single } });
    // @ts-expect-error an input is a tensor
    void map(x, { x: 1 });
  });

  test('sums', () => {
    const double = empty([2], { dtype: 'float64' });
    expectTypeOf(sumTo(double, [])).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(sumTo(double, [], { dtype: 'float32' })).resolves.toEqualTypeOf<
      Tensor<'float32'>
    >();
    // @ts-expect-error sums are taken of floating-point numbers
    void sumTo(empty([2], { dtype: 'int32' }), []);
  });

  test('rows by index', () => {
    const double = empty([2, 3], { dtype: 'float64' });
    const short = empty([2], { dtype: 'int32' });
    const long = empty([2], { dtype: 'int64' });
    expectTypeOf(scatterAdd(double, short, 5)).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(scatterAdd(double, long, 5, { dtype: 'float32' })).resolves.toEqualTypeOf<
      Tensor<'float32'>
    >();
    expectTypeOf(scatterAdd(double, long, 5, { out: empty([5, 3]) })).resolves.toEqualTypeOf<
      Tensor<'float32'>
    >();
    expectTypeOf(countRows(short, 5)).resolves.toEqualTypeOf<Tensor<'int32'>>();
    expectTypeOf(countRows(short, 5, { dtype: 'int64' })).resolves.toEqualTypeOf<Tensor<'int64'>>();
    expectTypeOf(countRows(short, 5, { out: long })).resolves.toEqualTypeOf<Tensor<'int64'>>();
    expectTypeOf(gatherRows(double, short)).resolves.toEqualTypeOf<Tensor<'float64'>>();
    expectTypeOf(gatherRows(long, short)).resolves.toEqualTypeOf<Tensor<'int64'>>();
    // @ts-expect-error rows are named by whole numbers
    void gatherRows(double, double);
    // @ts-expect-error sums are taken of floating-point numbers
    void scatterAdd(long, short, 5);
    // @ts-expect-error counts are whole numbers
    void countRows(short, 5, { dtype: 'float32' });
  });

  test('maps of several formulas', () => {
    const [x, single] = [variable('x'), empty([2])];
    const both = { twice: mul(x, 2), isPositive: gt(x, 0) };
    expectTypeOf(map(both, { x: single })).resolves.toEqualTypeOf<{
      readonly twice: Tensor<'float32'>;
      readonly isPositive: Tensor<'bool'>;
    }>();
    void map(both, { x: single }, { out: { twice: single }, dtype: { isPositive: 'int32' } });
    // @ts-expect-error no result is called that
    void map(both, { x: single }, { out: { thrice: single } });
  });

  test('prepared calls', () => {
    const [single, by] = [empty([2]), empty([2], { dtype: 'int32' })];
    expectTypeOf(sort.prepare(single)).resolves.returns.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(cumSum.prepare(by, 0)).resolves.returns.toEqualTypeOf<Tensor<'int64'>>();
    expectTypeOf(take.prepare(single, by)).resolves.returns.toEqualTypeOf<Tensor<'float32'>>();
    expectTypeOf(topK.prepare(single, 1)).resolves.returns.toEqualTypeOf<TopK<'float32'>>();
    // @ts-expect-error indices of another dtype
    void take.prepare(single, single);
    // @ts-expect-error an output of another dtype
    void cumSum.prepare(single, 0, { out: by });
    // @ts-expect-error values of another dtype
    void topK(single, 1, 0, { out: { values: by } });
  });

  test('kernels of users', () => {
    const [single, double] = [empty([2]), empty([2], { dtype: 'float64' })];
    const one = unsafeKernel({
      parameters: {
        x: { input: 'float32' },
        y: { output: 'float64' },
        a: { scalar: 'float32' },
        n: { size: 'int32' },
      },
      sizes: ({ x, a }) => ({ y: [x.size, a], n: x.size }),
      launch: ({ n, y }) => ({ grid: n, block: y.size }),
      cuda: '',
    });
    expectTypeOf(one({ x: single, a: 1 })).toEqualTypeOf<Pending<Tensor<'float64'>>>();
    expectTypeOf(one.prepare({ x: single, a: 1 })).resolves.returns.toEqualTypeOf<
      Tensor<'float64'>
    >();
    // @ts-expect-error another dtype
    void one({ x: double, a: 1 });
    // @ts-expect-error the scalar is missing
    void one({ x: single });
    // @ts-expect-error sizes are not given
    void one({ x: single, a: 1, n: 3 });
    // @ts-expect-error an output of another dtype
    void one({ x: single, a: 1 }, { out: single });
    const two = unsafeKernel({
      parameters: { p: { output: 'int32' }, q: { output: 'bool' } },
      sizes: () => ({ p: [1], q: [1] }),
      launch: () => ({ grid: 1, block: [1, 1] }),
      cuda: '',
    });
    expectTypeOf(two({})).resolves.toEqualTypeOf<{
      readonly p: Tensor<'int32'>;
      readonly q: Tensor<'bool'>;
    }>();
    unsafeKernel({
      parameters: { p: { output: 'int32' }, n: { size: 'int32' } },
      // @ts-expect-error n is a size and has to be given
      sizes: () => ({ p: [1] }),
      launch: () => ({ grid: 1, block: 1 }),
      cuda: '',
    });
  });

  test('devices', () => {
    expectTypeOf(device('cuda')).toEqualTypeOf<Device>();
    const d = device('cpu');
    expectTypeOf(d.createStream({ priority: 1 })).toExtend<Stream>();
    expectTypeOf(d.defaultStream.room()).resolves.toBeVoid();
    expectTypeOf(d.allocate(10, { purpose: 'workspace' })).toExtend<Storage>();
    expectTypeOf(d.load).returns.resolves.toEqualTypeOf<LoadedKernel>();
    expectTypeOf(memory()).toEqualTypeOf<MemoryReport>();
    expectTypeOf<DType>().toEqualTypeOf<
      'float64' | 'float32' | 'float16' | 'bfloat16' | 'int64' | 'int32' | 'uint8' | 'bool'
    >();
  });

  test('scope', () => {
    expectTypeOf(
      scope(async (s) => s.track(await s.zeros([1], { dtype: 'bool' }))),
    ).resolves.toEqualTypeOf<Tensor<'bool'>>();
    expectTypeOf(scope((s) => s.tensor([1n]))).resolves.toEqualTypeOf<Tensor<'int64'>>();
    expectTypeOf(scope((s) => s.empty([1]).size)).resolves.toEqualTypeOf<number>();
  });
});
