import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { WatchOptions } from '@mercer/core/npy';
import { usageError } from '../cli-error.js';

/** Enough to know a format by. */
const HEAD_BYTES = 64;
const PIECE = 2 ** 24;

/** Bytes that are read: a file's, or those of standard input. */
export interface Source {
  readonly path: string;
  /** Told what has been read; the total is 0 where nobody knows it. */
  readonly watch: WatchOptions;
  /** The bytes as they come. */
  readonly pieces: () => AsyncIterable<Uint8Array>;
  /** What readers that jump in a file take: its path, or all bytes of standard input. */
  readonly whole: () => Promise<string | Uint8Array>;
  /** All bytes, in one array. */
  readonly bytes: () => Promise<Uint8Array>;
}

/** A file. */
export function fileSource(path: string, watch: WatchOptions): Source {
  return {
    path,
    watch,
    pieces: async function* () {
      const { size: total } = await stat(path);
      yield* counted(createReadStream(path, { highWaterMark: 2 ** 18 }), watch, total);
    },
    whole: () => Promise.resolve(path),
    bytes: () => readAll(path, watch),
  };
}

/** Standard input, and its first bytes, by which its format is known. */
export async function standardInput(
  watch: WatchOptions,
): Promise<{ readonly source: Source; readonly head: Uint8Array }> {
  if (process.stdin.isTTY) {
    throw usageError(
      'Cannot read standard input: it is a terminal. Pipe a file into the command, or name one',
    );
  }
  const stream = process.stdin[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  const first: Uint8Array[] = [];
  let length = 0;
  while (length < HEAD_BYTES) {
    const next = await stream.next();
    if (next.done === true) break;
    first.push(next.value);
    length += next.value.length;
  }
  const pieces = (): AsyncIterable<Uint8Array> =>
    counted(chain(first, { [Symbol.asyncIterator]: () => stream }), watch, 0);
  const bytes = async (): Promise<Uint8Array> => {
    const all: Uint8Array[] = [];
    for await (const piece of pieces()) all.push(piece);
    return Buffer.concat(all);
  };
  return {
    head: Buffer.concat(first).subarray(0, HEAD_BYTES),
    source: { path: '-', watch, pieces, bytes, whole: bytes },
  };
}

async function* chain(
  first: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* first;
  yield* rest;
}

async function* counted(
  pieces: AsyncIterable<Uint8Array>,
  { onProgress }: WatchOptions,
  total: number,
): AsyncGenerator<Uint8Array> {
  let done = 0;
  for await (const piece of pieces) {
    done += piece.length;
    onProgress?.({ done, total });
    yield piece;
  }
}

/** Files above the 2 GiB that one read call of Node takes too. */
async function readAll(path: string, { onProgress }: WatchOptions): Promise<Uint8Array> {
  const file = await open(path);
  try {
    const { size: total } = await file.stat();
    const bytes = new Uint8Array(total);
    let done = 0;
    while (done < total) {
      const { bytesRead } = await file.read(bytes, done, Math.min(PIECE, total - done), done);
      if (bytesRead === 0) throw new Error('it became shorter while it was read');
      done += bytesRead;
      onProgress?.({ done, total });
    }
    return bytes;
  } finally {
    await file.close();
  }
}
