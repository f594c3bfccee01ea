import { keysAndBytesMutants } from './keys-and-bytes.mjs';
import { brokenFilesMutants } from './broken-files.mjs';
import { oneCompileMutants } from './one-compile.mjs';
import { boundsMutants } from './bounds.mjs';
import { privacyMutants } from './privacy.mjs';
import { placesMutants } from './places.mjs';

/**
 * One protection taken away: `find` must stand exactly once in `file` (under src/), and `and`, where
 * one place is not enough, in the same file. The tests of `test` whose names match `pattern` must
 * then fail.
 *
 * @typedef {{ find: string, replace: string }} Edit
 * @typedef {Edit & { promise: number, name: string, file: string, and?: Edit, test: string, pattern: string }} Mutant
 */

/**
 * Every protection that can be taken away, in the order of the promises.
 *
 * @type {readonly Mutant[]}
 */
export const mutants = [
  ...keysAndBytesMutants,
  ...brokenFilesMutants,
  ...oneCompileMutants,
  ...boundsMutants,
  ...privacyMutants,
  ...placesMutants,
];
