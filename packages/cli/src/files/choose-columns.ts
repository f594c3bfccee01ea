import { quoted } from '@mercer/core/npy';
import { CliError, usageError } from '../cli-error.js';
import { shownPath } from './file-name.js';

/** Where the columns that are asked for stand among those of a file: by name, or by number from 0 on where no name is. */
export function placesOf(
  path: string,
  names: readonly string[],
  wanted: readonly string[] | undefined,
): readonly number[] {
  if (wanted === undefined) return [...names.keys()];
  const twice = wanted.find((one, at) => wanted.indexOf(one) < at);
  if (twice !== undefined) {
    throw usageError(`Cannot use ${shownPath(path)}: ${quoted(twice)} is named twice`);
  }
  return wanted.map((name) => {
    const place = names.indexOf(name);
    if (place >= 0) return place;
    if (/^\d+$/.test(name) && Number(name) < names.length) return Number(name);
    throw usageError(
      `Cannot use ${shownPath(path)}: it has no column ${quoted(name)}. Its columns are ${names.slice(0, 10).map(quoted).join(', ')}${names.length > 10 ? ', ...' : ''}`,
    );
  });
}

/** The number in a cell of a file that knows types: NaN where no value is; undefined for what is no number. */
export function cellNumber(value: unknown): number | undefined {
  if (value === null || value === undefined) return NaN;
  return ['number', 'bigint', 'boolean'].includes(typeof value) ? Number(value) : undefined;
}

/** What a cell is that is no number; `where` is its row, with its line where the file is text. */
export const noNumber = (path: string, where: string, column: string, found: string): CliError =>
  new CliError(
    'DTYPE_MISMATCH',
    `Cannot use ${shownPath(path)}: ${where} of column ${quoted(column)} is ${found}, which is no number. Name the columns to read, as in '${path === '-' ? '-' : 'FILE'}:a,b'.`,
  );
