import { lines } from '../emit/text.js';
import type { RowsPlan } from './plan-rows.js';

/**
 * Squares of float64 values may leave the range of numbers: a sum outside of these bounds is formed
 * again from values divided by the largest. Squares of float32 values fit in double precision.
 */
export const SAFE_SQUARES = { least: 1e-280, most: 1e300 } as const;

/**
 * The functions `norm_of` and `divide`. A norm is `unit * root`; threads that share a row combine
 * their parts in a fixed order through a `Share`: `sum` and `largest` give every thread the whole,
 * `any` tells whether some row of the block meets a condition.
 */
export function cudaNormFunctions(plan: RowsPlan): string {
  const isFloat64 = plan.dtype === 'float64';
  const share =
    plan.layout === 'column' ? GROUP_SHARE : plan.threadsPerRow === 32 ? WARP_SHARE : BLOCK_SHARE;
  return lines(
    'struct Norm { double unit, root; };',
    share,
    `template <class Value, class Share>
__device__ __forceinline__ Norm norm_of(const Value& value, int first, int step, long long k, const Share& share) {
  double sum = 0.0;
  for (long long c = first; c < k; c += step) { const double v = value(c); sum = fma(v, v, sum); }
  sum = share.sum(sum);`,
    isFloat64 &&
      `  const bool safe = sum >= ${SAFE_SQUARES.least} && sum <= ${SAFE_SQUARES.most};
  if (share.any(!safe)) {
    double largest = 0.0, scaled = 0.0;
    for (long long c = first; c < k; c += step) largest = fmax(largest, fabs(value(c)));
    largest = share.largest(largest);
    const bool divides = largest > 0.0 && largest < __longlong_as_double(0x7ff0000000000000ll);
    for (long long c = first; divides && c < k; c += step) { const double v = value(c) / largest; scaled = fma(v, v, scaled); }
    scaled = share.sum(scaled);
    if (!safe) return divides ? Norm{largest, sqrt(scaled)} : Norm{1.0, sum != sum ? sum : largest};
  }`,
    `  return {1.0, sqrt(sum)};
}`,
    plan.normalise &&
      `// a row of zeros stays as it is
__device__ __forceinline__ double divide(double v, const Norm& norm) {
  if (norm.root == 0.0) return v;
  return ${isFloat64 ? '(norm.unit == 1.0 ? v : v / norm.unit) / norm.root' : 'v * (1.0 / norm.root)'};
}`,
  );
}

const WARP_SHARE = `struct WarpShare {
  __device__ __forceinline__ double sum(double v) const {
    #pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
  }
  __device__ __forceinline__ double largest(double v) const {
    #pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) v = fmax(v, __shfl_xor_sync(0xffffffffu, v, offset));
    return v;
  }
  __device__ __forceinline__ bool any(bool x) const { return x; }
};`;

/** All threads of a block share one row: warps first, then their results in order. */
const BLOCK_SHARE = `${WARP_SHARE}
struct BlockShare {
  double* parts;
  __device__ __forceinline__ void put(double v) const {
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
  }
  __device__ __forceinline__ double sum(double v) const {
    put(WarpShare{}.sum(v));
    double all = parts[0];
    for (int i = 1; i < 8; ++i) all += parts[i];
    return all;
  }
  __device__ __forceinline__ double largest(double v) const {
    put(WarpShare{}.largest(v));
    double all = parts[0];
    for (int i = 1; i < 8; ++i) all = fmax(all, parts[i]);
    return all;
  }
  __device__ __forceinline__ bool any(bool x) const { return x; }
};`;

/** Each lane has a row of its own, which the warps of the block share. */
const GROUP_SHARE = `struct GroupShare {
  double* parts;
  __device__ __forceinline__ void put(double v) const {
    __syncthreads();
    parts[threadIdx.x / 32 * 32] = v;
    __syncthreads();
  }
  __device__ __forceinline__ double sum(double v) const {
    put(v);
    double all = parts[0];
    for (int i = 1; i < 8; ++i) all += parts[i * 32];
    return all;
  }
  __device__ __forceinline__ double largest(double v) const {
    put(v);
    double all = parts[0];
    for (int i = 1; i < 8; ++i) all = fmax(all, parts[i * 32]);
    return all;
  }
  // every warp has all rows of the block, with the same sums
  __device__ __forceinline__ bool any(bool x) const { return __any_sync(0xffffffffu, x) != 0; }
};`;
