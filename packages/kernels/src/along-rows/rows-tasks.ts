import { scalar } from '../elementwise/copy-params.js';
import type { Scalars } from '../emitted-kernel.js';

/** Tasks of `rowsPerTask` of `rows` rows. */
export const rowsTasks = (scalars: Scalars): number =>
  Math.ceil(scalar(scalars, 'rows') / scalar(scalars, 'rowsPerTask'));
