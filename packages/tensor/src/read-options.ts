import { optionReader } from '@mercer/options';
import { MercerError } from './mercer-error.js';

/**
 * Options of a call as the operations read them: own properties only, unknown names refused.
 *
 * @throws MercerError INVALID_ARGUMENT
 */
export const readOptions = optionReader(
  (message, cause) =>
    new MercerError('INVALID_ARGUMENT', message, cause === undefined ? undefined : { cause }),
);
