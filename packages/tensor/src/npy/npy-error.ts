import { MercerError } from '@mercer/options';
import { printable } from './printable.js';

/** What went wrong with a .npy or .npz file; `NpyError.code` holds one of these. */
export type NpyErrorCode =
  | 'NPY_INVALID' // not a .npy/.npz file, or its bytes contradict each other
  | 'NPY_UNSUPPORTED' // a real .npy/.npz file with something that is not read here (objects, structures, complex)
  | 'NPY_TRUNCATED' // fewer bytes than the header promises
  | 'NPY_TOO_LARGE' // more bytes than allowed or than one buffer can hold
  | 'NPY_NOT_FOUND' // no such file, or no such member of an archive
  | 'NPY_IO' // the file system refused
  | 'NPY_ARGUMENT'; // the caller's array does not fit the format

/**
 * The one error class of files of arrays: .npy, .npz and .safetensors. The message says what failed, why, and how to fix it.
 *
 * ```ts
 * import { decodeNpy, NpyError } from '@mercer/tensor/npy';
 * try {
 *   decodeNpy(new Uint8Array([1, 2, 3]));
 * } catch (error) {
 *   if (error instanceof NpyError) console.log(error.code); // NPY_TRUNCATED
 * }
 * ```
 */
export class NpyError extends MercerError {
  declare readonly code: NpyErrorCode;

  constructor(code: NpyErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.name = 'NpyError';
  }
}

/** Turns an error of the file system into an NpyError that names the file. */
export function ioError(action: string, path: string, cause: unknown): NpyError {
  if (cause instanceof NpyError) return cause;
  const system = cause as NodeJS.ErrnoException;
  const why = system.code === undefined ? String(cause) : system.message;
  if (system.code === 'ENOENT') {
    return new NpyError(
      'NPY_NOT_FOUND',
      `Cannot ${action} '${printable(path)}': there is no such file or folder. Check the path.`,
      { cause },
    );
  }
  return new NpyError(
    'NPY_IO',
    `Cannot ${action} '${printable(path)}': ${printable(why)}. Check the path, its permissions and the free space.`,
    { cause },
  );
}
