import type { Device } from '@mercer/tensor';
import { eighBackwardSuite } from './eigh-backward-suite.test-support.js';
import { powerBackwardSuite } from './power-backward-suite.test-support.js';
import { productBackwardSuite } from './product-backward-suite.test-support.js';
import { solveBackwardSuite } from './solve-backward-suite.test-support.js';
import { svdBackwardSuite } from './svd-backward-suite.test-support.js';

/** Every backward rule against finite differences, on one device. `full`: every gradient of svd for every shape. */
export function backwardSuite(
  where: string,
  deviceOf: () => Device,
  { full }: { readonly full: boolean },
): void {
  solveBackwardSuite(where, deviceOf);
  eighBackwardSuite(where, deviceOf);
  svdBackwardSuite(where, deviceOf, { full });
  powerBackwardSuite(where, deviceOf);
  productBackwardSuite(where, deviceOf);
}
