import { indent, lines } from '../emit/indent.js';
import { upTo } from './reducers/reducer.js';
import type { RunningResult } from './reducers/running-result.js';

/** What a pair of rows computes, as statements. */
export interface CpuPair {
  /** Declarations of the kept rows' components. */
  readonly own: readonly string[];
  /** Statements for the reduced row number `at`, an expression. */
  readonly pair: (at: string) => readonly string[];
  /** The values, names or literals. */
  readonly results: readonly string[];
}

/** Reduced rows whose values are added together. */
const TOGETHER = 4;

const isLiteral = (text: string): boolean => /^splat\([^()]*\)$/.test(text);

/** Adds the rows `start` to `stop` to `total[group]`, or to `s`, which is of it. */
export function cpuRowsLoop(running: RunningResult, { own, pair, results }: CpuPair): string {
  const add = (at: string): string =>
    running.add('total[group]', 's', [...results, `number((L)${at})`]);
  const one = lines(
    'for (; row < stop; row++) {',
    indent(lines(...own, ...pair('row'), add('row'))),
    '}',
  );
  if (running.several === undefined) return lines('int64_t row = start;', one);
  const rows = upTo(TOGETHER);
  const value = (result: string, c: number, u: number): string =>
    isLiteral(result) ? result : `f${String(c)}_${String(u)}`;
  const at = (u: number): string => `(row + ${String(u)})`;
  const declared = rows.flatMap((u) =>
    results.flatMap((result, c) => (isLiteral(result) ? [] : value(result, c, u))),
  );
  return lines(
    'int64_t row = start;',
    `for (; row + ${String(TOGETHER)} <= stop; row += ${String(TOGETHER)}) {`,
    indent(lines(...own, declared.length > 0 && `V ${declared.join(', ')};`)),
    ...rows.map((u) =>
      lines(
        '  {',
        indent(
          lines(
            ...pair(at(u)),
            ...results.map(
              (result, c) => !isLiteral(result) && `${value(result, c, u)} = ${result};`,
            ),
          ),
          4,
        ),
        '  }',
      ),
    ),
    indent(
      running.several(
        'total[group]',
        's',
        rows.map((u) => [
          ...results.map((result, c) => value(result, c, u)),
          `number((L)${at(u)})`,
        ]),
      ),
    ),
    '}',
    one,
  );
}
