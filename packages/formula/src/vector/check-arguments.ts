import { describeValue } from '@mercer/options';
import { FormulaError } from '../formula-error.js';
import { isVectorExpr, internVector } from './intern-vector.js';
import type { VectorExpr } from './vector-expr.js';

/** The largest dim a node may have. */
export const MAX_DIM = 2 ** 24;

/** A formula, or a number as a literal. Throws `FormulaError` with code `INVALID_ARGUMENT`. */
export function toVector(op: string, value: unknown, what = 'a formula or a number'): VectorExpr {
  if (typeof value === 'number') return internVector('literal', 1, [], { value });
  if (!isVectorExpr(value)) {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot build ${op}: an argument is ${describeValue(value)}, not ${what}. ` +
        `Pass ${what} made by this copy of @mercer/formula.`,
    );
  }
  return value;
}

/** An integer between `least` and `most`. Throws `FormulaError` with code `INVALID_ARGUMENT`. */
export function integer(
  op: string,
  name: string,
  value: number,
  least: number,
  most: number,
): number {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot build ${op}: ${name} is ${describeValue(value)} and must be an integer from ${least} to ${most}. ` +
        (name === 'dim' && value === 0
          ? 'A variable has at least one component; leave empty inputs out.'
          : `Pass such an integer.`),
    );
  }
  return value;
}

/** The error for dims that do not fit. */
export function dimError(op: string, found: string, remedy: string): FormulaError {
  return new FormulaError('DIM_MISMATCH', `cannot build ${op}: ${found}. ${remedy}`);
}

/** The dim of an elementwise result: all the same, or 1. */
export function broadcastDim(op: string, args: readonly VectorExpr[]): number {
  const dim = Math.max(...args.map((arg) => arg.dim));
  if (args.every((arg) => arg.dim === 1 || arg.dim === dim)) return dim;
  throw dimError(
    op,
    `the arguments have dims ${args.map((arg) => arg.dim).join(' and ')}`,
    'Give all of them the same dim, or dim 1, which is repeated.',
  );
}
