import { indent, lines, upTo } from '../../emit/indent.js';
import { addSeveral, declareValues, keepValues } from './several-rows.js';
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
