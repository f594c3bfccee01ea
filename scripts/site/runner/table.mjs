// console.table, as Node draws it.
import { formatWithOptions, inspect } from 'node-inspect-extracted';

/** @param {unknown} value */
const shown = (value) => inspect(value, { depth: 1 });

/** @param {readonly string[]} head @param {readonly (readonly string[])[]} rows */
function drawn(head, rows) {
  const widths = head.map((_, k) => Math.max(...[head, ...rows].map((row) => row[k]?.length ?? 0)));
  const line = (
    /** @type {string} */ left,
    /** @type {string} */ middle,
    /** @type {string} */ right,
  ) => left + widths.map((width) => '─'.repeat(width + 2)).join(middle) + right;
  const text = (/** @type {readonly string[]} */ row) =>
    `│${widths.map((width, k) => ` ${(row[k] ?? '').padEnd(width)} `).join('│')}│`;
  const body = [line('┌', '┬', '┐'), text(head), line('├', '┼', '┤'), ...rows.map(text)];
  return [...body, line('└', '┴', '┘')].join('\n');
}

/** Lists or records of lists, records or values; anything else as `console.log` shows it. @param {unknown} data */
export function tableText(data) {
  if (typeof data !== 'object' || data === null) return formatWithOptions({ colors: false }, data);
  const rows = Object.entries(data);
  const isRow = (/** @type {unknown} */ row) => typeof row === 'object' && row !== null;
  const columns = [
    ...new Set(
      rows.flatMap(([, row]) => (isRow(row) ? Object.keys(/** @type {object} */ (row)) : [])),
    ),
  ];
  const hasValues = rows.some(([, row]) => !isRow(row));
  const cells = rows.map(([index, row]) => [
    index,
    ...columns.map((key) => (isRow(row) && key in row ? shown(/** @type {any} */ (row)[key]) : '')),
    ...(hasValues ? [isRow(row) ? '' : shown(row)] : []),
  ]);
  return drawn(['(index)', ...columns, ...(hasValues ? ['Values'] : [])], cells);
}
