import {
  abs,
  constant,
  differentiate,
  div,
  eq,
  isNonNegative,
  log,
  lt,
  mul,
  pow,
  select,
  sign,
  simplify,
  sub,
  substitute,
  variable,
  type RealExpr,
} from '@mercer/formula/plan';
import { oneForExponent } from '../pairwise/norm-expressions.js';
import type { PairwiseDType } from '../dtype.js';
import type { Reduce } from '../pairwise/problem.js';
import { outerDerivative } from './outer-derivative.js';
import { isEven, powerSum, type ForwardExpressions, type PowerSum } from './scaled-norm.js';

/**
 * A gradient of `out = outer(reduce_k inner(a, b))`. `pairs` turn s of a pair and the upstream gradient into values of the pair;
 * `term` is what each k contributes.
 */
export interface GradientExpressions {
  readonly inner: RealExpr;
  readonly reduce: Reduce;
  /** Values pair0, pair1, ... of a pair, in `upstream`, s, p and the parameters. */
  readonly pairs: readonly RealExpr[];
  /** What is summed: for rows one term over n, for parameters one entry each over all pairs. */
  readonly sums: readonly GradientSum[];
}

/** One sum: `value` once per pair, in the pair expressions' variables, and `term` for each k. */
export interface GradientSum {
  readonly value: RealExpr | undefined;
  /**
   * In a, b, pair0, pair1, ..., p and the parameters. Under the reduction 'max' it counts only at the
   * first k that attains the maximum.
   */
  readonly term: RealExpr | undefined;
}

const [a, b, upstream] = [variable('a'), variable('b'), variable('upstream')];
const difference = sub(a, b);
const pair = (index: number): RealExpr => variable(`pair${index}`);

/** Distances below the normal range count as 0: their reciprocal may not be finite. */
const SMALLEST: { readonly [D in PairwiseDType]: number } = {
  float32: 2 ** -126,
  float64: 2 ** -1022,
};

/**
 * The gradient with respect to the rows of a, `dA[m,k] = sum_n term`. A p-norm is taken in the form
 * sign(a - b) (|a - b| / D)^(p - 1) with D its value, which neither overflows nor divides by 0; a zero
 * difference contributes exactly 0 and so does a pair at distance 0.
 *
 * @param numbers by name what parameters are, where they are numbers
 */
export function rowsGradient(
  forward: ForwardExpressions,
  dtype: PairwiseDType,
  numbers: Readonly<Record<string, number>> = {},
): GradientExpressions {
  const power = powerSum(forward);
  if (power === undefined) {
    const { factor, rest } = constantFactor(differentiate(forward.inner, 'a'));
    const weight = mul(factor, mul(upstream, outerSlope(forward)));
    return assemble(forward, [weight], [{ value: undefined, term: mul(pair(0), rest) }]);
  }
  const scale = powerScale(forward, power, dtype);
  const { value, name } = power.exponent;
  const isGiven = name !== undefined && Object.hasOwn(numbers, name);
  const smooth = (value ?? (isGiven ? numbers[name] : undefined) ?? 0) > 1;
  const raised = pow(scale.ratio, sub(power.exponent, 1));
  const term = mul(pair(0), mul(sign(difference), raised));
  const guarded = smooth ? term : select(eq(scale.ratio, 0), 0, term);
  return assemble(
    forward,
    [scale.weight, ...scale.reciprocal],
    [{ value: undefined, term: guarded }],
  );
}

/**
 * The gradients with respect to parameters (or the scalar `p`): for each name the sum over all pairs
 * of `value`, and over all pairs and k of `term`. 0 log 0 is 0.
 */
export function parameterGradients(
  forward: ForwardExpressions,
  names: readonly string[],
  dtype: PairwiseDType,
): GradientExpressions {
  const power = powerSum(forward);
  const pairs: RealExpr[] = [];
  const keep = (value: RealExpr): RealExpr => {
    pairs.push(value);
    return pair(pairs.length - 1);
  };
  let kept: RealExpr | undefined;
  const sums = names.map((name): GradientSum => {
    if (power?.root !== undefined && power.exponent.name === name) {
      return normExponentSum(
        power.root,
        name,
        checkedReciprocal(forward, power.exponent, power.root.of, dtype),
        keep,
      );
    }
    const inner = differentiate(forward.inner, name);
    const outer = outerDerivative(forward.outer, name);
    const value = outer.value === 0 ? undefined : mul(upstream, outer);
    if (inner.value === 0) return { value, term: undefined };
    kept ??= keep(mul(upstream, outerSlope(forward)));
    return { value, term: mul(kept, inner) };
  });
  return assemble(forward, pairs, sums);
}

