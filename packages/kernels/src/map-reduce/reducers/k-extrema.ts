import { indent, lines } from '../../emit/indent.js';
import { upTo, type Reducer, type ReducerParts, type ScalarDialect } from './reducer.js';
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
  const least = kind.includes('Min');
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
  // a number goes before NaN, before what is worse and before what is empty, which is infinite
  const enter = (c: string): string =>
    lines(
      `INLINE void enter${c}(State& s, V f, I row) {`,
      '  const V own = f;',
      `  if (!(${abs('f')} < ${lit(Infinity)})) return insert${c}(s, f, row, number(-1));`,
      ...ranks.map((r) => {
        const at = place(c, r);
        return `  { const bool moves = !(own ${least ? '>=' : '<='} s.best${at});
    const V old = s.best${at}; const I row_of_old = s.index${at};
    s.best${at} = moves ? f : old; s.index${at} = moves ? row : row_of_old;
    f = moves ? old : f; row = moves ? row_of_old : row; }`;
      }),
      '}',
    );
  const list = (member: string, c: string): string =>
    ranks.map((r) => `t.${member}${place(c, r)}`).join(', ');
  const take = (c: string): string =>
    [
      `{ const V values[] = {${list('best', c)}};`,
      `  const I rows[] = {${list('index', c)}};`,
      `  for (int rank = 0; rank < ${String(k)}; ++rank) insert${c}(s, values[rank], rows[rank], (I)(rows[rank] >= number(0)));`,
      '}',
    ].join('\n');
  const all = ranks.flatMap((r) => components.map((c) => place(c, r)));
  return {
    slots: all.flatMap((at) => [
      { name: `best${at}`, type: 'V', empty: lit(least ? Infinity : -Infinity) } as const,
      { name: `index${at}`, type: 'I', empty: 'number(-1)' } as const,
    ]),
    arity: dim,
    add: components.map((c) => `insert${c}(s, f${c}, row, number(-1));`).join('\n'),
    merge: components.map(take).join('\n'),
    value: kind.startsWith('Arg') ? [] : all.map((at) => `s.best${at}`),
    index: kind.includes('Arg') ? all.map((at) => `s.index${at}`) : [],
    rounds: false,
    functions: lines(
      ...components.map(insert),
      ...(scalar ? components.map(enter) : []),
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
              severalText({
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

/** The best of several rows against the last entry first, then one loop that enters those that pass, in order. */
function severalText({
  rows,
  best,
  isOut,
  isFull,
  insert,
  scalar,
}: {
  readonly rows: readonly { readonly value: string; readonly number: string }[];
  readonly best: (x: string, y: string) => string;
  readonly isOut: (f: string) => string;
  readonly isFull: string;
  readonly insert: (f: string, row: string) => string;
  readonly scalar: ScalarDialect;
}): string {
  const values = rows.map(({ value }) => value);
  const chosen = values.reduceRight(
    (later, value, u) => `which == ${String(u)} ? ${value} : ${later}`,
  );
  return lines(
    `if (!(${isFull} && ${isOut(values.reduce(best))})) {`,
    '  unsigned entering = 0;',
    ...values.map(
      (value, u) => `  entering |= (unsigned)!(${isFull} && ${isOut(value)}) << ${String(u)};`,
    ),
    '  #pragma unroll 1',
    '  while (entering != 0) {',
    `    const int which = ${scalar.lowestBit('entering')};`,
    '    entering &= entering - 1;',
    indent(insert(chosen, `${rows[0]?.number ?? ''} + which`), 4),
    '  }',
    '}',
  );
}
