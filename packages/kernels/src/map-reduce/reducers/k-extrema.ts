import { traitsOf } from '@mercer/formula';
import { cpp, lines, upTo } from '../../emit/text.js';
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
  const components = upTo(dim).map(String);
  const places = (c: string): string[] => upTo(k).map((r) => `${c}_${r}`);
  const lastOf = (c: string): string => `${c}_${k - 1}`;
  const before = (at: string): string =>
    `((I)(s.index${at} < 0) | ((I)(f == f) & ((I)(s.best${at} != s.best${at}) | (I)(f ${least ? '<' : '>'} s.best${at}))))`;
  const insert = (c: string): string => cpp`
    INLINE void insert${c}(State& s, V f, I row, I live) {
      if (!any(live & ${before(lastOf(c))})) return;
      I taken = number(0);
      ${places(c).map(
        (at) => cpp`
          taken = taken | (live & ${before(at)});
          { const V old = s.best${at}; const I number_of_old = s.index${at};
            s.best${at} = taken ? f : old; s.index${at} = taken ? row : number_of_old;
            f = taken ? old : f; row = taken ? number_of_old : row; }
        `,
      )}
    }
  `;
  const list = (member: string, c: string): string =>
    places(c)
      .map((at) => `t.${member}${at}`)
      .join(', ');
  const take = (c: string): string => cpp`
    { const V values[] = {${list('best', c)}};
      const I rows[] = {${list('index', c)}};
      for (int rank = 0; rank < ${k}; ++rank) insert${c}(s, values[rank], rows[rank], (I)(rows[rank] >= number(0)));
    }
  `;
  const all = upTo(k).flatMap((r) => components.map((c) => `${c}_${r}`));
  const isFinite = (x: string): string => `${abs(x)} < ${lit(Infinity)}`;
  const ofRows = (rows: readonly (readonly string[])[], at: number) => ({
    values: rows.map((row) => row[at] ?? ''),
    first: rows[0]?.at(-1) ?? '',
    least,
  });
  const enter = (c: string): string | false =>
    scalar !== undefined && enterScalarText(c, places(c), { least, isFinite });
  const enterVector = (c: string): string | false =>
    vector !== undefined && enterVectorText(c, places(c), least);
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
      ...components.map(enter),
      ...components.map(enterVector),
    ),
    ...(vector && {
      several: (s, rows) =>
        lines(
          ...components.map((c, at) =>
            kExtremaOfVectors(s, c, {
              ...ofRows(rows, at),
              last: `${s}.best${lastOf(c)}`,
              best: least ? vector.smaller : vector.larger,
              isFinite: (x) => `(I)(${isFinite(x)})`,
            }),
          ),
        ),
    }),
    ...(larger &&
      scalar && {
        several: (s, rows) =>
          lines(
            ...components.map((c, at) =>
              kExtremaOfScalars(s, c, {
                ...ofRows(rows, at),
                last: lastOf(c),
                best: least ? scalar.smaller : larger,
                lowestBit: scalar.lowestBit,
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
  return cpp`
    INLINE void enter${c}(State& s, V f, I row) {
      const V own = f;
      if (!(${isFinite('f')})) return insert${c}(s, f, row, number(-1));
      ${places.map(
        (at) => cpp`
          { const bool moves = !(own ${worse(least)} s.best${at});
            const V old = s.best${at}; const I row_of_old = s.index${at};
            s.best${at} = moves ? f : old; s.index${at} = moves ? row : row_of_old;
            f = moves ? old : f; row = moves ? row_of_old : row; }
        `,
      )}
    }
  `;
}

/** The best of several rows against the last entry of component `c` first, then one loop that enters those that pass, in order. */
function kExtremaOfScalars(
  s: string,
  c: string,
  { values, first, last, least, best, lowestBit }: ScalarKExtrema,
): string {
  const isOut = (f: string): string =>
    `${s}.index${last} >= 0 && ${f} ${worse(least)} ${s}.best${last}`;
  const chosen = values.reduceRight((later, value, u) => `which == ${u} ? ${value} : ${later}`);
  return cpp`
    if (!(${isOut(values.reduce(best))})) {
      unsigned entering = 0;
      ${values.map((value, u) => `entering |= (unsigned)!(${isOut(value)}) << ${u};`)}
      #pragma unroll 1
      while (entering != 0) {
        const int which = ${lowestBit('entering')};
        entering &= entering - 1;
        enter${c}(${s}, ${chosen}, ${first} + which);
      }
    }
  `;
}

/** What the text of several rows is made from. */
interface SeveralRows {
  readonly values: readonly string[];
  /** The number of the first row. */
  readonly first: string;
  /** The last entry of the list: where it lies in the state, or what it is. */
  readonly last: string;
  /** The better of two numbers. */
  readonly best: (x: string, y: string) => string;
  readonly least: boolean;
}

interface ScalarKExtrema extends SeveralRows, Pick<ScalarDialect, 'lowestBit'> {}

interface VectorKExtrema extends SeveralRows {
  readonly isFinite: (x: string) => string;
}

const worse = (least: boolean): string => (least ? '>=' : '<=');

/**
 * The function `enter` of component `c`, whose list has entries at `places`: it moves what is worse than `f`, finite in all
 * lanes, down by one. Entries are in order, so that each takes what was above it, `f`, or itself.
 */
function enterVectorText(c: string, places: readonly string[], least: boolean): string {
  const stays = (at: string): string => `(I)(f ${worse(least)} s.best${at})`;
  const [first = ''] = places;
  const moves = places.slice(1).map((at, r) => {
    const above = places[r] ?? '';
    return cpp`
      { const I before = ${stays(above)};
        s.best${at} = before ? (here ? s.best${at} : f) : s.best${above};
        s.index${at} = before ? (here ? s.index${at} : row) : s.index${above};
        here = before; }
    `;
  });
  return cpp`
    INLINE void enter${c}(State& s, V f, I row) {
      I here = ${stays(places.at(-1) ?? '')};
      ${moves.reverse()}
      s.best${first} = here ? s.best${first} : f;
      s.index${first} = here ? s.index${first} : row;
    }
  `;
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
  return cpp`
    {
      const V check = ${values.join(' + ')}, most = ${values.reduce(best)};
      const I odd = ~${isFinite('check')};
      if (any(odd | ~(I)(most ${worse(least)} ${last}))) {
        const V values[] = {${values.join(', ')}};
        if (any(odd)) {
          for (L u = 0; u < ${values.length}; u++) insert${c}(${s}, values[u], ${first} + number(u), number(-1));
        } else {
          for (L u = 0; u < ${values.length}; u++) {
            if (any(~(I)(values[u] ${worse(least)} ${last}))) enter${c}(${s}, values[u], ${first} + number(u));
          }
        }
      }
    }
  `;
}
