import type { Tensor } from '@mercer/tensor';
import type { KnownValue, Value } from '@mercer/tensor/operation';

/** Results of a call by name, or cotangents of them, as rules have them. */
export type Named<N extends string> = Readonly<Record<N, KnownValue>>;

/** The same of cotangents: undefined for a result that has none. */
export type Cotangents<N extends string> = Readonly<Partial<Record<N, KnownValue>>>;

/** The same as functions take them that tell data types apart. */
export type Floats<N extends string> = Readonly<Record<N, Tensor<'float64'>>>;

/** A value as functions take it that tell data types apart: what has a gradient has one that they take. */
export const floats = (x: Value): Tensor<'float64'> => x as Tensor<'float64'>;

/** The symmetric part of matrices. */
export const symmetric = (x: Value): Value => x.add(x.transpose()).mul(0.5);
