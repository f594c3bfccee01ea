import { upTo } from '../../emit/indent.js';
import { traitsOf } from '@mercer/formula';
import type { Reducer, ReducerParts } from './reducer.js';
import { extremaOfScalars } from './scalar-extrema.js';
import { extremaOfVectors } from './vector-extrema.js';

/**
 * Min, Max and their indices: of each component the first best row, where a NaN is better than any number.
 * Rows come in order, and parts are merged in order, so that the first of equals stays.
 */
export function extremaReducer({
  kind,
  dim,
  dialect: { lit, larger, scalar, vector },
}: ReducerParts): Reducer {
  const { extremum, outputs } = traitsOf(kind);
  const least = extremum === 'least';
  const wantsIndex = outputs.includes('index');
  const take = (c: string, f: string, row: string): string =>
    [
      `{ const I better = ${wantsIndex ? `(I)(s.index${c} < 0) | ` : ''}((I)(s.best${c} == s.best${c}) & ((I)(${f} ${least ? '>=' : '<='} s.best${c}) == number(0)));`,
      `  s.best${c} = better ? ${f} : s.best${c};`,
      ...(wantsIndex ? [`  s.index${c} = better ? ${row} : s.index${c};`] : []),
      '}',
    ].join('\n');
  const components = upTo(dim).map(String);
  return {
    accumulators: components.flatMap((c) => [
      { name: `best${c}`, type: 'V', empty: lit(least ? Infinity : -Infinity) } as const,
      ...(wantsIndex ? [{ name: `index${c}`, type: 'I', empty: 'number(-1)' } as const] : []),
    ]),
    arity: dim,
    add: components.map((c) => take(c, `f${c}`, 'row')).join('\n'),
    merge: components.map((c) => take(c, `t.best${c}`, `t.index${c}`)).join('\n'),
    value: outputs.includes('value') ? components.map((c) => `s.best${c}`) : [],
    index: wantsIndex ? components.map((c) => `s.index${c}`) : [],
    rounds: false,
    ...(larger &&
      scalar && {
        several: (s, rows) =>
          extremaOfScalars(s, rows, {
            components,
            wantsIndex,
            best: least ? scalar.smaller : larger,
            least,
          }),
      }),
    ...(vector && {
      several: (s, rows, slow) =>
        extremaOfVectors(s, rows, {
          components,
          wantsIndex,
          least,
          slow,
          best: least ? vector.smaller : vector.larger,
        }),
    }),
  };
}
