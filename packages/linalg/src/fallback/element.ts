import type { Matrix } from 'ml-matrix';

/** One batch entry of a routine. */
export interface ElementCall {
  readonly inputs: Readonly<Record<string, Matrix>>;
  readonly numbers: Readonly<Record<string, number>>;
}

/** What came out of it, by the names of the routine's fields. */
export interface ElementResult {
  readonly matrices: Readonly<Record<string, Matrix>>;
  readonly vectors: Readonly<Record<string, number>>;
}

/** Computes one batch entry. */
export type ElementRoutine = (call: ElementCall) => ElementResult;

/** The info of a matrix that holds NaN or infinity, as the native routines give it. */
export const NOT_FINITE = -1;

/** An input that the routine has for certain. */
export function input({ inputs }: ElementCall, name: string): Matrix {
  const matrix = inputs[name];
  if (matrix === undefined) throw new Error(`the request left out ${name}`);
  return matrix;
}

/** A number or flag that the routine has for certain. */
export function option({ numbers }: ElementCall, name: string): number {
  const value = numbers[name];
  if (value === undefined) throw new Error(`the request left out ${name}`);
  return value;
}

/** No result but the infos: matrices stay NaN. */
export function failed(
  info: number,
  vectors: Readonly<Record<string, number>> = {},
): ElementResult {
  return { matrices: {}, vectors: { ...vectors, infos: info } };
}
