import { lines, upTo } from '../../emit/indent.js';
import type { RunningResult } from '../reducers/running-result.js';

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
