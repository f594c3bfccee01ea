import { describeValue } from '@mercer/options';
import { FormulaError } from '../../formula-error.js';
import type { VectorExpr } from '../vector-expr.js';
import { OPERATIONS } from './operation-names.js';
import type { TextOperation } from './parameter-kind.js';

/** An operation of `defineOp`, of any number of arguments. */
export interface NamedOperation {
  readonly opName: string;
  readonly argNames: readonly string[];
  (...args: never): VectorExpr;
}

/** The built-in operations and those of the caller. Throws `FormulaError` with code `INVALID_NAME`, INVALID_ARGUMENT for what is no list. */
export function withOwn(own: readonly NamedOperation[]): ReadonlyMap<string, TextOperation> {
  const given: unknown = own;
  if (!Array.isArray(given)) {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot read the formula: operations is ${describeValue(given)}. Pass a list of what defineOp returned.`,
    );
  }
  if (own.length === 0) return OPERATIONS;
  const all = new Map(OPERATIONS);
  for (const op of own) {
    if (all.has(op.opName)) {
      throw new FormulaError(
        'INVALID_NAME',
        `cannot read the formula: there are two operations of the name '${op.opName}'. Rename one.`,
      );
    }
    const apply = op as unknown as (...args: readonly unknown[]) => VectorExpr;
    all.set(op.opName, {
      parameters: op.argNames.map(() => 'formula'),
      build: (args) => apply(...args),
    });
  }
  return all;
}
