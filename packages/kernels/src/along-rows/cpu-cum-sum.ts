import { withConstants } from '../builtin-kernel.js';
import { dtypeBytes, type DType } from '../dtype.js';
import { scalar } from '../elementwise/copy-params.js';
import type { BuiltinKernel } from '../emitted-kernel.js';
import { elementNumber } from '../interpret/element-types.js';
import { int64, pointer } from '../kernel-param.js';
import { rowsTasks } from './rows-tasks.js';

/**
 * Sums of the elements of rows up to each, as a built-in function of the CPU's runtime: `dst[r dstRowStride + i dstStride]` is the sum of
 * `src[r rowStride + j stride]` for j up to i, in float64, or modulo 2^64 where `to` is int64.
 */
export const cpuCumSumKernel = (from: DType, to: 'int64' | 'float32' | 'float64'): BuiltinKernel =>
  withConstants(
    {
      name: `cumSum ${from} ${to}`,
      entry: 'cum_sum',
      params: [
        pointer('src', from, 'read'),
        pointer('dst', to, 'write'),
        ...['rows', 'count', 'rowStride', 'stride', 'dstRowStride', 'dstStride'].map(int64),
        int64('rowsPerTask'),
      ],
      tasks: rowsTasks,
      cost: (scalars) => {
        const elements = scalar(scalars, 'rows') * scalar(scalars, 'count');
        return { bytes: elements * (dtypeBytes(from) + dtypeBytes(to)), flops: elements };
      },
    },
    { type: elementNumber(from), to: elementNumber(to) },
  );
