import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DeviceCore } from './device-core.js';
import type { WatchOptions } from './device.js';
import { MercerError } from './mercer-error.js';
import type { StorageBlock } from './storage-block.js';
import type { StreamCore } from './stream-core.js';
import type { StorageArray } from './typed-arrays.js';
import { unlessAborted } from './unless-aborted.js';

/** Pieces that wait for their turn on the stream in memory of their own. */
const MOST_WAITING = 8;

/** Bytes of memory that stays which travel before the signal is looked at again: some 10 ms. */
const KEPT_PIECE = 2 ** 27;

/**
 * Elements of a caller's array into a new storage, from its first byte on. An ArrayBuffer can be transferred or resized at any time,
 * and its memory is then another's: so only this thread reads it, in pieces between which the event loop runs.
 *
 * @throws MercerError INVALID_ARGUMENT where the array was detached or made shorter before all was read; the signal's reason
 */
export async function uploadArray<S extends StreamCore>(
  device: DeviceCore<S>,
  to: StorageBlock,
  data: StorageArray,
  stream: S,
  { what, signal, onProgress }: WatchOptions & { readonly what: string },
): Promise<void> {
  const { byteOffset, byteLength } = data;
  const piece = device.takenAtOnce;
  signal?.throwIfAborted();
  // Memory of the host is written directly, once the end of its former life is over: it may have come from a pool.
  const direct =
    byteLength > piece &&
    stream.capture === undefined &&
    device.hostView(to, 0, byteLength) !== undefined;
  if (direct) await unlessAborted(stream.tailDone(), signal);
  for (let at = 0, pieces = 1; at < byteLength; at += piece, pieces++) {
    if (at > 0) {
      onProgress?.({ done: at, total: byteLength });
      await nextTurn();
      signal?.throwIfAborted();
    }
    if (data.byteLength !== byteLength) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: ${at} of the ${byteLength} bytes were read when the array was detached (transferred) or made shorter. Keep it until the promise settles, or pass a copy.`,
      );
    }
    const part = new Uint8Array(data.buffer, byteOffset + at, Math.min(piece, byteLength - at));
    // Views are taken anew, because host memory of WebAssembly may have grown meanwhile.
    const host = direct ? device.hostView(to, at, part.length) : undefined;
    if (host !== undefined) {
      host.set(part);
      continue;
    }
    const taken = device.upload(to, at, part, stream);
    to.noteWrite(stream);
    await taken;
    if (pieces % MOST_WAITING === 0 && stream.capture === undefined)
      await unlessAborted(stream.tailDone(), signal);
  }
  onProgress?.({ done: byteLength, total: byteLength });
}

/** Bytes of memory that stays as it is into a new storage. @throws the signal's reason, between pieces */
export async function uploadInPieces<S extends StreamCore>(
  device: DeviceCore<S>,
  to: StorageBlock,
  data: Uint8Array,
  stream: S,
  { signal, onProgress }: WatchOptions,
): Promise<void> {
  const total = data.byteLength;
  for (let at = 0; at < total; at += KEPT_PIECE) {
    signal?.throwIfAborted();
    const part = data.subarray(at, at + KEPT_PIECE);
    const taken = device.upload(to, at, part, stream);
    to.noteWrite(stream);
    await taken;
    onProgress?.({ done: at + part.byteLength, total });
  }
}
