import { prelude } from '../elementwise/conversion-text.js';
import { cudaKernel } from '../emit/cuda-kernel.js';
import { SHORT_INTEGERS } from '../emit/parameter-text.js';
import { type CudaKernel, scalar } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';

/** Columns of a block, and the rows that its threads have at a time. */
const [COLUMNS, ROWS] = [32, 16];
/** Rows of each matrix that are averaged: any common centre is right, and one near the mean is good. */
const SAMPLE = 512;

/**
 * A centre of the rows of two row-major float32 matrices: the mean of up to 512 evenly spaced rows of each, in which numbers that are not
 * finite count as 0.
 *
 * Pointers a, b and centre. Scalars: m and n rows, k, lda, ldb.
 */
export function emitCentre(): CudaKernel {
  const params = [
    pointer('a', 'float32', 'read'),
    pointer('b', 'float32', 'read'),
    pointer('centre', 'float32', 'write'),
    ...['m', 'n', 'k', 'lda', 'ldb'].map(int64),
  ];
  return cudaKernel({
    name: 'products centre',
    entry: 'mercer_products_centre',
    params,
    list: { integers: SHORT_INTEGERS },
    before: `${prelude('cuda')}
FN double sample_sum(const float* x, i64 rows, i64 ld, i64 sampled, i64 column) {
  double sum = 0.0;
  #pragma unroll 4
  for (i64 s = threadIdx.x / ${COLUMNS}; s < sampled; s += ${ROWS}) {
    const float v = x[s * rows / sampled * ld + column];
    sum += (__float_as_uint(v) & 0x7f800000u) == 0x7f800000u ? 0.0 : (double)v;
  }
  return sum;
}

`,
    threads: COLUMNS * ROWS,
    body: `  __shared__ double sums[${ROWS}][${COLUMNS}];
  const i64 column = (i64)blockIdx.x * ${COLUMNS} + threadIdx.x % ${COLUMNS};
  const i64 ofA = min(m, ${SAMPLE}ll), ofB = min(n, ${SAMPLE}ll);
  double sum = 0.0;
  if (column < k) sum = sample_sum(a, m, lda, ofA, column) + sample_sum(b, n, ldb, ofB, column);
  sums[threadIdx.x / ${COLUMNS}][threadIdx.x % ${COLUMNS}] = sum;
  __syncthreads();
  if (threadIdx.x >= ${COLUMNS} || column >= k) return;
  #pragma unroll
  for (int row = 1; row < ${ROWS}; ++row) sum += sums[row][threadIdx.x];
  centre[column] = (float)(sum / (double)(ofA + ofB));`,
    grid: (scalars) => Math.ceil(scalar(scalars, 'k') / COLUMNS),
    cost: (scalars) => {
      const rows = Math.min(scalar(scalars, 'm'), SAMPLE) + Math.min(scalar(scalars, 'n'), SAMPLE);
      const numbers = rows * scalar(scalars, 'k');
      return { bytes: 4 * numbers, flops: numbers };
    },
  });
}
