import { lines } from '../../emit/indent.js';
import { elementType, loaded } from '../half-storage.js';
import type { LaunchedPlan } from '../launched-plan.js';
import { inputName } from '../params.js';
import { rowInputs } from '../plan-inputs.js';

/** The function that reads values of pairs of an input. */
export const pairsName = (position: number): string => `pairs_${inputName(position)}`;

/** Of every input with values of pairs a function that reads those of a vector of kept rows with one reduced row. */
export function pairsFunctions({ inputs }: Pick<LaunchedPlan, 'inputs'>): string {
  return lines(
    ...rowInputs(inputs, 'pair').map((input) =>
      lines(
        `INLINE V ${pairsName(input.position)}(const ${elementType(input, 'T')}* x, int64_t stride, const int64_t* places) {`,
        '  V r = splat(0);',
        `  for (int lane = 0; lane < LANES; lane++) r[lane] = ${loaded(input, 'x[places[lane] * stride]')};`,
        '  return r;',
        '}',
      ),
    ),
  );
}
