import { printable } from '@mercer/core/npy';
import Table from 'cli-table3';
import type { Colors } from './color.js';

/** One column: its heading and on which side its cells stand. */
export interface Column {
  readonly head: string;
  readonly align?: 'left' | 'right';
}

/** A plain table without vertical lines, as wide as its content. Colour only in the headings. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  colors: Colors,
): string {
  const table = new Table({
    head: columns.map((column) => colors.bold(column.head)),
    colAligns: columns.map((column) => column.align ?? 'left'),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    chars: BLANK,
  });
  for (const row of rows) table.push(row.map(printable));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

const BLANK = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '',
};
