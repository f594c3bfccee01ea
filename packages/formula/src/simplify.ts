import { assertExpr } from './intern-table.js';
import { describeValue, type OptionNames } from '@mercer/options';
import { FormulaError } from './formula-error.js';
import { constant } from './build.js';
import { FLOAT64 } from './evaluate.js';
import type { Expr } from './expr.js';
import { NON_NEGATIVE } from './non-negative.js';
import { orderSteps } from './post-order.js';
import { readOptions } from './read-options.js';
import { applyRule } from './rule-table.js';
import type { Facts } from './simplify-rule.js';
import { SIMPLIFY } from './simplify-rules.js';
import { finish, type Steps } from './steps.js';
import { withArgs } from './substitute.js';

/** What the caller knows about the variables. */
export interface SimplifyOptions {
  /** Variables that are never below 0 (they may be NaN). */
  readonly nonNegative?: readonly string[];
}

const SIMPLIFY_OPTIONS: OptionNames<SimplifyOptions> = { nonNegative: true };

/**
 * An equal expression in canonical, usually shorter, form. Simplifying twice changes nothing more,
 * and two expressions that differ by the order of a sum or product become the same node.
 *
 * What is preserved: the value in float64 up to a few roundings, NaN and infinite data included.
 * Rewrites that need finite values (`x * 0`, `x - x`, `x / x`, `0 / x`) and those that can cancel
 * (regrouping a sum) are not made. Two things may change, and nothing else:
 * - the sign of a zero (`x + 0` becomes `x`), hence the sign of a pole that is reached through it;
 * - an intermediate result that leaves the floating-point range: `sqrt(x * x)` becomes `abs(x)`,
 *   which is right where the square overflows, and `pow(x, -8)` becomes `1 / (...)`.
 *
 * `pow(x, c)` with integer c, |c| <= 8, becomes products; where x is known to be non-negative,
 * half-integer c, |c| <= 8, products and a square root, and odd multiples of 1/4, |c| <= 4, products
 * and nested square roots. Products that derivatives of norms consist of get shorter:
 * `sign(x) * abs(x)` becomes `x`, `sign(x) * x` becomes `abs(x)`, also among further factors.
 *
 * ```ts
 * import { abs, pow, print, simplify, sub, variable } from '@mercer/formula';
 * const d = abs(sub(variable('a'), variable('b')));
 * console.log(print(simplify(pow(d, 3)))); // (a - b) * (a - b) * abs(a - b)
 * console.log(print(simplify(pow(variable('s'), 0.5), { nonNegative: ['s'] }))); // sqrt(s)
 * console.log(print(simplify(pow(variable('s'), 0.25), { nonNegative: ['s'] }))); // sqrt(sqrt(s))
 * ```
 */
export function simplify<E extends Expr>(expr: E, options?: SimplifyOptions): E {
  const given = readOptions('simplify', options, SIMPLIFY_OPTIONS);
  assertExpr(expr, 'simplify');
  const [simplified = expr] = inCanonicalForm([expr], given);
  return simplified;
}

/**
 * What {@link simplify} makes of each expression; what they have in common is looked at once, so that components of one
 * formula take time that grows with their distinct nodes.
 *
 * ```ts
 * import { add, exp, mul, print, simplifyAll, variable } from '@mercer/formula';
 * const far = exp(mul(variable('s'), 1));
 * console.log(simplifyAll([add(far, far), mul(far, 1)]).map((one) => print(one)).join(', ')); // 2 * exp(s), exp(s)
 * ```
 */
export function simplifyAll<E extends Expr>(exprs: readonly E[], options?: SimplifyOptions): E[] {
  const given = readOptions('simplifyAll', options, SIMPLIFY_OPTIONS);
  const list: unknown = exprs;
  if (!Array.isArray(list)) {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `simplifyAll: the expressions are ${describeValue(list)}. Pass an array of expressions.`,
    );
  }
  exprs.forEach((expr) => {
    assertExpr(expr, 'simplifyAll');
  });
  return inCanonicalForm(exprs, given);
}

function inCanonicalForm<E extends Expr>(exprs: readonly E[], given: SimplifyOptions): E[] {
  return finish(canonicalSteps(exprs, given));
}

/** {@link simplifyAll} in steps, one for each node. */
export function simplifyAllSteps<E extends Expr>(
  exprs: readonly E[],
  options?: SimplifyOptions,
): Steps<E[]> {
  return canonicalSteps(exprs, readOptions('simplifyAllSteps', options, SIMPLIFY_OPTIONS));
}

function* canonicalSteps<E extends Expr>(
  exprs: readonly E[],
  { nonNegative = [] }: SimplifyOptions,
): Steps<E[]> {
  const given: unknown = nonNegative;
  if (!Array.isArray(given)) {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `simplify: nonNegative is ${describeValue(given)}. Pass a list of names.`,
    );
  }
  const assumed = new Set(nonNegative);
  const signs = new Map<Expr, boolean>();
  const done = new Map<Expr, Expr>();

  // Of a node whose arguments are not known yet, as a rule may have built it, these first, on a stack of their own.
  const isNonNegative = (root: Expr): boolean => {
    const stack = [root];
    for (let node = stack.at(-1); node !== undefined; node = stack.at(-1)) {
      const open = signs.has(node) ? [] : node.args.filter((arg) => !signs.has(arg));
      if (open.length > 0) {
        stack.push(...open);
        continue;
      }
      stack.pop();
      if (signs.has(node)) continue;
      const args = node.args.map((arg) => signs.get(arg) === true);
      signs.set(
        node,
        node.name !== undefined ? assumed.has(node.name) : applyRule(NON_NEGATIVE, node, args),
      );
    }
    return signs.get(root) === true;
  };
  const facts: Facts = { isNonNegative };

  const normalise = (node: Expr): Expr => {
    const known = done.get(node);
    if (known !== undefined) return known;
    const current = withArgs(node, node.args.map(normalise));
    const next = foldConstants(current) ?? SIMPLIFY[current.op](current, facts);
    const result = next === undefined || next === current ? current : normalise(next);
    done.set(node, result);
    done.set(result, result);
    isNonNegative(result);
    return result;
  };

  // Arguments first, so that the recursion above only ever goes through what a rule just built.
  for (const node of yield* orderSteps<Expr>(exprs)) {
    normalise(node);
    yield;
  }
  return exprs.map((expr) => normalise(expr) as E);
}

function foldConstants(node: Expr): Expr | undefined {
  if (node.type !== 'real' || node.args.length === 0) return undefined;
  const values = node.args.map((arg) => arg.value);
  if (!values.every((value) => value !== undefined)) return undefined;
  return constant(applyRule(FLOAT64, node, values));
}
