import { indent, lines } from '../../emit/indent.js';

/** What the text of several rows is made from. */
export interface VectorExtrema {
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
export function extremaOfVectors(
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
