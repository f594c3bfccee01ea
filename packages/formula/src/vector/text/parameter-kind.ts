import type { VectorExpr } from '../vector-expr.js';

/** What stands at one place of a call in text. */
export interface ParameterValues {
  /** Any formula. */
  formula: VectorExpr;
  /** An input, by name or as `Vi(0, 3)`, or a Gather. */
  input: VectorExpr;
  /** One input or a tuple of them. */
  inputs: readonly VectorExpr[];
  /** One formula or a tuple of them. */
  formulas: readonly VectorExpr[];
  /** All remaining formulas, one at least. */
  rest: readonly VectorExpr[];
  /** An integer, written as a number. */
  int: number;
  /** A number, written as one. */
  number: number;
  /** A list of integers: `[1, 2]`, `(1, 2)` or `Ind(1, 2)`. */
  ints: readonly number[];
}

export type ParameterKind = keyof ParameterValues;
/** A kind, or a kind that may be left out, as may all that follow. */
export type Parameter = ParameterKind | `${ParameterKind}?`;

type ValueOf<P extends Parameter> = P extends `${infer K extends ParameterKind}?`
  ? ParameterValues[K] | undefined
  : P extends ParameterKind
    ? ParameterValues[P]
    : never;

export type ValuesOf<P extends readonly Parameter[]> = { [I in keyof P]: ValueOf<P[I]> };

/** An operation of the text language: its parameters and how it builds a formula. */
export interface TextOperation {
  readonly parameters: readonly Parameter[];
  build(args: readonly unknown[]): VectorExpr;
}

/** Pairs parameters with a builder of exactly those; the parser delivers what the kinds say. */
export function operation<const P extends readonly Parameter[]>(
  parameters: P,
  build: (...args: ValuesOf<P>) => VectorExpr,
): TextOperation {
  return { parameters, build: (args) => build(...(args as ValuesOf<P>)) };
}
