import { describeValue } from '@mercer/options';
import { FormulaError } from '../formula-error.js';
import { toVector } from './check-arguments.js';
import { isVectorExpr } from './intern-vector.js';
import { OPERATIONS } from './text/operation-names.js';
import type { VectorExpr, VectorOperand } from './vector-expr.js';

/** One operand for each name. */
type OperandsOf<Names extends readonly string[]> = { [I in keyof Names]: VectorOperand };

/** An operation composed of others; `parseFormula` takes it under its name. */
export interface DefinedOperation<Names extends readonly string[] = readonly string[]> {
  (...operands: OperandsOf<Names>): VectorExpr;
  readonly opName: string;
  readonly argNames: Names;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/**
 * A new operation from existing ones: `expression` gets the operands by name and returns a formula.
 * It composes nodes, never text, so it is differentiable to any order like what it is made of.
 *
 * Throws `FormulaError`: `INVALID_NAME` for a name that is taken or no name; on a call
 * `ARITY_MISMATCH`, and whatever the operations inside say.
 *
 * ```ts
 * import { defineOp, grad, ops, parseFormula, printFormula, vi } from '@mercer/formula';
 * const swish = defineOp('Swish', ['x', 'beta'], ({ x, beta }) =>
 *   ops.mul(x, ops.logistic(ops.mul(beta, x))),
 * );
 * const x = vi(0, 3);
 * console.log(printFormula(swish(x, 2))); // Vi(0, 3) * Logistic(2 * Vi(0, 3))
 * console.log(grad(swish(x, 2), x).dim); // 3
 * console.log(parseFormula('Swish(Vi(0, 3), 2)', [], { operations: [swish] }) === swish(x, 2)); // true
 * ```
 */
export function defineOp<const Names extends readonly string[]>(
  name: string,
  argNames: Names,
  expression: (operands: { readonly [K in Names[number]]: VectorExpr }) => VectorExpr,
): DefinedOperation<Names> {
  if (!Array.isArray(argNames)) {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `defineOp: the names of arguments are ${describeValue(argNames)}. Pass an array such as ['x', 'y'].`,
    );
  }
  if (OPERATIONS.has(name)) invalidName(name, 'is the name of a built-in operation');
  for (const one of [name, ...argNames]) {
    if (!NAME.test(one)) invalidName(one, 'is no name');
  }
  if (new Set(argNames).size !== argNames.length)
    invalidName(argNames.join(', '), 'repeats a name');
  const apply = (...operands: readonly VectorOperand[]): VectorExpr => {
    if (operands.length !== argNames.length) {
      throw new FormulaError(
        'ARITY_MISMATCH',
        `cannot build ${name}: it takes ${argNames.length} argument(s) (${argNames.join(', ')}) ` +
          `and got ${operands.length}. Pass exactly those.`,
      );
    }
    const named = Object.fromEntries(argNames.map((arg, k) => [arg, toVector(name, operands[k])]));
    const result: unknown = expression(named as { [K in Names[number]]: VectorExpr });
    if (!isVectorExpr(result)) {
      throw new FormulaError(
        'INVALID_ARGUMENT',
        `cannot build ${name}: its expression returned ${typeof result}. Return a formula.`,
      );
    }
    return result;
  };
  return Object.freeze(
    Object.assign(apply as (...operands: OperandsOf<Names>) => VectorExpr, {
      opName: name,
      argNames: Object.freeze([...argNames]) as unknown as Names,
    }),
  );
}

function invalidName(name: string, problem: string): never {
  throw new FormulaError(
    'INVALID_NAME',
    `cannot define an operation: ${JSON.stringify(name)} ${problem}. ` +
      `Use letters, digits and underscores (at most 64, no leading digit), each name once.`,
  );
}
