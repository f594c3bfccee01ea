import { createReadStream } from 'node:fs';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import {
  npyStrides,
  printable,
  writeFileWhole,
  writeNpy,
  writeNpz,
  type WatchOptions,
} from '@mercer/core/npy';
import { writeSafetensors } from '@mercer/core/safetensors';
import { usageError } from '../cli-error.js';
import { assertWritable } from './assert-writable.js';
import { parseFileName, unknownFormat, type Format } from './file-name.js';
import type { NamedArray } from './named-array.js';
import { tableOf, type Table } from './table-columns.js';
import { withTemporaryFolder } from './with-temporary-folder.js';

/** Where an array is written, in what format, and under which name in an archive. */
interface Target {
  readonly path: string;
  readonly format: Format;
  readonly member: string | undefined;
}

/** Writes a file, which for standard output is a temporary one. */
type Writer = (
  file: string,
  target: Target,
  array: NamedArray,
  watch: WatchOptions,
) => Promise<void>;

/** How each format is written. Libraries are loaded when they are needed. */
const WRITERS: Readonly<Record<Format, Writer>> = {
  npy: (file, _, array, watch) => writeNpy(file, array, watch),
  // the name that numpy.savez gives an array without one
  npz: (file, { member = 'arr_0' }, array, watch) => writeNpz(file, { [member]: array }, watch),
  safetensors: (file, { member = 'tensor' }, array, watch) => {
    const { data, shape, dtype } = inRows(array);
    return writeSafetensors(file, { [member]: { data, shape, dtype } }, watch);
  },
  csv: writerOf(async () => {
    const { csvPieces } = await import('./write-text.js');
    return (table) => csvPieces(table, ',');
  }),
  tsv: writerOf(async () => {
    const { csvPieces } = await import('./write-text.js');
    return (table) => csvPieces(table, '\t');
  }),
  jsonl: writerOf(async () => (await import('./write-text.js')).jsonLinesPieces),
  parquet: writerOf(async () => (await import('./write-parquet.js')).parquetPieces),
  arrow: writerOf(async () => (await import('./write-arrow.js')).arrowPieces),
};

type PiecesOf = (table: Table) => Iterable<Uint8Array>;

function writerOf(load: () => Promise<PiecesOf>): Writer {
  return async (file, { path }, array, { signal, onProgress }) => {
    const table = tableOf(path, array);
    const total = array.data.byteLength;
    const piecesOf = await load();
    const watched = onProgress ? tellingCells(table, total, onProgress) : table;
    await writeFileWhole(file, piecesOf(watched), { signal });
    onProgress?.({ done: total, total });
  };
}

/** Cells between two calls of `onProgress`. */
const TOLD_CELLS = 2 ** 14;

/** The table, which tells the bytes of the array whose cells were read: nobody knows how long the file will be. */
function tellingCells(
  table: Table,
  total: number,
  onProgress: NonNullable<WatchOptions['onProgress']>,
): Table {
  const cells = table.rows * table.columns;
  let read = 0;
  const cell: Table['cell'] = (row, column) => {
    read += 1;
    // The last call comes when the file is there.
    if (read % TOLD_CELLS === 0 && read < cells)
      onProgress({ done: (total * read) / cells, total });
    return table.cell(row, column);
  };
  return { ...table, cell };
}

/** Checks before the work, not after it, that results can be written where they shall go, each to a place of its own. */
export async function assertOutputs(outs: readonly string[]): Promise<void> {
  const targets = outs.map(targetOf);
  // two results in one file would leave the second alone
  const places = targets.map(({ path }) => (path === '-' ? path : resolve(path)));
  const twice = places.findIndex((place, i) => places.indexOf(place) < i);
  if (twice >= 0) {
    throw usageError(
      `Cannot write two results to '${printable(outs[twice] ?? '')}': the second would replace the first. Name two files`,
    );
  }
  await assertWritable(...targets.map(({ path }) => path).filter((path) => path !== '-'));
}

/**
 * Writes an array whole or not at all, in the format that the name ends in: `file.npy`, `file.npz:name`, `file.csv`; `-` is standard output, CSV
 * unless a format is named, as in `-.jsonl`.
 *
 * @throws CliError USAGE, SHAPE_MISMATCH; NpyError
 */
export async function writeArray(
  name: string,
  array: NamedArray,
  watch: WatchOptions = {},
): Promise<void> {
  const target = targetOf(name);
  const write = WRITERS[target.format];
  if (target.path !== '-') {
    await write(target.path, target, array, watch);
    return;
  }
  await withTemporaryFolder('mercer-out-', async (folder) => {
    const file = join(folder, 'result');
    await write(file, target, array, watch);
    await pipeline(createReadStream(file), process.stdout, { end: false });
  });
}

/** @throws CliError USAGE */
function targetOf(name: string): Target {
  const { path, format, member, columns } = parseFileName(name);
  if (columns !== undefined) {
    throw usageError(
      `Cannot write '${printable(name)}': columns are chosen of files that are read. Leave ':${printable(columns.join(','))}' out`,
    );
  }
  if (format !== undefined) return { path, format, member };
  if (path === '-') return { path, format: 'csv', member };
  throw unknownFormat(name);
}

/** With the last axis fastest, which is the one order of .safetensors files. */
function inRows(array: NamedArray): NamedArray {
  const { data, shape, fortranOrder } = array;
  if (!fortranOrder || shape.length < 2) return array;
  const strides = npyStrides(array);
  const place = shape.map(() => 0);
  const turned = data.slice();
  let from = 0;
  for (let to = 0; to < data.length; to++) {
    turned[to] = data[from] as never;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const [stride = 0, extent = 0] = [strides[axis], shape[axis]];
      place[axis] = (place[axis] ?? 0) + 1;
      from += stride;
      if ((place[axis] ?? 0) < extent) break;
      from -= stride * extent;
      place[axis] = 0;
    }
  }
  return { ...array, data: turned, fortranOrder: false };
}
