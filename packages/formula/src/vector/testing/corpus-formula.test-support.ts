/** Numbers of a row. */
export type Vector = readonly number[];
/** Rows by the name of their input. */
export type Inputs = Readonly<Record<string, Vector>>;

/** A formula as KeOps' tests, tutorials, issues and talks write it, with its value at one i and j. */
export interface CorpusFormula {
  /** Where it occurs. */
  readonly source: string;
  readonly text: string;
  readonly aliases: readonly string[];
  /** From the rows of the inputs, by name; inputs that stand in the text are v0, v1, ... */
  readonly value: (inputs: Inputs) => Vector;
}

export const sum = (v: Vector): number => v.reduce((total, x) => total + x, 0);
export const dot = (a: Vector, b: Vector): number => sum(a.map((x, k) => x * b[k]!));
export const sq = (a: Vector, b: Vector): number => sum(a.map((x, k) => (x - b[k]!) ** 2));
export const scale = (s: number, v: Vector): Vector => v.map((x) => s * x);
export const plus = (a: Vector, b: Vector): Vector => a.map((x, k) => x + b[k]!);
