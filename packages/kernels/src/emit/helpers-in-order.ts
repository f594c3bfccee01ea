import { isMathFunction, type MathFunction } from '../math/math-function.js';
import { withNeeds } from '../math/pieces.js';

/** The helpers asked for with those that they call, each once and behind those, and the functions of `math` among them. */
export function helpersInOrder<H extends string>(
  wanted: Iterable<H | MathFunction>,
  needs: { readonly [K in H]: readonly H[] },
): { readonly own: H[]; readonly functions: MathFunction[] } {
  const all = [...new Set(wanted)];
  return {
    own: withNeeds(
      all.filter((helper): helper is H => !isMathFunction(helper)),
      (helper) => needs[helper],
    ),
    functions: all.filter(isMathFunction),
  };
}
