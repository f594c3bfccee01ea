import { LibraryNotFoundError } from '@mercer/cuda-runtime';
import { MercerError } from '@mercer/tensor';
import type { Enqueuing } from '@mercer/tensor/operation';
import type { Setting } from '../checks.js';

/** Work of a CUDA library. @throws MercerError NO_BACKEND where the library is not found, with the places tried */
export function* namingTheLibrary(
  { what, device }: Pick<Setting, 'what' | 'device'>,
  work: () => Enqueuing,
): Enqueuing {
  try {
    yield* work();
  } catch (cause) {
    if (!(cause instanceof LibraryNotFoundError)) throw cause;
    throw new MercerError('NO_BACKEND', `${what} on ${device.id}: ${cause.message}`, { cause });
  }
}
