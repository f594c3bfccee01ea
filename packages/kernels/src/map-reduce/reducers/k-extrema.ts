import { traitsOf } from '@mercer/formula';
import { lines, upTo, indent } from '../../emit/text.js';
import type { Reducer, ReducerParts, ScalarDialect } from './reducer.js';

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

/**
 * The function `enter` of component `c`, whose list has entries at `places`, for one value a thread: a number goes before NaN,
 * before what is worse and before what is empty, which is infinite. What is no finite number is inserted with care.
 */
function enterScalarText(
  c: string,
  places: readonly string[],
  { least, isFinite }: { readonly least: boolean; readonly isFinite: (x: string) => string },
): string {
  return lines(
    `INLINE void enter${c}(State& s, V f, I row) {`,
    '  const V own = f;',
    `  if (!(${isFinite('f')})) return insert${c}(s, f, row, number(-1));`,
    ...places.map(
      (at) => `  { const bool moves = !(own ${least ? '>=' : '<='} s.best${at});
    const V old = s.best${at}; const I row_of_old = s.index${at};
    s.best${at} = moves ? f : old; s.index${at} = moves ? row : row_of_old;
    f = moves ? old : f; row = moves ? row_of_old : row; }`,
    ),
    '}',
  );
}

/** The best of several rows against the last entry first, then one loop that enters those that pass, in order. */
function kExtremaOfScalars({
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
  const chosen = values.reduceRight((later, value, u) => `which == ${u} ? ${value} : ${later}`);
  return lines(
    `if (!(${isFull} && ${isOut(values.reduce(best))})) {`,
    '  unsigned entering = 0;',
    ...values.map((value, u) => `  entering |= (unsigned)!(${isFull} && ${isOut(value)}) << ${u};`),
    '  #pragma unroll 1',
    '  while (entering != 0) {',
    `    const int which = ${scalar.lowestBit('entering')};`,
    '    entering &= entering - 1;',
    indent(insert(chosen, `${rows[0]?.number ?? ''} + which`), 4),
    '  }',
    '}',
  );
}

/** What the text of several rows is made from. */
interface VectorKExtrema {
  readonly values: readonly string[];
  /** The number of the first row. */
  readonly first: string;
  /** The last entry of the list. */
  readonly last: string;
  /** The better of two numbers. */
  readonly best: (x: string, y: string) => string;
  readonly isFinite: (x: string) => string;
  readonly least: boolean;
}

const worse = (least: boolean): string => (least ? '>=' : '<=');

/**
 * The function `enter` of component `c`, whose list has entries at `places`: it moves what is worse than `f`, finite in all
 * lanes, down by one. Entries are in order, so that each takes what was above it, `f`, or itself.
 */
function enterVectorText(c: string, places: readonly string[], least: boolean): string {
  const stays = (at: string): string => `(I)(f ${worse(least)} s.best${at})`;
  const [first = ''] = places;
  return lines(
    `INLINE void enter${c}(State& s, V f, I row) {`,
    `  I here = ${stays(places.at(-1) ?? '')};`,
    ...places
      .map((at, r) => ({ at, above: places[r - 1] ?? '' }))
      .slice(1)
      .reverse()
      .map(
        ({ at, above }) => `  { const I before = ${stays(above)};
    s.best${at} = before ? (here ? s.best${at} : f) : s.best${above};
    s.index${at} = before ? (here ? s.index${at} : row) : s.index${above};
    here = before; }`,
      ),
    `  s.best${first} = here ? s.best${first} : f;`,
    `  s.index${first} = here ? s.index${first} : row;`,
    '}',
  );
}

/**
 * The K best of component `c` over vectors, several rows at a time: the best of them is compared with the last entries first.
 * Where a value or their sum is not finite, rows are added one by one.
 */
export function kExtremaOfVectors(
  s: string,
  c: string,
  { values, first, last, best, isFinite, least }: VectorKExtrema,
): string {
  return lines(
    '{',
    `  const V check = ${values.join(' + ')}, most = ${values.reduce(best)};`,
    `  const I odd = ~${isFinite('check')};`,
    `  if (any(odd | ~(I)(most ${worse(least)} ${last}))) {`,
    `    const V values[] = {${values.join(', ')}};`,
    '    if (any(odd)) {',
    `      for (L u = 0; u < ${values.length}; u++) insert${c}(${s}, values[u], ${first} + number(u), number(-1));`,
    '    } else {',
    `      for (L u = 0; u < ${values.length}; u++) {`,
    `        if (any(~(I)(values[u] ${worse(least)} ${last}))) enter${c}(${s}, values[u], ${first} + number(u));`,
    '      }',
    '    }',
    '  }',
    '}',
  );
}
