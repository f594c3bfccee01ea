import { mul, type Expr, type RealExpr } from '@mercer/formula';

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
