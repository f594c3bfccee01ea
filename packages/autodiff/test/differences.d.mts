import type { Device, Tensor } from '@mercer/tensor';

/** Numbers from 0 to 1 that look random and are the same in every run. */
export function uniform(seed: number): () => number;

/** Makes a float64 tensor with elements between two numbers. */
export type Drawn = (
  shape: readonly number[],
  range: readonly [from: number, to: number],
  seed?: number,
) => Promise<Tensor<'float64'>>;

/** On a device. */
export function drawnOn(device: () => Device | 'cpu'): Drawn;

/** On the CPU. */
export const drawn: Drawn;

/** A function of tensors whose value has one element. */
export type Scalar = (...inputs: Tensor[]) => PromiseLike<Tensor> | Tensor;

/** The gradient by one input from differences on both sides of each element. */
export function centralDifferences(
  f: Scalar,
  inputs: readonly Tensor[],
  by: number,
  step?: number,
): Promise<Float64Array>;

/**
 * A check that numbers are the gradient by one input, from differences: along a change of all elements, and by some of them, the first and the last. With
 * MERCER_TEST_FULL=1 by each.
 */
export function gradientCheck(
  f: Scalar,
  inputs: readonly Tensor[],
  by: number,
  step?: number,
): Promise<(found: ArrayLike<unknown>, bound: number) => void>;

/** That numbers are the gradient by one input: see {@link gradientCheck}. */
export function expectGradient(
  found: ArrayLike<unknown>,
  f: Scalar,
  inputs: readonly Tensor[],
  by: number,
  bound: number,
): Promise<void>;

/** That numbers agree as well as differences allow. */
export function expectClose(
  found: ArrayLike<unknown>,
  expected: ArrayLike<number>,
  bound: number,
): void;
