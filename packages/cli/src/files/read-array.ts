import {
  listNpz,
  printable,
  quoted,
  readNpy,
  readNpz,
  type NpyArray,
  type WatchOptions,
} from '@mercer/core/npy';
import { listSafetensors, readSafetensors, type SafetensorsArray } from '@mercer/core/safetensors';
import { MercerError } from '@mercer/options';
import { CliError, usageError } from '../cli-error.js';
import { parseFileName, shownPath, type FileName, type Format } from './file-name.js';
import type { NamedArray } from './named-array.js';
import { fileSource, standardInput, type Source } from './source.js';

/** Where a file is, and which part of it is wanted. */
interface Request {
  readonly source: Source;
  readonly member: string | undefined;
  readonly columns: readonly string[] | undefined;
}

/** How each format is read. Libraries are loaded when they are needed: other commands start without them. */
const READERS: Readonly<Record<Format, (request: Request) => Promise<NamedArray>>> = {
  npy: async ({ source }) => readNpy(await source.whole(), source.watch),
  npz: async ({ source, member }) => {
    const archive = await source.whole();
    const name =
      member ??
      onlyOf(
        source,
        (await listNpz(archive)).map((entry) => entry.name),
      );
    return there((await readNpz(archive, { members: [name], ...source.watch })).get(name));
  },
  safetensors: async ({ source, member }) => {
    const archive = await source.whole();
    const name = member ?? onlyOf(source, [...(await listSafetensors(archive)).arrays.keys()]);
    const { arrays } = await readSafetensors(archive, { names: [name], ...source.watch });
    return widened(there(arrays.get(name)));
  },
  csv: async ({ source, columns }) => (await import('./read-csv.js')).readCsv(source, ',', columns),
  tsv: async ({ source, columns }) =>
    (await import('./read-csv.js')).readCsv(source, '\t', columns),
  jsonl: async ({ source, columns }) =>
    (await import('./read-json-lines.js')).readJsonLines(source, columns),
  parquet: async ({ source, columns }) =>
    (await import('./read-parquet.js')).readParquet(source, columns),
  arrow: async ({ source, columns }) =>
    (await import('./read-arrow.js')).readArrow(source, columns),
};

/**
 * Reads the array of a file, or a part of it: `file.npy`, `file.npz:name`, `file.csv:x,y`; `-` is standard input, whose format is found
 * from its first bytes. A member's name is looked up in the archive as it is, and nowhere else.
 *
 * @throws CliError USAGE, BAD_FILE, DTYPE_MISMATCH, SHAPE_MISMATCH; NpyError
 */
export async function readArray(name: string, watch: WatchOptions = {}): Promise<NamedArray> {
  const file = parseFileName(name);
  try {
    const { source, format } = await openFile(file, watch);
    const { member, columns } = file;
    return await READERS[format]({ source, member, columns });
  } catch (error) {
    if (error instanceof MercerError || !(error instanceof Error)) throw error;
    // what the libraries say of a file that is damaged, or is none
    throw new CliError(
      'BAD_FILE',
      `Cannot read ${shownPath(file.path)}: ${printable(error.message)}.`,
      { cause: error },
    );
  }
}

async function openFile(
  { path, format, columns }: FileName,
  watch: WatchOptions,
): Promise<{ readonly source: Source; readonly format: Format }> {
  // a name without an ending is of numpy's own format
  if (path !== '-') return { source: fileSource(path, watch), format: format ?? 'npy' };
  const { source, head } = await standardInput(watch);
  if (head.length === 0) {
    throw new CliError(
      'BAD_FILE',
      'Cannot read standard input: it is empty. Pipe a file into the command.',
    );
  }
  const found = format ?? formatOf(head);
  // the part was written without a format: it names a member where the stream is an archive
  const isArchive = found === 'npz' || found === 'safetensors' || found === 'npy';
  if (format === undefined && columns !== undefined && isArchive) {
    throw usageError(
      `Cannot use standard input: it is ${found === 'npy' ? 'a .npy file, which has no columns' : `a .${found} file. Name a member as in '-.${found}:name'`}`,
    );
  }
  return { source, format: found };
}

/** The format of a file that begins so. Text that is no JSON is CSV, with tabs where its first line has one before any comma. */
function formatOf(head: Uint8Array): Format {
  const text = Buffer.from(head).toString('latin1');
  if (text.startsWith('\x93NUMPY')) return 'npy';
  if (text.startsWith('PK')) return 'npz';
  if (text.startsWith('PAR1')) return 'parquet';
  if (text.startsWith('ARROW1') || text.startsWith('\xff\xff\xff\xff')) return 'arrow';
  if (text[8] === '{' && text.slice(4, 8) === '\0\0\0\0') return 'safetensors';
  if (/^(\xef\xbb\xbf)?\s*[[{]/.test(text)) return 'jsonl';
  return /^[^\n,]*\t/.test(text) ? 'tsv' : 'csv';
}

function onlyOf({ path }: Source, names: readonly string[]): string {
  const [only] = names;
  if (only !== undefined && names.length === 1) return only;
  throw usageError(
    `Cannot use ${shownPath(path)}: it holds ${names.length} arrays (${names.slice(0, 10).map(quoted).join(', ')}). Name one, as in '${printable(path)}:x'`,
  );
}

function there<A>(array: A | undefined): A {
  if (array === undefined) throw new Error('a member that was asked for is not there');
  return array;
}

/** bfloat16 as float32, which is exact; other types are those of .npy files. */
function widened({ dtype, shape, data }: SafetensorsArray): NpyArray {
  if (dtype !== 'bfloat16') return { dtype, shape, data, fortranOrder: false };
  const bits = Uint32Array.from(data as Uint16Array, (one) => one << 16);
  return { dtype: 'float32', shape, data: new Float32Array(bits.buffer), fortranOrder: false };
}
