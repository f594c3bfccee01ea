import { withConstants, type BuiltinKernel, type Scalars, scalar } from '../emitted-kernel.js';
import { dtypeBytes, type DType } from '../dtype.js';
import { elementNumber } from '../elementwise/element-type.js';
import { int64, pointer } from '../kernel-param.js';

/** Tasks of `rowsPerTask` of `rows` rows. */
const rowsTasks = (scalars: Scalars): number =>
  Math.ceil(scalar(scalars, 'rows') / scalar(scalars, 'rowsPerTask'));

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
