import { traitsOf } from '@mercer/formula';
import { upTo, lines, indent } from '../../emit/text.js';
import type { Reducer, ReducerParts } from './reducer.js';

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

/**
 * The best of several rows first, one value a thread, where NaN is better than any number: few are better than what was there,
 * and of those the row is looked for.
 */
function extremaOfScalars(
  s: string,
  rows: readonly (readonly string[])[],
  { components, wantsIndex, least, best }: Omit<VectorExtrema, 'slow'>,
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

/** What the text of several rows is made from. */
interface VectorExtrema {
  readonly components: readonly string[];
  readonly wantsIndex: boolean;
  readonly least: boolean;
  /** The better of two numbers. */
  readonly best: (x: string, y: string) => string;
  /** Statements that add the rows one by one. */
  readonly slow: string;
}

/**
 * The best of several rows over vectors: where no value is a NaN and every lane has seen a row, one comparison decides.
 * A sum of the values is a NaN if any of them is, or if infinities of both signs are, which then are added one by one.
 */
function extremaOfVectors(
  s: string,
  rows: readonly (readonly string[])[],
  { components, wantsIndex, least, best, slow }: VectorExtrema,
): string {
  const valuesOf = (at: number): string[] => rows.map((row) => row[at] ?? '');
  const checks = components.map((c, at) => `const V check${c} = ${valuesOf(at).join(' + ')};`);
  const unusual = components.flatMap((c) => [
    `(I)(check${c} != check${c})`,
    ...(wantsIndex ? [`(I)(${s}.index${c} < number(0))`] : []),
  ]);
  const better = (value: string, kept: string): string => `${value} ${least ? '<' : '>'} ${kept}`;
  const fast = components.map((c, at) => {
    const kept = `${s}.best${c}`;
    if (!wantsIndex) {
      return `{ const V most = ${valuesOf(at).reduce(best)}; ${kept} = ${better('most', kept)} ? most : ${kept}; }`;
    }
    const number = `${s}.index${c}`;
    return lines(
      ...rows.map((row) => {
        const [value = '', index = ''] = [row[at], row.at(-1)];
        return `{ const I better = ${better(value, kept)}; ${kept} = better ? ${value} : ${kept}; ${number} = better ? ${index} : ${number}; }`;
      }),
    );
  });
  return lines(
    '{',
    indent(lines(...checks)),
    `  if (any(${unusual.join(' | ')})) {`,
    indent(slow, 4),
    '  } else {',
    indent(lines(...fast), 4),
    '  }',
    '}',
  );
}
