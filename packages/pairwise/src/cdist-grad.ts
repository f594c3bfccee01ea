import { weightedDifferences } from './weighted-differences.js';

/**
 * Kermac's name of {@link weightedDifferences}, for those who look for it. It is not the gradient of `cdist`: that is
 * `cdistBackward`.
 *
 * @deprecated Call `weightedDifferences`, which is the same function.
 */
export const cdistGrad = weightedDifferences;
