import { optionReader } from '@mercer/options';
import { CpuRuntimeError } from './errors.js';

/**
 * Options as the functions of this package read them: own properties only, unknown names refused.
 *
 * @throws CpuRuntimeError `INVALID_ARGUMENT`
 */
export const readOptions = optionReader(
  (message, cause) =>
    new CpuRuntimeError('INVALID_ARGUMENT', message, cause === undefined ? undefined : { cause }),
);
