import { optionReader } from '@mercer/options';
import { misuse } from './errors.js';

/**
 * Options as the functions of this package read them: own properties only, unknown names refused.
 *
 * @throws CudaError `INVALID_ARGUMENT`
 */
export const readOptions = optionReader((message, cause) =>
  misuse('INVALID_ARGUMENT', message, cause),
);
