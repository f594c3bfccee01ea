import { add, mul, sub, variable, type RealExpr } from '@mercer/formula';
import type { Tensor } from '@mercer/tensor';
import type { Pair, PairNumbers } from './lbfgs-pairs.js';

/** Formulas over the last direction, called `direction`, the change of the `gradient` from the one `before`, and over both vectors of some pairs. */
export interface PairFormulas {
  /** Inner products: of the gradient with itself; then of the last direction and the change, and of both vectors of each pair, with the gradient and with the change. */
  readonly products: readonly RealExpr[];
  /** The change, and a sum of `sum` and all of them by parameters. */
  readonly results: { readonly change: RealExpr; readonly direction: RealExpr };
}

/** Pairs in one launch: their inner products stay in registers. */
export const MOST_PAIRS = 9;

const known = new Map<number, PairFormulas>();

const [direction, gradient] = [variable('direction'), variable('gradient')];
const change = sub(gradient, variable('before'));

/** What the vectors of a pair are called. */
const namesOf = (k: number): readonly [direction: string, change: string] => [`d${k}`, `y${k}`];

/** What a vector is multiplied by. */
const numberOf = (name: string): string => `of_${name}`;

/** The formulas of so many pairs. They are held, since kernels are kept as long as their formulas live. */
export function pairFormulas(count: number): PairFormulas {
  let found = known.get(count);
  if (found !== undefined) return found;
  const vectors: [name: string, vector: RealExpr][] = [
    ['direction', direction],
    ['change', change],
  ];
  for (let k = 0; k < count; k++) {
    for (const name of namesOf(k)) vectors.push([name, variable(name)]);
  }
  const products = vectors.flatMap(([, one]) => [mul(one, gradient), mul(one, change)]);
  const parts = vectors.map(([name, one]) => mul(variable(numberOf(name)), one));
  const first = mul(variable(numberOf('sum')), variable('sum'));
  found = {
    products: [mul(gradient, gradient), ...products],
    results: { change, direction: parts.reduce((sum, part) => add(sum, part), first) },
  };
  known.set(count, found);
  return found;
}

/** What the formulas call the vectors of pairs. @param none in the place of pairs that there are not */
export function pairVectors(
  count: number,
  pairs: readonly Pair<Tensor>[],
  none: Tensor,
): Record<string, Tensor> {
  const vectors: Record<string, Tensor> = {};
  for (let k = 0; k < count; k++) {
    const [ofDirection, ofChange] = namesOf(k);
    vectors[ofDirection] = pairs[k]?.direction ?? none;
    vectors[ofChange] = pairs[k]?.change ?? none;
  }
  return vectors;
}

/** What they call the numbers of a sum: 0 of pairs that there are not. */
export function pairParameters(
  count: number,
  sum: number,
  last: PairNumbers | undefined,
  pairs: readonly PairNumbers[],
): Record<string, number> {
  const parameters: Record<string, number> = {
    [numberOf('sum')]: sum,
    [numberOf('direction')]: last?.direction ?? 0,
    [numberOf('change')]: last?.change ?? 0,
  };
  for (let k = 0; k < count; k++) {
    const [ofDirection, ofChange] = namesOf(k);
    parameters[numberOf(ofDirection)] = pairs[k]?.direction ?? 0;
    parameters[numberOf(ofChange)] = pairs[k]?.change ?? 0;
  }
  return parameters;
}
