import { keysAndBytesMutants } from './keys-and-bytes.mjs';
import { brokenFilesMutants } from './broken-files.mjs';
import { oneCompileMutants } from './one-compile.mjs';
import { boundsMutants } from './bounds.mjs';
import { privacyMutants } from './privacy.mjs';
import { placesMutants } from './places.mjs';
import { bundlesMutants } from './bundles.mjs';

/**
 * Every protection that can be taken away, in the order of the promises.
 *
 * @type {readonly import('../../../scripts/mutants/run.mjs').Mutant[]}
 */
export const mutants = [
  ...keysAndBytesMutants,
  ...brokenFilesMutants,
  ...oneCompileMutants,
  ...boundsMutants,
  ...privacyMutants,
  ...placesMutants,
  ...bundlesMutants,
];

/** Promises that have a mutant. */
export const promises = 16;
