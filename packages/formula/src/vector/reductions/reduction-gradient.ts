import { assertVectorExpr } from '../intern-vector.js';
import { own } from '@mercer/options';
import { FormulaError } from '../../formula-error.js';
import { finish, type Steps } from '../../steps.js';
import { dimError, toVector } from '../check-arguments.js';
import { diff, gradSteps } from '../differentiate/operators.js';
import { concat, elementwise, indexOf, literal, slice } from '../nodes.js';
import { div, mul, sub } from '../operations/arithmetic.js';
import { exp } from '../operations/functions.js';
import type { VariableNode, VectorExpr, VectorOperand } from '../vector-expr.js';
import { assertReduction, outputsOf, reduction as describe, type Reduction } from './reduction.js';

/** Results of the reduction itself that its derivative needs, as inputs of the kept side. */
export interface SavedResults {
  /** The values: LogSumExp, SumSoftMaxWeight. */
  readonly value?: VectorExpr;
  /** LogSumExp of the same formula without a weight: SumSoftMaxWeight. */
  readonly logSumExp?: VectorExpr;
  /** The indices: Min, Max, KMin, KMax and their kin. */
  readonly index?: VectorExpr;
  /** How many rows are reduced, a number or an input: Mean, Var. */
  readonly count?: VectorOperand;
  /** Mean of the same formula: Var. */
  readonly mean?: VectorExpr;
  /** Prod of `Where(F == 0, 1, F)`, the terms that are not 0: Prod. */
  readonly product?: VectorExpr;
  /** Count of `F == 0`: Prod. */
  readonly zeros?: VectorExpr;
  /**
   * Sums of the terms that are 0, of their squares: Prod, where its gradient is differentiated again. They are 0, and their derivatives are not.
   */
  readonly zeroSum?: VectorExpr;
  readonly zeroSquares?: VectorExpr;
}

/** The gradient of a reduction as another reduction. */
export interface ReductionGradient {
  readonly reduction: Reduction;
  /** True for a parameter: the rows of the result are still to be added up. */
  readonly sumRows: boolean;
}

/**
 * The gradient of a reduction by an input, applied to `seed`: an input of the kept side, of the dim
 * of the values. By an input of i the result is a sum over j for every i, by one of j a sum over i;
 * by a parameter it has the rows of the kept side, which the caller adds up. By values of pairs it is no reduction: see
 * `pairGradientSteps`.
 *
 * Sum needs nothing of the forward pass; the others need what {@link SavedResults} says. The product of
 * terms of which one is 0 has the derivative of that one times the product of the others.
 *
 * Throws `FormulaError`: `NOT_DIFFERENTIABLE`, `INVALID_ARGUMENT` where a saved result is missing,
 * `DIM_MISMATCH`.
 *
 * ```ts
 * import { ops, printReduction, reduction, reductionGradient, vi, vj } from '@mercer/formula';
 * const [x, y, e] = [vi(0, 3), vj(1, 3), vi(2, 1)];
 * const sum = reduction('Sum', ops.sqDist(x, y));
 * const byY = reductionGradient(sum, y, e);
 * console.log(printReduction(byY.reduction, { names: { x, y, e } })); // Sum_Reduction(-2 * (e * (x - y)), 1)
 * ```
 */
export function reductionGradient(
  of: Reduction,
  by: VariableNode,
  seed: VectorOperand,
  saved: SavedResults = {},
): ReductionGradient {
  assertReduction(of, 'reductionGradient');
  assertVectorExpr(by, 'reductionGradient');
  return finish(reductionGradientSteps(of, by, seed, saved));
}

/** {@link reductionGradient} in steps. */
export function* reductionGradientSteps(
  of: Reduction,
  by: VariableNode,
  seed: VectorOperand,
  saved: SavedResults,
): Steps<ReductionGradient> {
  if (by.category === 'pair') {
    throw new FormulaError(
      'NOT_DIFFERENTIABLE',
      `cannot differentiate a ${of.kind} reduction by the values of pairs of input ${by.position} as a reduction: ` +
        `the derivative is a value of each pair. Use pairGradientSteps, which gives its formula.`,
    );
  }
  const formula = yield* termGradient(of, by, seed, saved);
  const axis = by.category === 'i' ? 1 : by.category === 'j' ? 0 : of.axis;
  return {
    reduction: describe('Sum', formula, { axis }),
    sumRows: by.category === 'parameter',
  };
}

