import {
  evaluate,
  lift,
  ops,
  postOrder,
  simplifyVector,
  variable,
  withArgs,
  type Expr,
  type RealExpr,
  type VectorExpr,
} from '@mercer/formula/plan';
import type { PairwiseDType } from '../dtype.js';
import {
  exchangeOperands,
  parameterGradients,
  rowsGradient,
  type GradientExpressions,
} from './gradient-expressions.js';
import type { ForwardExpressions } from './scaled-norm.js';

/** What the formulas of a gradient read. */
export interface GradientOperands {
  /** A row of the side that is kept, and one of the other; of K components both. */
  readonly a: VectorExpr;
  readonly b: VectorExpr;
  /** dL/d(result) of the pair. */
  readonly upstream: VectorExpr;
  /** The reduction of the inner expression of the pair, where that is stored; else it is computed at each pair. */
  readonly sum?: VectorExpr | undefined;
  /** By name the parameters that are read from memory. */
  readonly values: Readonly<Record<string, VectorExpr>>;
  /** By name those that are numbers, p among them. What depends on them alone is computed in double precision. */
  readonly numbers: Readonly<Record<string, number>>;
  /** The operand that stands for such a value. The order of calls depends on the expressions alone. */
  readonly operandOf: (value: number) => VectorExpr;
}

/** The formula whose sum over the rows of b is the gradient by a row of a, of K components. */
export function rowsGradientFormula(
  forward: ForwardExpressions,
  dtype: PairwiseDType,
  operands: GradientOperands,
): VectorExpr {
  const { terms } = formulasOf(rowsGradient(forward, dtype, operands.numbers), operands);
  return simplifyVector(terms[0] ?? ops.zero(operands.a.dim));
}

/**
 * The same where a and b are rows of one matrix: the sum over all rows is the gradient by a row in both of its roles.
 *
 * @param transposed dL/d(result) of the pair with its rows exchanged, and its stored reduction
 */
export function bothRolesFormula(
  forward: ForwardExpressions,
  dtype: PairwiseDType,
  operands: GradientOperands,
  transposed: Pick<GradientOperands, 'upstream' | 'sum'>,
): VectorExpr {
  const { upstream } = operands;
  const exchanged = exchangeOperands(forward);
  if (exchanged === forward) {
    const both = { ...operands, upstream: ops.add(upstream, transposed.upstream) };
    return rowsGradientFormula(forward, dtype, both);
  }
  return simplifyVector(
    ops.add(
      rowsGradientFormula(forward, dtype, operands),
      rowsGradientFormula(exchanged, dtype, { ...operands, ...transposed }),
    ),
  );
}

/** For each name the formula whose sum over all pairs is the gradient by that parameter. */
export function parameterGradientFormulas(
  forward: ForwardExpressions,
  names: readonly string[],
  dtype: PairwiseDType,
  operands: GradientOperands,
): VectorExpr[] {
  const { values, terms } = formulasOf(parameterGradients(forward, names, dtype), operands);
  return names.map((_, at) => {
    const [value, term] = [values[at], terms[at]];
    const sum = term === undefined ? undefined : ops.sum(term);
    if (value === undefined) return simplifyVector(sum ?? ops.constant(0));
    return simplifyVector(sum === undefined ? value : ops.add(value, sum));
  });
}

/** The value of each sum once a pair, and its terms by component. */
function formulasOf(
  { inner, reduce, pairs, sums }: GradientExpressions,
  { a, b, upstream, sum, values: named, numbers, operandOf }: GradientOperands,
): {
  readonly values: readonly (VectorExpr | undefined)[];
  readonly terms: readonly (VectorExpr | undefined)[];
} {
  const known = new Map(Object.entries(named)).set('a', a).set('b', b).set('upstream', upstream);
  const computed = new Map<RealExpr, string>();
  const numberOf = (part: RealExpr): RealExpr => {
    let name = computed.get(part);
    if (name === undefined) {
      name = `number${computed.size}`;
      computed.set(part, name);
      known.set(name, operandOf(evaluate(part, numbers)));
    }
    return variable(name);
  };
  const formula = (expr: RealExpr): VectorExpr =>
    lift(withoutNumbers(expr, numbers, numberOf), (name) => {
      const operand = known.get(name);
      if (operand === undefined) throw new Error(`a gradient reads '${name}', which is no operand`);
      return operand;
    });
  const whole = (expr: RealExpr): VectorExpr => {
    const each = formula(expr);
    return each.dim === a.dim ? each : ops.sumT(each, a.dim);
  };
  const steps = whole(inner);
  known.set('s', sum ?? (reduce === 'sum' ? ops.sum(steps) : ops.max(steps)));
  for (const [at, pair] of pairs.entries()) known.set(`pair${at}`, formula(pair));
  // Of a maximum only the first component that attains it counts.
  const first = reduce === 'sum' ? undefined : ops.oneHot(ops.argMax(steps), a.dim);
  return {
    values: sums.map(({ value }) => value && formula(value)),
    terms: sums.map(({ term }) => {
      if (term === undefined) return undefined;
      return first === undefined ? whole(term) : ops.where(first, whole(term), 0);
    }),
  };
}

/** An expression with its largest parts replaced that depend on numbers of the call and on nothing else. */
function withoutNumbers(
  expr: RealExpr,
  numbers: Readonly<Record<string, number>>,
  operand: (part: RealExpr) => RealExpr,
): RealExpr {
  const order = postOrder(expr);
  const isOfNumbers = new Set<Expr>();
  for (const node of order) {
    const isNumber = node.name !== undefined && Object.hasOwn(numbers, node.name);
    const others = node.args.filter(({ value }) => value === undefined);
    if (isNumber || (others.length > 0 && others.every((arg) => isOfNumbers.has(arg)))) {
      isOfNumbers.add(node);
    }
  }
  // A comparison is no number: it stays, of numbers.
  const isReplaced = (node: Expr): node is RealExpr =>
    node.type === 'real' && isOfNumbers.has(node);
  const needed = new Set<Expr>([expr]);
  for (const node of order.toReversed()) {
    if (needed.has(node) && !isReplaced(node)) for (const arg of node.args) needed.add(arg);
  }
  const results = new Map<Expr, Expr>();
  for (const node of order) {
    if (!needed.has(node)) continue;
    const args = node.args.map((arg) => results.get(arg) ?? arg);
    results.set(node, isReplaced(node) ? operand(node) : withArgs(node, args));
  }
  return results.get(expr) as RealExpr;
}
