import type { BlockDestination, BlockWriter } from '../block-destination.js';
import { checkArrayInput, dataPieces, type NpyArrayInput } from './npy-array.js';
import { isNpyDType, npyDTypeBytes, type NpyDType } from './npy-dtype.js';
import { ioError, NpyError } from './npy-error.js';
import { encodeNpyHeader } from './npy-header.js';
import { FileBeside } from './file-beside.js';
import { pathOf } from './read-options.js';
import { Watch } from './watch.js';

/** A .npy file that a result is written to block by block, whole or not at all. */
export interface NpyOutput extends BlockDestination {
  readonly path: string;
}

/**
 * A .npy file (by path or file URL) as the `out` of a call whose result may not fit into memory. Blocks go to a new file in the same folder
 * as they are computed. When all are written it is flushed and takes the place of `path` in one step; a call that ends early leaves what was
 * there. Nothing is opened before the call.
 *
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { npyOutput, readNpy } from '@mercer/tensor/npy';
 * const path = join(await mkdtemp(join(tmpdir(), 'npy-')), 'out.npy');
 * const writer = await npyOutput(path).open({ shape: [2, 2], dtype: 'float32' });
 * await writer.write([0, 1], { data: Float32Array.of(2, 4), shape: [2, 1] });
 * await writer.write([0, 0], { data: Float32Array.of(1, 3), shape: [2, 1] });
 * await writer.finish();
 * console.log((await readNpy(path)).data); // Float32Array(4) [ 1, 2, 3, 4 ]
 * ```
 *
 * @throws NpyError NPY_ARGUMENT for what names no file; opening throws NPY_IO, NPY_NOT_FOUND and, for a dtype that the format has not, NPY_ARGUMENT
 */
export function npyOutput(file: string | URL): NpyOutput {
  const path = pathOf(file, 'npyOutput');
  return {
    path,
    open: async ({ shape, dtype }, { signal } = {}) => {
      if (!isNpyDType(dtype)) {
        throw new NpyError(
          'NPY_ARGUMENT',
          `npyOutput: the result is ${dtype}, and a .npy file holds none of that type. Compute it in float32 or float64.`,
        );
      }
      new Watch({ signal }).check();
      const beside = await FileBeside.open(path);
      try {
        const header = encodeNpyHeader(dtype, shape, false);
        await beside.write(header, 0);
        const size = shape.reduce((product, extent) => product * extent, 1);
        await beside.file.truncate(header.length + size * npyDTypeBytes(dtype));
        return new NpyWriter(path, beside, { shape, dtype, start: header.length });
      } catch (cause) {
        await beside.abandon();
        throw ioError('write', path, cause);
      }
    },
  };
}

interface Place {
  readonly shape: readonly number[];
  readonly dtype: NpyDType;
  /** Of the first element in the file. */
  readonly start: number;
}

class NpyWriter implements BlockWriter {
  readonly #path: string;
  readonly #beside: FileBeside;
  readonly #place: Place;

  constructor(path: string, beside: FileBeside, place: Place) {
    this.#path = path;
    this.#beside = beside;
    this.#place = place;
  }

  readonly write: BlockWriter['write'] = async (start, block, { signal } = {}) => {
    const { shape, dtype, start: first } = this.#place;
    const array = checkArrayInput({ ...block, dtype } as NpyArrayInput);
    const isInside =
      start.length === shape.length &&
      array.shape.length === shape.length &&
      shape.every((extent, axis) => {
        const [at = -1, count = 0] = [start[axis], array.shape[axis]];
        return at >= 0 && at + count <= extent;
      });
    if (!isInside) {
      throw new NpyError(
        'NPY_ARGUMENT',
        `write: a block of shape (${array.shape.join(', ')}) at (${start.join(', ')}) does not lie in the array of shape (${shape.join(', ')}). Pass one that does.`,
      );
    }
    const bytes = npyDTypeBytes(dtype);
    try {
      for (const { from, to, count } of runsOf(start, array.shape, shape)) {
        const run = { ...array, data: array.data.subarray(from, from + count) };
        let position = first + to * bytes;
        for (const piece of dataPieces(run, 'little')) {
          signal?.throwIfAborted();
          await this.#beside.write(piece, position);
          position += piece.length;
        }
      }
    } catch (cause) {
      if (signal?.aborted === true && cause === signal.reason) throw cause;
      throw ioError('write', this.#path, cause);
    }
  };

  readonly finish = async (): Promise<void> => {
    try {
      await this.#beside.commit(() => undefined);
    } catch (cause) {
      await this.#beside.abandon();
      throw ioError('write', this.#path, cause);
    }
  };

  readonly abandon = (): Promise<void> => this.#beside.abandon();
}

/** Elements of a block that lie together in the array: from the element `from` of the block, to the element `to` of the array. */
function* runsOf(
  start: readonly number[],
  block: readonly number[],
  whole: readonly number[],
): Generator<{ readonly from: number; readonly to: number; readonly count: number }> {
  const size = block.reduce((product, extent) => product * extent, 1);
  if (size === 0) return;
  // Axes from `axis` on lie together.
  let axis = block.length;
  let count = 1;
  while (axis > 0) {
    axis--;
    count *= block[axis] ?? 1;
    if (block[axis] !== whole[axis]) break;
  }
  const strides = new Array<number>(whole.length).fill(1);
  for (let at = whole.length - 2; at >= 0; at--)
    strides[at] = (strides[at + 1] ?? 1) * (whole[at + 1] ?? 1);
  for (let from = 0; from < size; from += count) {
    let rest = from / count;
    let to = start.reduce((sum, one, at) => sum + one * (strides[at] ?? 1), 0);
    for (let at = axis - 1; at >= 0; at--) {
      const extent = block[at] ?? 1;
      to += (rest % extent) * (strides[at] ?? 1);
      rest = Math.floor(rest / extent);
    }
    yield { from, to, count };
  }
}
