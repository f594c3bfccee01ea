import type { FileHandle } from 'node:fs/promises';
import { describeValue } from '@mercer/options';
import { SIGNAL_OPTION, type SignalOption } from '../device.js';
import type { RowReader } from '../row-reader.js';
import { allocateData, finishSteps, storedBytes, type NpyArray } from './npy-array.js';
import { checkFileBytes } from './npy-codec.js';
import type { NpyDType } from './npy-dtype.js';
import { NpyError } from './npy-error.js';
import { NPY_PREFIX_BYTES, npyDataOffset, parseNpyHeader, type NpyHeader } from './npy-header.js';
import { printable } from './printable.js';
import { openFile, readInto, readPiece, regularBytes, reading } from './read-npy.js';
import { pathOf, readOptions } from './read-options.js';
import { runInSlices } from './slices.js';
import { Watch } from './watch.js';

/** An open .npy file whose rows are read as they are needed: what reductions take in the place of a tensor. Whoever opens it closes it. */
export class NpyFile implements RowReader, AsyncDisposable {
  readonly dtype: NpyDType;
  readonly shape: readonly number[];
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #header: NpyHeader;

  /** @internal Use `openNpy`. */
  constructor(path: string, file: FileHandle, header: NpyHeader) {
    this.dtype = header.dtype;
    this.shape = Object.freeze([...header.shape]);
    this.#path = path;
    this.#file = file;
    this.#header = header;
  }

  /**
   * Rows `first` to `first + count` of axis 0, in memory of their own.
   *
   * @throws NpyError NPY_ARGUMENT for rows that the file has not, NPY_TRUNCATED, NPY_IO (a closed file among them); the signal's reason
   */
  readonly readRows = async (
    first: number,
    count: number,
    options?: SignalOption,
  ): Promise<NpyArray> => {
    const { signal } = readOptions('readRows', options, SIGNAL_OPTION);
    const [rows = 1, ...row] = this.shape;
    const isRange = [first, count].every((one) => Number.isSafeInteger(one) && one >= 0);
    if (!isRange || first + count > rows) {
      throw new NpyError(
        'NPY_ARGUMENT',
        `readRows: ${describeValue(count)} rows from row ${describeValue(first)}, and '${printable(this.#path)}' has ${rows}. Pass whole numbers that name rows of the file.`,
      );
    }
    const watch = new Watch({ signal });
    watch.check();
    const { stored, dataOffset, memoryBytes, dataBytes, size } = this.#header;
    const elements = count * row.reduce((product, extent) => product * extent, 1);
    const header = {
      ...this.#header,
      shape: [count, ...row],
      size: elements,
      dataBytes: elements * stored.bytes,
      memoryBytes: size === 0 ? 0 : (memoryBytes / size) * elements,
    };
    return await reading(this.#path, watch, async () => {
      const buffer = allocateData(header, Infinity);
      watch.total = dataBytes;
      const rowBytes = stored.bytes * row.reduce((product, extent) => product * extent, 1);
      const start = first * rowBytes;
      await readInto(
        this.#file,
        storedBytes(header, buffer),
        dataOffset + start,
        this.#path,
        watch,
      );
      return await runInSlices(finishSteps(header, buffer), watch);
    });
  };

  /** Gives the file back. Reading rows afterwards is an error; closing it twice is not. */
  async close(): Promise<void> {
    await this.#file.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/**
 * Opens a .npy file (by path or file URL) whose rows are read as they are needed. The header is checked against the file's length. The
 * elements lie in row-major order, as numpy saves them unless it is told otherwise.
 *
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { openNpy, writeNpy } from '@mercer/tensor/npy';
 * const path = join(await mkdtemp(join(tmpdir(), 'npy-')), 'points.npy');
 * await writeNpy(path, { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] });
 * const points = await openNpy(path);
 * console.log(points.shape, (await points.readRows(1, 1)).data); // [ 2, 2 ] Float32Array(2) [ 3, 4 ]
 * await points.close();
 * ```
 *
 * @throws NpyError `NPY_NOT_FOUND`, `NPY_IO`, those of `decodeNpy`, and `NPY_UNSUPPORTED` for one number without rows and for elements in Fortran order
 */
export async function openNpy(source: string | URL, options?: SignalOption): Promise<NpyFile> {
  const given = readOptions('openNpy', options, SIGNAL_OPTION);
  const path = pathOf(source, 'openNpy');
  const watch = new Watch(given);
  watch.check();
  const file = await openFile(path);
  try {
    return await reading(path, watch, async () => {
      const bytes = await regularBytes(file, path);
      const prefix = await readPiece(file, 0, Math.min(NPY_PREFIX_BYTES, bytes), path);
      const headerBytes = Math.min(npyDataOffset(prefix), bytes);
      const header = parseNpyHeader(await readPiece(file, 0, headerBytes, path));
      checkFileBytes(header, bytes);
      checkRows(header);
      return new NpyFile(path, file, header);
    });
  } catch (error) {
    await file.close();
    throw error;
  }
}

function checkRows({ shape, fortranOrder }: NpyHeader): void {
  const isOne = shape.length === 0;
  if (!isOne && (!fortranOrder || shape.length === 1)) return;
  throw new NpyError(
    'NPY_UNSUPPORTED',
    isOne
      ? 'Cannot read rows: the array is one number without rows. Read it with readNpy.'
      : `Cannot read rows: the elements of shape (${shape.join(', ')}) are in Fortran order, where rows do not lie together. Read it whole with readNpy, or save it with numpy.ascontiguousarray.`,
  );
}
