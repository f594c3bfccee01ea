import { printable, quoted } from '@mercer/core/npy';
import { CliError, usageError } from '../cli-error.js';

/** Where the columns that are asked for stand among those of a file: by name, or by number from 0 on where no name is. */
export function placesOf(
  path: string,
  names: readonly string[],
  wanted: readonly string[] | undefined,
): readonly number[] {
  if (wanted === undefined) return [...names.keys()];
  return wanted.map((name) => {
    const place = names.indexOf(name);
    if (place >= 0) return place;
    if (/^\d+$/.test(name) && Number(name) < names.length) return Number(name);
    throw usageError(
      `Cannot use '${printable(path)}': it has no column ${quoted(name)}. Its columns are ${names.slice(0, 10).map(quoted).join(', ')}${names.length > 10 ? ', ...' : ''}`,
    );
  });
}

/** What a cell is that is no number. */
export const noNumber = (path: string, row: number, column: string, found: string): CliError =>
  new CliError(
    'DTYPE_MISMATCH',
    `Cannot use '${printable(path)}': row ${row} of column ${quoted(column)} is ${found}, which is no number. Name the columns to read, as in '${printable(path)}:a,b'.`,
  );
