import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { assert, expect } from 'vitest';
import { runKernelBackward, type AnyRunKernelOptions, type KernelDescriptor } from './index.js';

/** What gradients are computed in. */
export type DataType = 'float32' | 'float64';
/** Both of them. */
export const DTYPES = ['float64', 'float32'] as const;

/** u of each. */
export const UNIT: { readonly [D in DataType]: number } = { float32: 2 ** -24, float64: 2 ** -53 };

/** Numbers in rows. */
export function rowsOf(values: Float64Array, columns: number): number[][] {
  return Array.from({ length: values.length / columns }, (_, i) => [
    ...values.subarray(i * columns, (i + 1) * columns),
  ]);
}

/** Central difference of a function at 0. */
export const slope = (loss: (by: number) => number, step = 1e-5): number =>
  (loss(step) - loss(-step)) / (2 * step);

/** The numbers with one of them changed. */
export const moved = (values: Float64Array, at: number, by: number): Float64Array =>
  values.map((value, i) => (i === at ? value + by : value));

/** Gradients by name. */
export type Result = Readonly<Record<string, Tensor>>;

/** For code that goes through all descriptors: the types of one call are not known. */
export async function backward(
  descriptor: KernelDescriptor,
  gradient: Tensor<DataType>,
  a: Tensor<DataType>,
  b: Tensor<DataType> | undefined,
  options: AnyRunKernelOptions,
  wrt: readonly string[],
): Promise<Result> {
  return await runKernelBackward(descriptor, gradient, a, b, {
    ...options,
    wrt: wrt as readonly 'a'[],
  } as never);
}

/** The numbers of a gradient. */
export async function read(result: Result, name: string): Promise<number[]> {
  const found = result[name];
  assert(found !== undefined, `the gradient of ${name} is missing`);
  return [...(await found.toTypedArray())].map(Number);
}

/** Within `units` u of the largest value. */
export function expectClose(
  what: string,
  got: readonly number[],
  want: readonly number[],
  limit: number,
): void {
  const scale = Math.max(...want.map(Math.abs), 1e-3);
  expect(got.length, what).toBe(want.length);
  got.forEach((value, i) => {
    const error = Math.abs(value - (want[i] ?? NaN));
    assert(
      error <= limit * scale,
      `${what}[${i}]: ${value}, expected ${want[i]} within ${limit * scale}`,
    );
  });
}

/** Numbers on a device. */
export const maker =
  (device: () => Device) =>
  (
    values: ArrayLike<number>,
    shape: readonly number[],
    dtype: DataType,
  ): Promise<Tensor<DataType>> =>
    tensor(Float64Array.from(values), { shape, dtype, device: device() });
