import { printable } from '@mercer/core/npy';
import { usageError, type CliError } from '../cli-error.js';

/** The formats that arrays are read from and written to, by the endings of their files. */
const ENDINGS = {
  npy: 'npy',
  npz: 'npz',
  safetensors: 'safetensors',
  csv: 'csv',
  tsv: 'tsv',
  jsonl: 'jsonl',
  ndjson: 'jsonl',
  parquet: 'parquet',
  arrow: 'arrow',
  feather: 'arrow',
} as const;

export type Format = (typeof ENDINGS)[keyof typeof ENDINGS];

/** What is written behind a colon in the name of a file, by its format. */
const PARTS: Readonly<Record<Format, 'none' | 'member' | 'columns'>> = {
  npy: 'none',
  npz: 'member',
  safetensors: 'member',
  csv: 'columns',
  tsv: 'columns',
  jsonl: 'columns',
  parquet: 'columns',
  arrow: 'columns',
};

/** For help texts and messages. */
export const FORMAT_NAMES = '.npy, .npz, .safetensors, .csv, .tsv, .jsonl, .parquet or .arrow';

/** A file as the command line names it. */
export interface FileName {
  /** `-` for standard input and output. */
  readonly path: string;
  /** Undefined where no ending tells. */
  readonly format: Format | undefined;
  /** A member of an archive. */
  readonly member?: string;
  /** Columns of a table. */
  readonly columns?: readonly string[];
}

const ENDING = Object.keys(ENDINGS).join('|');
const NAME = new RegExp(`^(.*?)\\.(${ENDING})(?::(.+))?$`, 'is');

/**
 * `file.csv`, `file.csv:x,y` with columns, `file.npz:name` with a member; `-` for a stream of this process, also with a format and a part, as in
 * `-.parquet:x,y` and `-:x`, or `/dev/stdin` in place of the hyphen. A file that is really named so goes by `./-.csv`.
 */
export function parseFileName(given: string): FileName {
  const name = given.replace(/^\/dev\/stdin(?=$|[:.])/, '-');
  const [, columns] = /^-(?::(.+))?$/s.exec(name) ?? [];
  if (columns !== undefined) return { path: '-', format: undefined, columns: columns.split(',') };
  const [, stem, ending, part] = NAME.exec(name) ?? [];
  if (stem === undefined || ending === undefined) return { path: name, format: undefined };
  const format = ENDINGS[ending.toLowerCase() as keyof typeof ENDINGS];
  const path = stem === '-' ? '-' : `${stem}.${ending}`;
  if (part === undefined) return { path, format };
  // numpy's own files have no parts: the colon is of the name
  if (PARTS[format] === 'none') return { path: name, format: undefined };
  return { path, format, ...partOf(format, part) };
}

/** What a text behind the colon names in a file of a format. */
export function partOf(format: Format, part: string): Pick<FileName, 'member' | 'columns'> {
  return PARTS[format] === 'columns' ? { columns: part.split(',') } : { member: part };
}

/** Whether files of a format have columns, so that one of them is a vector. */
export const isTable = (format: Format | undefined): boolean =>
  format !== undefined && PARTS[format] === 'columns';

/** Whether a text is meant as the name of a file of arrays. */
export const isFileName = (text: string): boolean => parseFileName(text).format !== undefined;

/** How messages name a file. */
export const shownPath = (path: string, stream: 'input' | 'output' = 'input'): string =>
  path === '-' ? `standard ${stream}` : `'${printable(path)}'`;

/** Whether a result goes to standard output. */
export const isStandardOutput = (name: string): boolean => parseFileName(name).path === '-';

/** A name that tells no format to write in. */
export const unknownFormat = (name: string): CliError =>
  usageError(
    `Cannot write '${printable(name)}': no format is known by this name. End the name in ${FORMAT_NAMES}`,
  );
