import { lines } from '../../emit/indent.js';

/** What the text of several rows is made from. */
export interface VectorKExtrema {
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
export function enterVectorText(c: string, places: readonly string[], least: boolean): string {
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
  const count = String(values.length);
  return lines(
    '{',
    `  const V check = ${values.join(' + ')}, most = ${values.reduce(best)};`,
    `  const I odd = ~${isFinite('check')};`,
    `  if (any(odd | ~(I)(most ${worse(least)} ${last}))) {`,
    `    const V values[] = {${values.join(', ')}};`,
    '    if (any(odd)) {',
    `      for (L u = 0; u < ${count}; u++) insert${c}(${s}, values[u], ${first} + number(u), number(-1));`,
    '    } else {',
    `      for (L u = 0; u < ${count}; u++) {`,
    `        if (any(~(I)(values[u] ${worse(least)} ${last}))) enter${c}(${s}, values[u], ${first} + number(u));`,
    '      }',
    '    }',
    '  }',
    '}',
  );
}
