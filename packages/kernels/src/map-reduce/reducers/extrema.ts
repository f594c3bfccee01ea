import { lines } from '../../emit/indent.js';
import { upTo, type Reducer, type ReducerParts } from './reducer.js';
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
  const least = kind.includes('Min');
  const wantsIndex = kind.includes('Arg');
  const take = (c: string, f: string, row: string): string =>
    [
      `{ const I better = ${wantsIndex ? `(I)(s.index${c} < 0) | ` : ''}((I)(s.best${c} == s.best${c}) & ((I)(${f} ${least ? '>=' : '<='} s.best${c}) == number(0)));`,
      `  s.best${c} = better ? ${f} : s.best${c};`,
      ...(wantsIndex ? [`  s.index${c} = better ? ${row} : s.index${c};`] : []),
      '}',
    ].join('\n');
  const components = upTo(dim).map(String);
  return {
    slots: components.flatMap((c) => [
      { name: `best${c}`, type: 'V', empty: lit(least ? Infinity : -Infinity) } as const,
      ...(wantsIndex ? [{ name: `index${c}`, type: 'I', empty: 'number(-1)' } as const] : []),
    ]),
    arity: dim,
    add: components.map((c) => take(c, `f${c}`, 'row')).join('\n'),
    merge: components.map((c) => take(c, `t.best${c}`, `t.index${c}`)).join('\n'),
    value: kind.startsWith('Arg') ? [] : components.map((c) => `s.best${c}`),
    index: wantsIndex ? components.map((c) => `s.index${c}`) : [],
    rounds: false,
    ...(larger &&
      scalar && {
        several: (s, rows) =>
          severalText(s, rows, {
            components,
            wantsIndex,
            best: least ? scalar.smaller : larger,
            least,
          }),
      }),
    ...(vector && {
      several: (s, rows, slow) =>
        extremaOfVectors(s, rows, {
          ...{ components, wantsIndex, least, slow },
          best: least ? vector.smaller : vector.larger,
        }),
    }),
  };
}

/** The best of several rows first, of which NaN is better than any number; few are better than what was there. */
function severalText(
  s: string,
  rows: readonly (readonly string[])[],
  {
    components,
    wantsIndex,
    best,
    least,
  }: {
    readonly components: readonly string[];
    readonly wantsIndex: boolean;
    readonly best: (x: string, y: string) => string;
    readonly least: boolean;
  },
): string {
  return lines(
    ...components.map((c, at) => {
      const values = rows.map((row) => row[at] ?? '');
      const most = values.reduce(best);
      const kept = `${s}.best${c}`;
      if (!wantsIndex) return `${kept} = ${best(kept, most)};`;
      const number = `${s}.index${c}`;
      const first = (is: (f: string) => string): string =>
        rows.reduceRight(
          (later, row, u) =>
            u === rows.length - 1
              ? (row.at(-1) ?? '')
              : `${is(values[u] ?? '')} ? ${row.at(-1) ?? ''} : ${later}`,
          '',
        );
      return lines(
        '{',
        `  const V most = ${most};`,
        `  if (${number} < 0 || (${kept} == ${kept} && !(most ${least ? '>=' : '<='} ${kept}))) {`,
        `    ${number} = most == most ? (${first((f) => `${f} == most`)}) : (${first((f) => `${f} != ${f}`)});`,
        `    ${kept} = most;`,
        '  }',
        '}',
      );
    }),
  );
}
