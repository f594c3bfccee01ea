import { traitsOf } from '@mercer/formula';
import type { Reducer, ReducerParts } from '../reducers/reducer.js';
import { lines, upTo } from '../../emit/text.js';
import { kExtremaOfVectors } from '../reducers/k-extrema.js';

/** Above this the ranks stay a loop: a state in registers would not be one. */
const MOST_UNROLLED = 32;

/**
 * The K smallest or largest of one column, as the K-extrema of short formulas are, with the ranks as arrays and
 * loops over them: the text grows no faster than K, and the sorted lists of parts can be merged.
 */
export function rankedReducer(
  { kind, k, dialect: { lit, abs, vector } }: ReducerParts,
  unroll: string,
): Reducer {
  const { extremum, outputs } = traitsOf(kind);
  const least = extremum === 'least';
  const pragma = unroll !== '' && (k <= MOST_UNROLLED ? unroll : '#pragma unroll 1');
  const isBefore = (r: string): string =>
    `((I)(s.index[${r}] < 0) | ((I)(f == f) & ((I)(s.best[${r}] != s.best[${r}]) | (I)(f ${least ? '<' : '>'} s.best[${r}]))))`;
  return {
    members: `V best[${k}]; I index[${k}];`,
    accumulators: upTo(k).flatMap((r) => [
      { name: `best[${r}]`, type: 'V', empty: lit(least ? Infinity : -Infinity) } as const,
      { name: `index[${r}]`, type: 'I', empty: 'number(-1)' } as const,
    ]),
    arity: 1,
    functions: lines(
      'INLINE void insert(State& s, V f, I row, I live) {',
      `  if (!any(live & ((I)(s.index[${k - 1}] < 0) | ((I)(f ${least ? '>=' : '<='} s.best[${k - 1}]) == number(0))))) return;`,
      '  I taken = number(0);',
      pragma,
      `  for (int r = 0; r < ${k}; r++) {`,
      `    taken = taken | (live & ${isBefore('r')});`,
      '    const V old = s.best[r];',
      '    const I row_of_old = s.index[r];',
      '    s.best[r] = taken ? f : old;',
      '    s.index[r] = taken ? row : row_of_old;',
      '    f = taken ? old : f;',
      '    row = taken ? row_of_old : row;',
      '  }',
      '}',
      vector && enterText(k, least),
    ),
    ...(vector && {
      several: (s, rows) =>
        kExtremaOfVectors(s, '', {
          values: rows.map(([value = '']) => value),
          first: rows[0]?.at(-1) ?? '',
          last: `${s}.best[${k - 1}]`,
          best: least ? vector.smaller : vector.larger,
          isFinite: (x) => `(I)(${abs(x)} < ${lit(Infinity)})`,
          least,
        }),
    }),
    add: 'insert(s, f0, row, number(-1));',
    // the entries of later rows, best first: once one stays out, the others do
    merge: lines(
      unroll === '' ? '' : '#pragma unroll 1',
      `for (int r = 0; r < ${k}; r++) insert(s, t.best[r], t.index[r], (I)(t.index[r] >= 0));`,
    ),
    value: outputs.includes('value') ? upTo(k).map((r) => `s.best[${r}]`) : [],
    index: outputs.includes('index') ? upTo(k).map((r) => `s.index[${r}]`) : [],
    rounds: false,
  };
}

/** What is worse than `f`, finite in all lanes, moves down by one, as `enterVectorText` has it without a loop. */
function enterText(k: number, least: boolean): string {
  const stays = (r: string): string => `(I)(f ${least ? '>=' : '<='} s.best[${r}])`;
  return lines(
    'INLINE void enter(State& s, V f, I row) {',
    `  I here = ${stays(String(k - 1))};`,
    `  for (int r = ${k - 1}; r > 0; r--) {`,
    `    const I before = ${stays('r - 1')};`,
    '    s.best[r] = before ? (here ? s.best[r] : f) : s.best[r - 1];',
    '    s.index[r] = before ? (here ? s.index[r] : row) : s.index[r - 1];',
    '    here = before;',
    '  }',
    '  s.best[0] = here ? s.best[0] : f;',
    '  s.index[0] = here ? s.index[0] : row;',
    '}',
  );
}
