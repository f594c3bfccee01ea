import { withConstants } from '../builtin-kernel.js';
import { dtypeBytes, type DType } from '../dtype.js';
import { scalar } from '../elementwise/copy-params.js';
import type { BuiltinKernel } from '../emitted-kernel.js';
import { elementNumber } from '../interpret/element-types.js';
import { int64, pointer } from '../kernel-param.js';
import { rowsTasks } from './rows-tasks.js';

/**
 * Where the elements of rows come from once they are sorted, as a built-in function of the CPU's runtime: `dst[r count + i]` from
 * `src[r rowStride + i stride]`. Equal elements keep their order, and NaN comes last. A radix sort, with room for `keys` of
 * {@link sortWorkspaceBytes} bytes.
 */
export const cpuArgSortKernel = (dtype: DType, isDescending: boolean): BuiltinKernel =>
  withConstants(
    {
      name: `argSort ${dtype}${isDescending ? ' descending' : ''}`,
      entry: 'arg_sort',
      params: [
        pointer('src', dtype, 'read'),
        pointer('dst', 'int32', 'write'),
        pointer('keys', 'uint8', 'write'),
        ...['rows', 'count', 'rowStride', 'stride', 'rowsPerTask'].map(int64),
      ],
      tasks: rowsTasks,
      cost: (scalars) => ({
        bytes: scalar(scalars, 'rows') * scalar(scalars, 'count') * (dtypeBytes(dtype) + 4),
        flops: 0,
      }),
    },
    { type: elementNumber(dtype), descending: Number(isDescending) },
  );

/** Two keys with their places for each element. */
export const sortWorkspaceBytes = (dtype: DType, elements: number): number =>
  elements * 2 * (dtypeBytes(dtype) === 8 ? 16 : 8);