/**
 * dD/dp = (D / p) sum_k r^p log r with r = |a - b| / D: all terms of one sign, where the sum over
 * |a - b|^p log |a - b| would have to cancel against log D.
 */
function normExponentSum(
  { of, rest }: NonNullable<PowerSum['root']>,
  name: string,
  reciprocal: RealExpr,
  keep: (value: RealExpr) => RealExpr,
): GradientSum {
  const p = variable(name);
  const slope = atRoot(outerDerivative(rest, 'distance'), of);
  const weight = keep(mul(mul(upstream, slope), div(of, p)));
  const ratio = abs(mul(difference, keep(reciprocal)));
  const term = select(eq(ratio, 0), 0, mul(weight, mul(pow(ratio, p), log(ratio))));
  const direct = outerDerivative(rest, name);
  return { value: direct.value === 0 ? undefined : mul(upstream, atRoot(direct, of)), term };
}

interface PowerScale {
  readonly weight: RealExpr;
  /** The second pair value, where the power is taken of a scaled difference. */
  readonly reciprocal: readonly RealExpr[];
  readonly ratio: RealExpr;
}

function powerScale(
  forward: ForwardExpressions,
  { exponent, root }: PowerSum,
  dtype: PairwiseDType,
): PowerScale {
  if (root === undefined) {
    const weight = mul(exponent, mul(upstream, outerSlope(forward)));
    return { weight, reciprocal: [], ratio: abs(difference) };
  }
  return {
    weight: mul(upstream, atRoot(outerDerivative(root.rest, 'distance'), root.of)),
    reciprocal: [checkedReciprocal(forward, exponent, root.of, dtype)],
    // the base of a power is seen not to be below 0
    ratio: abs(mul(difference, pair(1))),
  };
}

/** 1 / D, NaN where the exponent is read from memory and none: no difference counts as 0 then. */
function checkedReciprocal(
  { parameters }: ForwardExpressions,
  exponent: RealExpr,
  root: RealExpr,
  dtype: PairwiseDType,
): RealExpr {
  const value = reciprocal(root, dtype);
  const { name } = exponent;
  return name !== undefined && parameters?.includes(name) === true
    ? mul(value, oneForExponent(name))
    : value;
}

const atRoot = (expr: RealExpr, root: RealExpr): RealExpr => substitute(expr, { distance: root });

function reciprocal(root: RealExpr, dtype: PairwiseDType): RealExpr {
  return select(lt(root, SMALLEST[dtype]), 0, div(1, root));
}

function outerSlope({ outer }: ForwardExpressions): RealExpr {
  return outerDerivative(outer, 's');
}

/** A constant in front is taken once per pair instead of once per k. */
function constantFactor(expr: RealExpr): { factor: RealExpr; rest: RealExpr } {
  const [first, second] = expr.args as readonly RealExpr[];
  return expr.op === 'mul' && first?.value !== undefined && second !== undefined
    ? { factor: first, rest: second }
    : { factor: constant(1), rest: expr };
}

function assemble(
  { inner, reduce }: ForwardExpressions,
  pairs: readonly RealExpr[],
  sums: readonly GradientSum[],
): GradientExpressions {
  const sumIsNonNegative = isNonNegative(inner, ['p']);
  const known = sumIsNonNegative ? ['s'] : [];
  const simplePairs = pairs.map((each) => simplify(each, { nonNegative: known }));
  const nonNegative = [
    ...known,
    ...simplePairs.flatMap((each, i) => (isNonNegative(each, known) ? [`pair${i}`] : [])),
  ];
  const simple = sums.map(({ value, term }) => ({
    value: value && simplify(value, { nonNegative: known }),
    term: term && simplify(term, { nonNegative }),
  }));
  return {
    inner,
    reduce,
    pairs: simplePairs,
    sums: simple,
  };
}

/**
 * The same kernel with its operands exchanged: rows of b against rows of a. Where the inner expression
 * is even in the difference it stays as it is, and so do the formulas.
 */
export function exchangeOperands(forward: ForwardExpressions): ForwardExpressions {
  if (isEven(forward.inner)) return forward;
  return { ...forward, inner: simplify(substitute(forward.inner, { a: b, b: a })) };
}
