import { scalar } from '../elementwise/copy-params.js';
import type { CpuGeometry, Scalars } from '../emitted-kernel.js';

/** Tasks of `rowsPerTask` of `rows` rows. */
export const rowsTasks = (scalars: Scalars): CpuGeometry => ({
  tasks: Math.ceil(scalar(scalars, 'rows') / scalar(scalars, 'rowsPerTask')),
  chunk: 1,
  scratchBytes: 0,
});
