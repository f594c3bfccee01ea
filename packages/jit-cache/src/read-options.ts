import { describeValue, optionReader } from '@mercer/options';
import { CacheError } from './errors.js';

/**
 * Options of the cache as its methods read them: own properties only, unknown names refused.
 *
 * @throws CacheError INVALID_ARGUMENT
 */
export const readOptions = optionReader(
  (message, cause) =>
    new CacheError('INVALID_ARGUMENT', message, cause === undefined ? undefined : { cause }),
);

/** @throws CacheError INVALID_ARGUMENT for what is no signal */
export function checkSignal(what: string, signal: unknown): void {
  if (signal === undefined || signal instanceof AbortSignal) return;
  throw new CacheError(
    'INVALID_ARGUMENT',
    `${what}: signal is ${describeValue(signal)}. Pass the signal of an AbortController.`,
  );
}

/** @throws CacheError INVALID_ARGUMENT for what are no names of folders */
export function checkFolders(what: string, name: string, folders: unknown): void {
  const list: readonly unknown[] = Array.isArray(folders) ? folders : [folders];
  const isFolder = (one: unknown): boolean =>
    typeof one === 'string' && one !== '' && !one.includes('\0');
  if (Array.isArray(folders) && list.every(isFolder)) return;
  const wrong = Array.isArray(folders) ? list.find((one) => !isFolder(one)) : folders;
  throw new CacheError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(wrong)}. Pass ${name === 'folder' ? 'the path of a folder' : 'a list of paths of folders'}.`,
  );
}
