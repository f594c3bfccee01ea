import { assertExpr } from '../../intern-table.js';
import type { Expr } from '../../expr.js';
import { fold, type RuleTable } from '../../rule-table.js';
import { elementwise, literal } from '../nodes.js';
import type { VectorExpr } from '../vector-expr.js';
import type { ApplyOp } from '../../build.js';

/**
 * The scalar expression as a formula: on every component of what `operand` gives for each of its variables. Operands have one dim, or dim 1
 * and are repeated. Throws `FormulaError` with code `DIM_MISMATCH` for others.
 *
 * ```ts
 * import { lift, mul, printFormula, sub, variable, vi, vj } from '@mercer/formula';
 * const product = mul(variable('a'), sub(variable('b'), 1));
 * console.log(printFormula(lift(product, (name) => (name === 'a' ? vi(0, 3) : vj(1, 3))))); // Vi(0, 3) * (Vj(1, 3) - 1)
 * ```
 */
export function lift(expr: Expr, operand: (name: string) => VectorExpr): VectorExpr {
  assertExpr(expr, 'lift');
  const apply =
    (op: ApplyOp) =>
    (operands: readonly VectorExpr[]): VectorExpr =>
      elementwise(op, operands);
  const table: RuleTable<VectorExpr> = {
    const: (_, { value }) => literal(value),
    var: (_, { name }) => operand(name),
    add: apply('add'),
    sub: apply('sub'),
    mul: apply('mul'),
    div: apply('div'),
    neg: apply('neg'),
    abs: apply('abs'),
    sign: apply('sign'),
    sqrt: apply('sqrt'),
    rsqrt: apply('rsqrt'),
    pow: apply('pow'),
    exp: apply('exp'),
    log: apply('log'),
    tanh: apply('tanh'),
    min: apply('min'),
    max: apply('max'),
    select: apply('select'),
    lt: apply('lt'),
    le: apply('le'),
    gt: apply('gt'),
    ge: apply('ge'),
    eq: apply('eq'),
    ne: apply('ne'),
    call: (operands, { fn, attributes }) => elementwise(fn, operands, attributes),
  };
  return fold(table, expr);
}