/**
 * The gradient of a reduction by an input with values of pairs (`Vij`), in steps: a formula of the pair that nothing is summed
 * over. Seed, saved results and errors as for {@link reductionGradient}.
 *
 * ```ts
 * import { finish, ops, pairGradientSteps, printFormula, reduction, vi, vij, vj } from '@mercer/formula/plan';
 * const [m, b, e] = [vij(0, 1), vj(1, 2), vi(2, 2)];
 * const product = reduction('Sum', ops.mul(m, b));
 * console.log(printFormula(finish(pairGradientSteps(product, m, e)), { names: { b, e } })); // e | b
 * ```
 */
export function* pairGradientSteps(
  of: Reduction,
  by: VariableNode,
  seed: VectorOperand,
  saved: SavedResults = {},
): Steps<VectorExpr> {
  return yield* termGradient(of, by, seed, saved);
}

/** The gradient of the terms that are added up. */
function* termGradient(
  of: Reduction,
  by: VariableNode,
  seed: VectorOperand,
  saved: SavedResults,
): Steps<VectorExpr> {
  const { formula, factor } = integrand(of, saved);
  return yield* gradSteps(formula, by, factor === undefined ? seed : mul(factor, seed));
}

/**
 * The derivative of a reduction in the direction `direction` of an input, an input of the same
 * category. Saved results and errors as for {@link reductionGradient}.
 */
export function reductionTangent(
  of: Reduction,
  by: VariableNode,
  direction: VectorOperand,
  saved: SavedResults = {},
): Reduction {
  assertReduction(of, 'reductionTangent');
  assertVectorExpr(by, 'reductionTangent');
  const { formula, factor } = integrand(of, saved);
  const change = diff(formula, by, direction);
  return describe('Sum', factor === undefined ? change : mul(factor, change), { axis: of.axis });
}

/** A formula, and what its derivative is multiplied by. */
interface Integrand {
  readonly formula: VectorExpr;
  readonly factor: VectorExpr | undefined;
}

/**
 * A formula whose derivatives, times the factor, add up to those of the reduction's values; the saved
 * results count as constants, and so does the factor.
 */
function integrand(of: Reduction, saved: SavedResults): Integrand {
  const { kind, formula, weight = literal(1), k = 1, axis } = of;
  const get = (name: keyof SavedResults, dim = formula.dim): VectorExpr => {
    const found = own(saved, name)[name];
    if (found === undefined) {
      throw new FormulaError(
        'INVALID_ARGUMENT',
        `cannot differentiate a ${kind} reduction: it needs the result '${name}'. ` +
          `Pass an input of the kept side that holds it, such as ${axis === 1 ? 'vi' : 'vj'}(position, ${dim}).`,
      );
    }
    const node = toVector(`the gradient of ${kind}`, found);
    if (node.dim !== dim) {
      throw dimError(
        `the gradient of ${kind}`,
        `the saved result '${name}' has dim ${node.dim}`,
        `Pass one of dim ${dim}.`,
      );
    }
    return node;
  };
  const { dim } = outputsOf(of)[0]!;
  switch (kind) {
    case 'Sum':
      return { formula, factor: undefined };
    case 'Mean':
      return { formula, factor: div(1, get('count', 1)) };
    case 'Var':
      // what the mean moves by cancels
      return { formula, factor: div(mul(2, sub(formula, get('mean'))), get('count', 1)) };
    case 'Prod':
      return { formula, factor: productOfOthers(formula, zeroTermsOf(get, saved)) };
    case 'LogSumExp':
      return {
        formula: mul(exp(sub(formula, unlessEmpty(get('value', dim)))), weight),
        factor: undefined,
      };
    case 'SumSoftMaxWeight':
      return {
        formula: mul(
          exp(sub(formula, unlessEmpty(get('logSumExp', 1)))),
          sub(weight, get('value', dim)),
        ),
        factor: undefined,
      };
    case 'Min':
    case 'Max':
    case 'MinArgMin':
    case 'MaxArgMax':
    case 'KMin':
    case 'KMax':
    case 'KMinArgKMin':
    case 'KMaxArgKMax': {
      // The rows that were taken, told by their number; all others are not seen, NaN or not.
      const row = indexOf(axis === 1 ? 'j' : 'i');
      const index = get('index', dim);
      const ranks = Array.from({ length: k }, (_, rank) => {
        const taken = slice(index, rank * formula.dim, formula.dim);
        return elementwise('select', [elementwise('eq', [row, taken]), formula, 0]);
      });
      return { formula: concat(...ranks), factor: undefined };
    }
    case 'ArgMin':
    case 'ArgMax':
    case 'ArgKMin':
    case 'ArgKMax':
    case 'Any':
    case 'All':
    case 'Count':
      throw notDifferentiable(kind, 'its derivative is 0 wherever it has one');
    case 'MaxSumShiftExp':
      throw notDifferentiable(kind, 'it is a maximum and a sum that depends on it');
  }
}

