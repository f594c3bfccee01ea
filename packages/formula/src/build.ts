import { describeValue } from '@mercer/options';
import type { Expr, ExprOf } from './expr.js';
import { FormulaError } from './formula-error.js';
import { intern, isExpr } from './intern-table.js';
import { OPS, SIGNATURES, type ExprType, type Op, type ResultType } from './op.js';

/** Operations that are built from arguments alone. */
export type ApplyOp = Exclude<Op, 'const' | 'var' | 'call'>;

/**
 * The node `op(...args)`, checked for arity and types; numbers become constants. The named
 * constructors (`add`, `mul`, ...) are this function with the operation filled in.
 *
 * Throws `FormulaError` with code `ARITY_MISMATCH`, `TYPE_MISMATCH` or `INVALID_ARGUMENT`.
 *
 * ```ts
 * import { build, print, variable } from '@mercer/formula/plan';
 * console.log(print(build('max', [variable('x'), 0]))); // max(x, 0)
 * ```
 */
export function build<K extends ApplyOp>(
  op: K,
  args: readonly (Expr | number)[],
): ExprOf<ResultType<K>> {
  if (!isApplyOp(op)) {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot build ${describeValue(op)}: it is not an operation with arguments. ` +
        `Use one of ${OPS.filter(isApplyOp).join(', ')}.`,
    );
  }
  const expected: readonly ExprType[] = SIGNATURES[op].args;
  if (args.length !== expected.length) {
    throw new FormulaError(
      'ARITY_MISMATCH',
      `cannot build '${op}': it takes ${expected.length} argument(s) and got ${args.length}. ` +
        `Pass exactly ${expected.length}.`,
    );
  }
  const nodes = expected.map((type, i) => operand(op, i, type, args[i]));
  // A signed constant is one node, however it was written: printing depends on it.
  const [first] = nodes;
  const node =
    op === 'neg' && first?.value !== undefined ? constant(-first.value) : intern(op, nodes);
  return node as ExprOf<ResultType<K>>;
}

/** True for an operation that {@link build} builds. */
export function isApplyOp(op: string): op is ApplyOp {
  return Object.hasOwn(SIGNATURES, op) && op !== 'const' && op !== 'var' && op !== 'call';
}

/** The constant `value`; infinities, NaN and -0 are constants too. */
export function constant(value: number): ExprOf<'real'> {
  if (typeof value !== 'number') {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot build a constant: got ${describeValue(value)}. Pass a number.`,
    );
  }
  return intern('const', [], { value }) as ExprOf<'real'>;
}

function operand(op: Op, index: number, type: ExprType, value: unknown): Expr {
  const node = typeof value === 'number' ? constant(value) : value;
  if (!isExpr(node)) {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot build '${op}': argument ${index + 1} is ${describeValue(value)}. ` +
        `Pass a number or an expression made by this copy of @mercer/formula.`,
    );
  }
  if (node.type !== type) {
    throw new FormulaError(
      'TYPE_MISMATCH',
      `cannot build '${op}': argument ${index + 1} must be ${type} and is ${node.type} ` +
        `('${node.op}'). ${
          type === 'bool'
            ? 'Pass a comparison such as lt(a, b).'
            : 'Turn a comparison into a number with select(condition, 1, 0).'
        }`,
    );
  }
  return node;
}
