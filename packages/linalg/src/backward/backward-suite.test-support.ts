import type { Device } from '@mercer/tensor';
import { eighBackwardSuite } from './eigh-backward-suite.test-support.js';
import { powerBackwardSuite } from './power-backward-suite.test-support.js';
import { productBackwardSuite } from './product-backward-suite.test-support.js';
import { solveBackwardSuite } from './solve-backward-suite.test-support.js';
import { svdBackwardSuite } from './svd-backward-suite.test-support.js';

/** Every backward rule against finite differences, on one device. */
export function backwardSuite(where: string, deviceOf: () => Device): void {
  solveBackwardSuite(where, deviceOf);
  eighBackwardSuite(where, deviceOf);
  svdBackwardSuite(where, deviceOf);
  powerBackwardSuite(where, deviceOf);
  productBackwardSuite(where, deviceOf);
}
