import { LibraryNotFoundError } from '@mercer/cuda-runtime';
import { MercerError } from '@mercer/tensor';
import type { Setting } from '../checks.js';

/** Runs work of a CUDA library. @throws MercerError NO_BACKEND where the library is not found, with the places tried */
export async function namingTheLibrary(
  { what, device }: Pick<Setting, 'what' | 'device'>,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
  } catch (cause) {
    if (!(cause instanceof LibraryNotFoundError)) throw cause;
    throw new MercerError('NO_BACKEND', `${what} on ${device.id}: ${cause.message}`, { cause });
  }
}
