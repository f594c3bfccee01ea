import type { NpyArrayInput } from './npy-array.js';
import { npyFilePieces, NPY_WRITE_OPTIONS, type NpyWriteOptions } from './npy-codec.js';
import { pathOf, readOptions } from './read-options.js';
import { writeFileWhole } from './write-file-whole.js';

/**
 * Writes one array as a .npy file, whole or not at all (a new file in the same folder, flushed, then renamed).
 * float16 bits are a Uint16Array; bool is a Uint8Array with `dtype: 'bool'`.
 * Rejects with NpyError: `NPY_ARGUMENT` (before any file is touched), `NPY_NOT_FOUND`, `NPY_IO`.
 *
 * ```ts
 * import { mkdtemp } from 'node:fs/promises';
 * import { tmpdir } from 'node:os';
 * import { join } from 'node:path';
 * import { writeNpy } from '@mercer/tensor/npy';
 * const folder = await mkdtemp(join(tmpdir(), 'npy-'));
 * await writeNpy(join(folder, 'mask.npy'), { data: Uint8Array.of(1, 0), shape: [2], dtype: 'bool' });
 * ```
 */
export async function writeNpy(
  path: string | URL,
  array: NpyArrayInput,
  options?: NpyWriteOptions,
): Promise<void> {
  const pieces = npyFilePieces(array, readOptions('writeNpy', options, NPY_WRITE_OPTIONS));
  await writeFileWhole(pathOf(path, 'writeNpy'), pieces);
}
