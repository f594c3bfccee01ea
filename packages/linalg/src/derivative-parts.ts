import type { Tensor } from '@mercer/tensor';
import type { KnownValue, Value } from '@mercer/tensor/operation';

/** Results of a call by name, or cotangents of them, as rules have them. */
export type Named<N extends string> = Readonly<Record<N, KnownValue>>;

/** The same of cotangents: undefined for a result that has none. */
export type Cotangents<N extends string> = Readonly<Partial<Record<N, KnownValue>>>;

/** A value as functions take it that tell data types apart: what has a gradient has one that they take. */
export const floats = (x: Value): Tensor<'float64'> => x as Tensor<'float64'>;

/** The symmetric part of matrices. */
export const symmetric = (x: Value): Value => x.add(x.transpose()).mul(0.5);

/** A vector of each batch entry as a matrix of one row. */
export const asRow = (x: KnownValue): Value =>
  x.contiguous().reshape([...x.shape.slice(0, -1), 1, ...x.shape.slice(-1)]);

/** A vector of each batch entry as a matrix of one column. */
export const asColumn = (x: KnownValue): Value => x.contiguous().reshape([...x.shape, 1]);

/** Quotients, 0 where the divisor counts as 0. It is not divided by there, so that derivatives are 0 too. */
export function quotient(x: Value, divisor: Value, bound: Value): Value {
  const isNothing = divisor.abs().le(bound);
  return isNothing.where(0, x.div(isNothing.where(1, divisor)));
}

/** The sum of what is there. */
export const sumOf = (a: Value | undefined, b: Value | undefined): Value | undefined =>
  a !== undefined && b !== undefined ? a.add(b) : (a ?? b);
