import { optionReader } from '@mercer/options';
import { FormulaError } from './formula-error.js';

/**
 * Options as the functions of this package read them: own properties only, unknown names refused.
 *
 * @throws FormulaError INVALID_ARGUMENT
 */
export const readOptions = optionReader(
  (message, cause) =>
    new FormulaError('INVALID_ARGUMENT', message, cause === undefined ? undefined : { cause }),
);
