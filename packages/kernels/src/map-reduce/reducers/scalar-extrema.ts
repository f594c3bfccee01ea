import { lines } from '../../emit/indent.js';
import type { VectorExtrema } from './vector-extrema.js';

/**
 * The best of several rows first, one value a thread, where NaN is better than any number: few are better than what was there,
 * and of those the row is looked for.
 */
export function extremaOfScalars(
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
