import { fileURLToPath } from 'node:url';
import { describeValue, optionReader } from '@mercer/options';
import { NpyError } from './npy-error.js';
import { quoted } from './printable.js';

/**
 * Options of the codec as its functions read them: own properties only, unknown names refused.
 *
 * @throws NpyError NPY_ARGUMENT
 */
export const readOptions = optionReader(
  (message, cause) =>
    new NpyError('NPY_ARGUMENT', message, cause === undefined ? undefined : { cause }),
);

/** The path of a file given by a path or a file: URL. @throws NpyError NPY_ARGUMENT */
export function pathOf(file: unknown, what: string): string {
  if (typeof file === 'string') return file;
  if (file instanceof URL && file.protocol === 'file:') return fileURLToPath(file);
  throw new NpyError(
    'NPY_ARGUMENT',
    `${what}: ${file instanceof URL ? `the URL ${quoted(file.href)}` : describeValue(file)} names no file. Pass a path or a file: URL.`,
  );
}
