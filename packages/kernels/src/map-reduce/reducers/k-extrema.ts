import { traitsOf } from '@mercer/formula';
import { lines, upTo } from '../../emit/indent.js';
import type { Reducer, ReducerParts } from './reducer.js';
import { enterScalarText, kExtremaOfScalars } from './scalar-k-extrema.js';
import { enterVectorText, kExtremaOfVectors } from './vector-k-extrema.js';

/**
 * The K smallest or largest of each component in order, the first of equals first, NaN after all numbers,
 * and (+inf or -inf, -1) where there are fewer rows than K. A row is compared with the last entry before
 * anything is moved.
 */
export function kExtremaReducer({
  kind,
  dim,
  k,
  dialect: { lit, abs, larger, scalar, vector },
}: ReducerParts): Reducer {
  const { extremum, outputs } = traitsOf(kind);
  const least = extremum === 'least';
  const ranks = upTo(k).map(String);
  const components = upTo(dim).map(String);
  const place = (c: string, r: string): string => `${c}_${r}`;
  const before = (at: string): string =>
    `((I)(s.index${at} < 0) | ((I)(f == f) & ((I)(s.best${at} != s.best${at}) | (I)(f ${least ? '<' : '>'} s.best${at}))))`;
  const insert = (c: string): string => {
    const last = place(c, ranks.at(-1) ?? '0');
    const moves = ranks.map((r) => {
      const at = place(c, r);
      return `  taken = taken | (live & ${before(at)});
  { const V old = s.best${at}; const I number_of_old = s.index${at};
    s.best${at} = taken ? f : old; s.index${at} = taken ? row : number_of_old;
    f = taken ? old : f; row = taken ? number_of_old : row; }`;
    });
    return `INLINE void insert${c}(State& s, V f, I row, I live) {
  if (!any(live & ${before(last)})) return;
  I taken = number(0);
${moves.join('\n')}
}`;
  };
  const list = (member: string, c: string): string =>
    ranks.map((r) => `t.${member}${place(c, r)}`).join(', ');
  const take = (c: string): string =>
    [
      `{ const V values[] = {${list('best', c)}};`,
      `  const I rows[] = {${list('index', c)}};`,
      `  for (int rank = 0; rank < ${k}; ++rank) insert${c}(s, values[rank], rows[rank], (I)(rows[rank] >= number(0)));`,
      '}',
    ].join('\n');
  const all = ranks.flatMap((r) => components.map((c) => place(c, r)));
  return {
    accumulators: all.flatMap((at) => [
      { name: `best${at}`, type: 'V', empty: lit(least ? Infinity : -Infinity) } as const,
      { name: `index${at}`, type: 'I', empty: 'number(-1)' } as const,
    ]),
    arity: dim,
    add: components.map((c) => `insert${c}(s, f${c}, row, number(-1));`).join('\n'),
    merge: components.map(take).join('\n'),
    value: outputs.includes('value') ? all.map((at) => `s.best${at}`) : [],
    index: outputs.includes('index') ? all.map((at) => `s.index${at}`) : [],
    rounds: false,
    functions: lines(
      ...components.map(insert),
      ...(scalar
        ? components.map((c) =>
            enterScalarText(
              c,
              ranks.map((r) => place(c, r)),
              { least, isFinite: (x) => `${abs(x)} < ${lit(Infinity)}` },
            ),
          )
        : []),
      ...(vector
        ? components.map((c) =>
            enterVectorText(
              c,
              ranks.map((r) => place(c, r)),
              least,
            ),
          )
        : []),
    ),
    ...(vector && {
      several: (s, rows) =>
        lines(
          ...components.map((c, at) =>
            kExtremaOfVectors(s, c, {
              values: rows.map((row) => row[at] ?? ''),
              first: rows[0]?.at(-1) ?? '',
              last: `${s}.best${place(c, ranks.at(-1) ?? '0')}`,
              best: least ? vector.smaller : vector.larger,
              isFinite: (x) => `(I)(${abs(x)} < ${lit(Infinity)})`,
              least,
            }),
          ),
        ),
    }),
    ...(larger &&
      scalar && {
        several: (s, rows) =>
          lines(
            ...components.map((c, at) =>
              kExtremaOfScalars({
                rows: rows.map((row) => ({ value: row[at] ?? '', number: row.at(-1) ?? '' })),
                best: least ? scalar.smaller : larger,
                isOut: (f) =>
                  `${f} ${least ? '>=' : '<='} ${s}.best${place(c, ranks.at(-1) ?? '0')}`,
                isFull: `${s}.index${place(c, ranks.at(-1) ?? '0')} >= 0`,
                insert: (f, row) => `enter${c}(${s}, ${f}, ${row});`,
                scalar,
              }),
            ),
          ),
      }),
  };
}
