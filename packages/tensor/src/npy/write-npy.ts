import type { OptionNames } from '@mercer/options';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { inHostMemory } from './in-host-memory.js';
import type { NpyArrayInput } from './npy-array.js';
import { npyFilePieces, NPY_WRITE_OPTIONS, type NpyWriteOptions } from './npy-codec.js';
import { pathOf, readOptions } from './read-options.js';
import { Watch, WATCH_OPTIONS, type WatchOptions } from './watch.js';
import { writeWhole } from './write-file-whole.js';

/** Options of `writeNpy`. */
export interface NpyFileWriteOptions extends NpyWriteOptions, WatchOptions {}

const NPY_FILE_WRITE_OPTIONS: OptionNames<NpyFileWriteOptions> = {
  ...NPY_WRITE_OPTIONS,
  ...WATCH_OPTIONS,
};

/**
 * Writes one array, or a tensor, as a .npy file, whole or not at all (a new file in the same folder, flushed, then renamed).
 * A signal ends it between pieces: what was at `path` stays.
 * float16 bits are a Uint16Array; bool is a Uint8Array with `dtype: 'bool'`.
 * Rejects with NpyError: `NPY_ARGUMENT` (before any file is touched), `NPY_NOT_FOUND`, `NPY_IO`.
 *
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { tensor } from '@mercer/tensor';
 * import { writeNpy } from '@mercer/tensor/npy';
 * const folder = await mkdtemp(join(tmpdir(), 'npy-'));
 * await writeNpy(join(folder, 'mask.npy'), { data: Uint8Array.of(1, 0), shape: [2], dtype: 'bool' });
 * await writeNpy(join(folder, 'x.npy'), await tensor([[1, 2], [3, 4]], { device: 'cpu' }));
 * ```
 */
export async function writeNpy(
  path: string | URL,
  array: NpyArrayInput | TensorOperand,
  options?: NpyFileWriteOptions,
): Promise<void> {
  const given = readOptions('writeNpy', options, NPY_FILE_WRITE_OPTIONS);
  const watch = new Watch(given);
  const held = await inHostMemory<NpyArrayInput>(array, given);
  const pieces = npyFilePieces(held, given, watch);
  watch.total = held.data.byteLength;
  await writeWhole(pathOf(path, 'writeNpy'), pieces, watch);
}
