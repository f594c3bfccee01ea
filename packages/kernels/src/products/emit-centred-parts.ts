import { prelude } from '../elementwise/conversion-text.js';
import { cudaKernel } from '../emit/cuda-kernel.js';
import { SHORT_INTEGERS } from '../emit/parameter-text.js';
import { type CudaKernel, scalar } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';

/** Which factor of a product rows are. */
export type ProductsRole = 'a' | 'b';

/** Rows of a block, a warp each. */
const ROWS = 8;

/**
 * Splits rows of a float32 matrix, less a centre, into the TF32 parts hi and lo, lo rounded to TF32 too, stacked chunk by chunk along k: lo hi hi
 * for a and hi lo hi for b, so that one product over 3 `chunk` steps is lo hi + hi lo + hi hi, the small terms first. What is not finite
 * is 0 in the parts; the last chunk is filled up with 0. Writes the squared norms of the centred rows too, in which it is not.
 *
 * Pointers x, centre, parts and norms. Scalars: rows, k, ldx, chunk, chunks.
 */
export function emitCentredParts(role: ProductsRole): CudaKernel {
  const params = [
    pointer('x', 'float32', 'read'),
    pointer('centre', 'float32', 'read'),
    pointer('parts', 'float32', 'write'),
    pointer('norms', 'float32', 'write'),
    ...['rows', 'k', 'ldx', 'chunk', 'chunks'].map(int64),
  ];
  const [first, second] = role === 'a' ? ['lo', 'hi'] : ['hi', 'lo'];
  return cudaKernel({
    name: `products parts ${role}`,
    entry: `mercer_products_parts_${role}`,
    params,
    list: { integers: SHORT_INTEGERS },
    before: `${prelude('cuda')}
// 11 bits, to nearest; what would become infinite is cut
FN float tf32_of(float v) {
  const u32 bits = __float_as_uint(v), rounded = (bits + 0x1000u) & 0xffffe000u;
  return __uint_as_float((rounded & 0x7f800000u) == 0x7f800000u ? bits & 0xffffe000u : rounded);
}

`,
    threads: 32 * ROWS,
    body: `  const i64 row = (i64)blockIdx.x * ${ROWS} + threadIdx.x / 32;
  if (row >= rows) return;
  float* const to = parts + row * 3 * chunk * chunks;
  double norm = 0.0;
  for (i64 c = 0; c < chunks; ++c) {
    const i64 from = c * chunk, place = 3 * from;
    for (i64 l = threadIdx.x % 32; l < chunk; l += 32) {
      const float v = from + l < k ? x[row * ldx + from + l] - centre[from + l] : 0.0f;
      norm = fma((double)v, (double)v, norm);
      const bool finite = (__float_as_uint(v) & 0x7f800000u) != 0x7f800000u;
      const float hi = finite ? tf32_of(v) : 0.0f;
      const float lo = finite ? tf32_of(v - hi) : 0.0f;
      to[place + l] = ${first};
      to[place + chunk + l] = ${second};
      to[place + 2 * chunk + l] = hi;
    }
  }
  #pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) norm += __shfl_xor_sync(0xffffffffu, norm, offset);
  if (threadIdx.x % 32 == 0) norms[row] = (float)norm;`,
    grid: (scalars) => Math.ceil(scalar(scalars, 'rows') / ROWS),
    cost: (scalars) => {
      const numbers = scalar(scalars, 'rows') * scalar(scalars, 'k');
      return { bytes: 16 * numbers, flops: 4 * numbers };
    },
  });
}
