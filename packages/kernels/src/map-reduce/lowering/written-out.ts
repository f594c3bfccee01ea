import {
  constant,
  simplifyAllSteps,
  traitsOf,
  type Category,
  type RealExpr,
  type Reduction,
  type Steps,
  type VectorExpr,
  mul,
  type Expr,
} from '@mercer/formula/plan';
import { expandFunctionsSteps } from '../../math/expand-functions.js';
import { fixedIndex } from './index-expr.js';
import { lowering, type Lowered, type LoweringOptions } from './lower.js';

const PREFIX = { i: 'i', j: 'j', pair: 'm', parameter: 'p' } as const;

/** The scalar variable that stands for a component of an input: `i0_2` is component 2 of input 0. */
export function componentName(category: Category, position: number, component: number): string {
  return `${PREFIX[category]}${position}_${component}`;
}

/** The name of a component of the row by index number `place`. */
export const gatherName = (place: number, component: number): string => `g${place}_${component}`;

/** A row that is taken by index. */
export interface Gather {
  /** Position of the input. */
  readonly table: number;
  /** The row number before it is rounded; it may read rows gathered before. */
  readonly index: RealExpr;
}

/** Every component of every step is an expression of its own. */
const WRITTEN_OUT: LoweringOptions = {
  longest: Infinity,
  values: Infinity,
  rowName: 'g',
  loadName: ({ category, position }, { constant: component }, row) =>
    row === undefined ? componentName(category, position, component) : `${row}_${component}`,
};

/** The formulas of a reduction. */
export const rootsOf = ({ formula, weight }: Reduction): VectorExpr[] =>
  weight === undefined ? [formula] : [formula, weight];

/**
 * In steps, what reductions add for a pair of rows, written out over components of inputs, row numbers, and components of rows by
 * index: of each the formula's components, then those of the weight. Throws a `PlanError` for a function beyond its largest order.
 */
export function* writtenOut(
  reductions: readonly Reduction[],
): Steps<{ readonly values: RealExpr[]; readonly gathers: readonly Gather[] }> {
  const lowered = lowering(WRITTEN_OUT);
  const values: RealExpr[] = [];
  for (const { kind, formula, weight } of reductions) {
    values.push(...(yield* componentsOf(lowered, formula)));
    if (weight !== undefined) values.push(...(yield* componentsOf(lowered, weight)));
    // the sums of weights need their count, or a weight
    const isWeighted = kind === 'SumSoftMaxWeight' || weight === undefined;
    if (traitsOf(kind).isExponential && isWeighted) values.push(constant(1));
  }
  return {
    values,
    gathers: lowered.gathers.map(({ position: table, index }) => Object.freeze({ table, index })),
  };
}

function* componentsOf(lowered: Lowered, formula: VectorExpr): Steps<readonly RealExpr[]> {
  const components: RealExpr[] = [];
  for (let c = 0; c < formula.dim; c++) components.push(yield* lowered.at(formula, fixedIndex(c)));
  return yield* simplifyAllSteps(yield* expandFunctionsSteps(components));
}

/**
 * Values `c * (a * b)` with a number `c` in front, as gradients have for every coordinate: where several have `c` and the factor
 * `b` in common, `c * b` is computed once and the values are `a * (c * b)`.
 */
export function shareFactors(values: readonly RealExpr[]): RealExpr[] {
  const found = new Map<number, Map<Expr, number>>();
  const products = values.map(productOf);
  for (const product of products) {
    if (product === undefined) continue;
    const counts = found.get(product.number) ?? new Map<Expr, number>();
    found.set(product.number, counts);
    for (const factor of new Set(product.factors))
      counts.set(factor, (counts.get(factor) ?? 0) + 1);
  }
  return values.map((value, n) => {
    const product = products[n];
    if (product === undefined) return value;
    const { front, number, factors } = product;
    const count = (factor: RealExpr): number => found.get(number)?.get(factor) ?? 0;
    const [a, b] = count(factors[0]) > count(factors[1]) ? [factors[1], factors[0]] : factors;
    return count(b) > 1 ? mul(a, mul(front, b)) : value;
  });
}

interface Product {
  readonly front: RealExpr;
  readonly number: number;
  readonly factors: readonly [RealExpr, RealExpr];
}

function productOf(value: RealExpr): Product | undefined {
  if (value.op !== 'mul') return undefined;
  const [front, rest] = value.args as readonly [RealExpr, RealExpr];
  if (front.value === undefined || rest.op !== 'mul') return undefined;
  return {
    front,
    number: front.value,
    factors: rest.args as readonly [RealExpr, RealExpr],
  };
}
