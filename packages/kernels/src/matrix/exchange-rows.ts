import { dtypeBytes } from '../dtype.js';
import { cudaType } from '../emit/literals.js';
import { cpp } from '../emit/text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';
import { matrixKernel, type MatrixDType } from './matrix-kernel.js';

const THREADS = 256;
const SHARED_BYTES = 48 * 1024;

/** Rows that `emitExchangeRows` takes at most: a column stays in shared memory. */
export const mostExchangedRows = (dtype: MatrixDType): number => SHARED_BYTES / dtypeBytes(dtype);

/**
 * Exchanges rows of dense column-major n x columns matrices as LAPACK's laswp does, in place: row i with row pivots[i] - 1, for
 * i = 0, 1, ..., n - 1 in turn. A block has one column. n is at most `mostExchangedRows`.
 *
 * Scalars: n, columns, count (of matrices); pivots has n int32 for each matrix.
 */
export function emitExchangeRows(dtype: MatrixDType): CudaKernel {
  const type = cudaType(dtype);
  return matrixKernel({
    name: `exchange rows ${dtype}`,
    entry: `exchange_rows_${dtype}`,
    threads: THREADS,
    grid: ({ columns = 0, count = 0 }) => [columns, count, 1],
    params: [
      pointer('sides', dtype, 'readwrite'),
      pointer('pivots', 'int32', 'read'),
      int64('n'),
      int64('columns'),
    ],
    body: cpp`
      __shared__ ${type} rows[${mostExchangedRows(dtype)}];
      sides += (blockIdx.y * columns + blockIdx.x) * n;
      pivots += blockIdx.y * n;
      for (i64 i = threadIdx.x; i < n; i += ${THREADS}) rows[i] = sides[i];
      __syncthreads();
      if (threadIdx.x < 32) {
        const int lane = threadIdx.x;
        // the next 32 pivots are on their way while one thread exchanges
        int next = lane < n ? pivots[lane] - 1 : lane;
        for (i64 first = 0; first < n; first += 32) {
          const int own = next;
          const i64 later = first + 32 + lane;
          next = later < n ? pivots[later] - 1 : 0;
          #pragma unroll 8
          for (int j = 0; j < 32; ++j) {
            const int other = __shfl_sync(0xffffffffu, own, j);
            if (lane == 0 && first + j < n) {
              const ${type} row = rows[first + j];
              rows[first + j] = rows[other];
              rows[other] = row;
            }
          }
        }
      }
      __syncthreads();
      for (i64 i = threadIdx.x; i < n; i += ${THREADS}) sides[i] = rows[i];
    `,
  });
}