/** What a product knows of its terms that are 0. */
interface ZeroTerms {
  /** The product of all others. */
  readonly product: VectorExpr;
  readonly count: VectorExpr;
  /** Their sum and that of their squares, where it is differentiated again. */
  readonly sums: readonly [sum: VectorExpr, squares: VectorExpr] | undefined;
}

function zeroTermsOf(
  get: (name: keyof SavedResults) => VectorExpr,
  saved: SavedResults,
): ZeroTerms {
  const { zeroSum } = own(saved, 'zeroSum');
  return {
    product: get('product'),
    count: get('zeros'),
    sums: zeroSum && [get('zeroSum'), get('zeroSquares')],
  };
}

/**
 * The product of all terms but one. Where terms are 0 it is a symmetric polynomial of these, with its derivatives: by Newton's identities of their power sums, of
 * up to two of them beside the one. Products of more have no derivative up to the second order.
 */
function productOfOthers(term: VectorExpr, { product, count, sums }: ZeroTerms): VectorExpr {
  const isZero = elementwise('eq', [term, 0]);
  const choose = (cases: readonly (readonly [zeros: number, value: VectorExpr])[]): VectorExpr =>
    cases.reduceRight<VectorExpr>(
      (rest, [zeros, value]) =>
        elementwise('select', [elementwise('eq', [count, zeros]), value, rest]),
      literal(0),
    );
  if (sums === undefined)
    return elementwise('select', [isZero, choose([[1, product]]), choose([[0, div(product, term)]])]); // prettier-ignore
  const [sum, squares] = sums;
  // what is not chosen has to be finite: its slope is multiplied by 0
  const rest = div(product, elementwise('select', [isZero, 1, term]));
  const pairs = (s: VectorExpr, q: VectorExpr): VectorExpr => mul(0.5, sub(mul(s, s), q));
  const others = sub(sum, term);
  const amongZeros = choose([
    [1, product],
    [2, mul(product, others)],
    [3, mul(product, pairs(others, sub(squares, mul(term, term))))],
  ]);
  const beside = choose([
    [0, rest],
    [1, mul(rest, sum)],
    [2, mul(rest, pairs(sum, squares))],
  ]);
  return elementwise('select', [isZero, amongZeros, beside]);
}

/** A sum of no terms has the logarithm -inf and no share of anything: exp(F - inf) is 0. */
function unlessEmpty(logSum: VectorExpr): VectorExpr {
  return elementwise('select', [elementwise('eq', [logSum, -Infinity]), Infinity, logSum]);
}

function notDifferentiable(kind: string, why: string): FormulaError {
  return new FormulaError(
    'NOT_DIFFERENTIABLE',
    `cannot differentiate a ${kind} reduction: ${why}. ` +
      `Write what you need with Sum, Mean, Var, Prod, LogSumExp, SumSoftMaxWeight, Min, Max, KMin or KMax.`,
  );
}
