import { ofThisRealm } from '@mercer/options';
import type { FileHandle } from 'node:fs/promises';
import { NpyError } from './npy-error.js';
import { readPiece, withFile } from './read-npy.js';
import { pathOf } from './read-options.js';
import type { Watch } from './watch.js';

/** Bytes that can be read from any position: an open file or memory. */
export interface ByteSource {
  readonly bytes: number;
  /** Exactly `length` bytes from `position`; refuses a range outside the source. */
  read(position: number, length: number): Promise<Uint8Array>;
}

function memorySource(data: Uint8Array): ByteSource {
  return {
    bytes: data.length,
    async read(position, length) {
      checkRange(position, length, data.length);
      return Promise.resolve(data.subarray(position, position + length));
    },
  };
}

function fileSource(file: FileHandle, bytes: number, path: string): ByteSource {
  return {
    bytes,
    async read(position, length) {
      checkRange(position, length, bytes);
      return readPiece(file, position, length, path);
    },
  };
}

function checkRange(position: number, length: number, bytes: number): void {
  if (position >= 0 && length >= 0 && position + length <= bytes) return;
  throw new NpyError(
    'NPY_TRUNCATED',
    `Cannot read the archive: it points at bytes ${position} to ${position + length} and has ${bytes}. ` +
      'The archive is cut short or hostile; write it again.',
  );
}

/** Runs `body` with bytes in memory, or with those of a file, which is closed then. @throws NpyError */
export async function withSource<T>(
  source: string | URL | Uint8Array,
  what: string,
  watch: Watch,
  body: (bytes: ByteSource) => Promise<T>,
): Promise<T> {
  const own = ofThisRealm(source);
  if (own instanceof Uint8Array) return body(memorySource(own));
  const path = pathOf(own, what);
  return withFile(path, watch, (file, fileBytes) => body(fileSource(file, fileBytes, path)));
}
