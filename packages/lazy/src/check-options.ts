import { LazyError } from './lazy-error.js';

/** Options of calls of reductions. */
export const CALL_OPTIONS: readonly string[] = [
  'out',
  'stream',
  'device',
  'dtype',
  'ranges',
  'accumulate',
  'sumScheme',
  'indexDtype',
  'debug',
];

/** Options of calls that compute whole matrices. */
export const DENSE_OPTIONS: readonly string[] = CALL_OPTIONS.filter(
  (name) => name !== 'ranges' && name !== 'indexDtype',
);

/** Options of preparations. */
export const PREPARE_OPTIONS: readonly string[] = [
  'ranges',
  'accumulate',
  'sumScheme',
  'indexDtype',
  'debug',
];

/** What KeOps calls options that have another name here. */
const NAMES_HERE: ReadonlyMap<string, string> = new Map([
  ['reduction_op', 'reduction'],
  ['opt_arg', 'k'],
  ['dim', 'axis'],
  ['dtype_acc', 'accumulate'],
  ['use_double_acc', 'accumulate'],
  ['sum_scheme', 'sumScheme'],
  ['backend', 'device'],
  ['device_id', 'device'],
]);

/**
 * Refuses options that there are not: one that is spelled in another way would be left out without a word.
 *
 * @throws LazyError INVALID_ARGUMENT
 */
export function checkOptions(what: string, options: object, names: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue;
    const here = NAMES_HERE.get(name) ?? '';
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: there is no option '${name}'. ${names.includes(here) ? `What KeOps calls so is '${here}' here` : `The options are ${names.join(', ')}`}.`,
    );
  }
}
