import { printable, quoted, type NpyArray } from '@mercer/core/npy';
import { CliError, usageError } from '../cli-error.js';

/** A file of columns, and which of them are read: all where none are named. */
interface ColumnFile {
  readonly path: string;
  readonly columns: readonly string[] | undefined;
}

/** `file.csv`, `file.tsv` or `file.parquet`, with `:a,b` behind it for some of its columns; undefined for other files. */
function columnFile(name: string): ColumnFile | undefined {
  const [, path, columns] = /^(.*?\.(?:csv|tsv|parquet))(?::(.+))?$/is.exec(name) ?? [];
  if (path === undefined) return undefined;
  return { path, columns: columns?.split(',') };
}

/** The columns of a file as a matrix, float64 unless all are float32; undefined for files of other kinds. */
export async function readColumns(
  name: string,
): Promise<NpyArray<'float32' | 'float64'> | undefined> {
  const file = columnFile(name);
  if (file === undefined) return undefined;
  const { path, columns } = file;
  const twice = columns?.find((one, at) => columns.indexOf(one) < at);
  if (twice !== undefined) {
    throw usageError(`Cannot use '${printable(name)}': it names ${quoted(twice)} twice`);
  }
  const extension = /[^.]*$/.exec(path)?.[0].toLowerCase();
  try {
    // loaded when they are needed: other commands start without them
    if (extension === 'parquet') {
      const { readParquet } = await import('./read-parquet.js');
      return await readParquet(path, columns);
    }
    const { readCsv } = await import('./read-csv.js');
    return await readCsv(path, extension === 'tsv' ? '\t' : ',', columns);
  } catch (error) {
    if (error instanceof CliError || !(error instanceof Error)) throw error;
    // what the libraries say of a file that is damaged, or is none
    throw new CliError(
      'BAD_FILE',
      `Cannot read '${printable(path)}': ${printable(error.message)}.`,
      {
        cause: error,
      },
    );
  }
}
