import { indent, lines, upTo } from '../../emit/text.js';
import type { RunningResult } from '../reducers/running-result.js';

/** What a pair of rows computes, as statements. */
export interface CpuPair {
  /** Declarations of the kept rows' components. */
  readonly own: readonly string[];
  /** Statements for the reduced row number `at`, an expression. */
  readonly pair: (at: string) => readonly string[];
  /** The values, names or literals. */
  readonly results: readonly string[];
}

/** Statements that are written out at once at most; a row with more than half of them is on its own. */
const MOST_STATEMENTS = 512;

/** Adds the rows `start` to `stop` to `total[vector]`, or to `s`, which is of it. */
export function cpuRowsLoop(running: RunningResult, { own, pair, results }: CpuPair): string {
  const add = (at: string): string =>
    running.add('total[vector]', 's', [...results, `number((L)${at})`]);
  const one = lines(
    'for (; row < stop; row++) {',
    indent(lines(...own, ...pair('row'), add('row'))),
    '}',
  );
  if (running.several === undefined) return lines('int64_t row = start;', one);
  const length = pair('row').length;
  const rows = [8, 4, 2].find((count) => count * length <= MOST_STATEMENTS) ?? 1;
  const at = (u: number): string => `(row + ${u})`;
  return lines(
    'int64_t row = start;',
    `for (; row + ${rows} <= stop; row += ${rows}) {`,
    indent(lines(...own, declareValues(results, rows))),
    ...upTo(rows).map((u) =>
      lines('  {', indent(lines(...pair(at(u)), ...keepValues(results, u)), 4), '  }'),
    ),
    indent(
      addSeveral(running, {
        results,
        rows,
        total: 'total[vector]',
        block: 's',
        row: 'row',
      }),
    ),
    '}',
    rows > 1 && one,
  );
}

const isLiteral = (text: string): boolean => /^splat\([^()]*\)$/.test(text);
const valueName = (result: string, c: number, u: number): string =>
  isLiteral(result) ? result : `f${c}_${u}`;

/** Declares what `keepValues` sets, for each of the rows. */
export function declareValues(results: readonly string[], rows: number): string | false {
  const names = upTo(rows).flatMap((u) =>
    results.flatMap((result, c) => (isLiteral(result) ? [] : valueName(result, c, u))),
  );
  return names.length > 0 && `V ${names.join(', ')};`;
}

/** Keeps the values of row `u` that are no literals. */
export function keepValues(results: readonly string[], u: number): string[] {
  return results.flatMap((result, c) =>
    isLiteral(result) ? [] : `${valueName(result, c, u)} = ${result};`,
  );
}

/** Adds the values kept of the rows from number `row` on; one by one in a loop, so that it is written once. */
export function addSeveral(
  running: RunningResult,
  {
    results,
    rows,
    total,
    block,
    row,
  }: {
    readonly results: readonly string[];
    readonly rows: number;
    readonly total: string;
    readonly block: string;
    readonly row: string;
  },
): string {
  const values = upTo(rows).map((u) => [
    ...results.map((result, c) => valueName(result, c, u)),
    `number((L)(${row} + ${u}))`,
  ]);
  const slow = lines(
    '{',
    ...results.map(
      (result, c) =>
        !isLiteral(result) &&
        `  const V f${c}_all[] = {${values.map((args) => args[c]).join(', ')}};`,
    ),
    `  for (L u = 0; u < ${rows}; u++) ${running.add(total, block, [
      ...results.map((result, c) => (isLiteral(result) ? result : `f${c}_all[u]`)),
      `number((L)${row} + u)`,
    ])}`,
    '}',
  );
  return running.several?.(total, block, values, slow) ?? slow;
}
