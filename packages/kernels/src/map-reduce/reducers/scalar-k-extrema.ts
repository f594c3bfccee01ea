import { indent, lines } from '../../emit/indent.js';
import type { ScalarDialect } from './reducer.js';

/**
 * The function `enter` of component `c`, whose list has entries at `places`, for one value a thread: a number goes before NaN,
 * before what is worse and before what is empty, which is infinite. What is no finite number is inserted with care.
 */
export function enterScalarText(
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
export function kExtremaOfScalars({
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
