import { NpyError } from '../npy-error.js';

/** A .npy file with a hand-written header text. */
export function fileWith(
  header: string,
  body: Uint8Array = new Uint8Array(0),
  version = 1,
): Uint8Array {
  const text = Buffer.from(header, 'latin1');
  const length = Buffer.alloc(version === 1 ? 2 : 4);
  if (version === 1) length.writeUInt16LE(text.length);
  else length.writeUInt32LE(text.length);
  return new Uint8Array(
    Buffer.concat([Buffer.from('\x93NUMPY', 'latin1'), Buffer.of(version, 0), length, text, body]),
  );
}

/** A header text for the given pieces, as numpy would write it. */
export function headerText(descr: string, shape: string, fortranOrder = 'False'): string {
  return `{'descr': ${descr}, 'fortran_order': ${fortranOrder}, 'shape': ${shape}, }`;
}

/** The code of the NpyError that `action` throws; anything else it throws goes on. */
export function codeOf(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    if (error instanceof NpyError) return error.code;
    throw error;
  }
}

/** The same for a promise. */
export async function rejectionCode(promise: Promise<unknown>): Promise<string | undefined> {
  try {
    await promise;
    return undefined;
  } catch (error) {
    if (error instanceof NpyError) return error.code;
    throw error;
  }
}
