import { lines } from '../../emit/indent.js';
import { upTo } from '../reducers/reducer.js';
import type { RunningResult } from '../reducers/running-result.js';

const isLiteral = (text: string): boolean => /^splat\([^()]*\)$/.test(text);
const valueName = (result: string, c: number, u: number): string =>
  isLiteral(result) ? result : `f${c}_${u}`;

/** Declares what `keepValues` sets, for each of the rows. */
export function declareValues(results: readonly string[], together: number): string | false {
  const names = upTo(together).flatMap((u) =>
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
export function addTogether(
  running: RunningResult,
  {
    results,
    together,
    total,
    block,
    row,
  }: {
    readonly results: readonly string[];
    readonly together: number;
    readonly total: string;
    readonly block: string;
    readonly row: string;
  },
): string {
  const rows = upTo(together).map((u) => [
    ...results.map((result, c) => valueName(result, c, u)),
    `number((L)(${row} + ${u}))`,
  ]);
  const slow = lines(
    '{',
    ...results.map(
      (result, c) =>
        !isLiteral(result) &&
        `  const V f${c}_all[] = {${rows.map((args) => args[c]).join(', ')}};`,
    ),
    `  for (L u = 0; u < ${together}; u++) ${running.add(total, block, [
      ...results.map((result, c) => (isLiteral(result) ? result : `f${c}_all[u]`)),
      `number((L)${row} + u)`,
    ])}`,
    '}',
  );
  return running.several?.(total, block, rows, slow) ?? slow;
}
