import { MercerError } from '@mercer/tensor';
import { choice, type Setting } from './checks.js';

/**
 * What a GPU does to float32 factors: 'float32' nothing; 'tf32' rounds them to 11 significant bits for its tensor cores; 'tf32x3'
 * adds up three such products of the factors' parts. A CPU computes in float32 whatever is asked for.
 */
export type ProductPrecision = 'float32' | 'tf32' | 'tf32x3';

/** @throws MercerError INVALID_ARGUMENT for what there is not, or is not for float64 */
export function precisionOf(
  { what, dtype }: Setting,
  precision: ProductPrecision | undefined,
): ProductPrecision {
  const chosen = choice(what, 'precision', precision, ['float32', 'tf32', 'tf32x3']);
  if (dtype === 'float32' || chosen === 'float32') return chosen;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: precision is '${chosen}' and the matrices are ${dtype}, whose products are computed in ${dtype}. ` +
      "It chooses how float32 products are computed: leave it away, or call cast('float32') first.",
  );
}
