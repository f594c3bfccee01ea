import { upTo } from '../../emit/text.js';
import type { Reducer, ReducerParts } from './reducer.js';

/**
 * The mean of the squared distance from the mean, by Welford's update (Technometrics 4, 1962) of the mean
 * and the sum of squares around it, and the merge of Chan, Golub and LeVeque (COMPSTAT 1982): no square of
 * the mean is ever subtracted.
 */
export function varianceReducer({ dim, dialect: { lit } }: ReducerParts): Reducer {
  const components = upTo(dim).map(String);
  return {
    accumulators: [
      { name: 'rows', type: 'I', empty: 'number(0)' },
      ...components.flatMap((c) => [
        { name: `mean${c}`, type: 'V', empty: lit(0) } as const,
        { name: `square${c}`, type: 'V', empty: lit(0) } as const,
      ]),
    ],
    arity: dim,
    add: [
      's.rows = s.rows + number(1);',
      `const V share = ${lit(1)} / real(s.rows);`,
      ...components.map(
        (c) =>
          `{ const V off = f${c} - s.mean${c}; s.mean${c} = s.mean${c} + off * share; s.square${c} = s.square${c} + off * (f${c} - s.mean${c}); }`,
      ),
    ].join('\n'),
    merge: [
      'const V before = real(s.rows), added = real(t.rows);',
      's.rows = s.rows + t.rows;',
      `const V share = s.rows == number(0) ? ${lit(0)} : added / real(s.rows);`,
      ...components.map(
        (c) =>
          `{ const V off = t.mean${c} - s.mean${c}; s.mean${c} = s.mean${c} + off * share; s.square${c} = s.square${c} + t.square${c} + off * off * before * share; }`,
      ),
    ].join('\n'),
    value: components.map((c) => `s.square${c} / real(s.rows)`),
    index: [],
    rounds: true,
  };
}
