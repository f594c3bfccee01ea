import { Buffer } from 'node:buffer';
import { nccl } from '@mercer/cuda-runtime';
import { describeValue } from '@mercer/options';
import { MercerError } from '../mercer-error.js';

/** So that a text that is something else is told from an id. */
const PREFIX = 'mercer-group-';
const BYTES = 128;

/**
 * The id of a new group of processes, as text: one process makes it and hands it to the others, through an environment variable, a file or a message.
 * This process listens for those that join, and lives until all have.
 *
 * @throws LibraryNotFoundError where there is no NCCL, with what to install
 */
export const createGroupId = (): string =>
  PREFIX + Buffer.from(nccl.uniqueId()).toString('base64url');

/** @throws MercerError INVALID_ARGUMENT */
export function bytesOfId(id: string): Uint8Array {
  const given: unknown = id;
  if (typeof given === 'string' && given.startsWith(PREFIX)) {
    const bytes = Buffer.from(given.slice(PREFIX.length), 'base64url');
    if (bytes.length === BYTES) return Uint8Array.from(bytes);
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `joinGroup: id is ${describeValue(id)}, which createGroupId() has not made. Pass what it gives in one of the processes to all of them.`,
  );
}
