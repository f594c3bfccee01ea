import { describe, expect, it } from 'vitest';
import { emitPairwise } from '../pairwise/emit.js';
import { normExpressions } from '../pairwise/norm-expressions.js';
import { planPairwise } from '../pairwise/plan.js';
import { emittedText } from '../testing/emitted-text.test-support.js';
import { H200, pairwiseProblem } from '../testing/h200.test-support.js';
import { productsConfig } from './choose-products.js';
import { emitCentre, emitCentredParts } from './index.js';

describe('the text for a GPU', () => {
  it('of the centre of some rows', () => {
    expect(emittedText(emitCentre(), 'kernel')).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(512)
      mercer_products_centre(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ centre, i64 m, i64 n, i64 k, i64 lda, i64 ldb) {
        __shared__ double sums[16][32];
        const i64 column = (i64)blockIdx.x * 32 + threadIdx.x % 32;
        const i64 ofA = min(m, 512ll), ofB = min(n, 512ll);
        double sum = 0.0;
        if (column < k) sum = sample_sum(a, m, lda, ofA, column) + sample_sum(b, n, ldb, ofB, column);
        sums[threadIdx.x / 32][threadIdx.x % 32] = sum;
        __syncthreads();
        if (threadIdx.x >= 32 || column >= k) return;
        #pragma unroll
        for (int row = 1; row < 16; ++row) sum += sums[row][threadIdx.x];
        centre[column] = (float)(sum / (double)(ofA + ofB));
      }
      "
    `);
  });

  it('of rows less their centre, in two parts', () => {
    expect(emittedText(emitCentredParts('b'), 'kernel')).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(256)
      mercer_products_parts_b(const float* __restrict__ x, const float* __restrict__ centre, float* __restrict__ parts, float* __restrict__ norms, i64 rows, i64 k, i64 ldx, i64 chunk, i64 chunks) {
        const i64 row = (i64)blockIdx.x * 8 + threadIdx.x / 32;
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
            to[place + l] = hi;
            to[place + chunk + l] = lo;
            to[place + 2 * chunk + l] = hi;
          }
        }
        #pragma unroll
        for (int offset = 16; offset > 0; offset /= 2) norm += __shfl_xor_sync(0xffffffffu, norm, offset);
        if (threadIdx.x % 32 == 0) norms[row] = (float)norm;
      }
      "
    `);
  });

  it('of distances out of products', () => {
    const plan = planPairwise(
      pairwiseProblem({ ...normExpressions(2), products: productsConfig(1024) }),
      H200,
    );
    expect(emittedText(emitPairwise(plan), 'kernel')).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(256)
      pairwise_products(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out,
          long long m, long long n, long long k, long long batch, long long lda, long long ldb, long long ldo,
          long long batchStrideA, long long batchStrideB, long long batchStrideOut, double p,
          const float* __restrict__ normsA, const float* __restrict__ normsB) {
        __shared__ unsigned short close[512];
        __shared__ int closeCount;
        const unsigned columnTiles = (unsigned)((n + 127) / 128);
        const long long rowStart = (long long)(blockIdx.x / columnTiles) * 64;
        const long long columnStart = (long long)(blockIdx.x % columnTiles) * 128;
        const int rowsHere = (int)min(m - rowStart, 64ll), columnsHere = (int)min(n - columnStart, 128ll);
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = 4 * lane;
        float* const tile = out + rowStart * ldo + columnStart;
        if (threadIdx.x == 0) closeCount = 0;
        __syncthreads();
        if (column < columnsHere) {
          float normB[4];
          #pragma unroll
          for (int j = 0; j < 4; ++j) normB[j] = column + j < columnsHere ? normsB[columnStart + column + j] : 0.0f;
          #pragma unroll 4
          for (int row = warp; row < rowsHere; row += 8) {
            const float normA = normsA[rowStart + row];
            float* const line = tile + row * ldo + column;
            float value[4];
            if (column + 4 <= columnsHere) {
              const float4 four = *reinterpret_cast<const float4*>(line);
              value[0] = four.x, value[1] = four.y, value[2] = four.z, value[3] = four.w;
            } else {
              #pragma unroll
              for (int j = 0; j < 4; ++j) value[j] = column + j < columnsHere ? line[j] : 0.0f;
            }
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
              const float norms = normA + normB[j], distance = fmaf(-2.0f, value[j], norms);
              // false for NaN, and where both sides are infinite
              const bool far = distance > 0.37376726f * norms && norms >= 8.271806e-25f;
              if (!far && column + j < columnsHere) {
                const int place = atomicAdd(&closeCount, 1);
                if (place < 512) close[place] = (unsigned short)(row * 128 + column + j);
              }
              value[j] = finish(far ? distance : 0.0f, p);
            }
            if (column + 4 <= columnsHere) {
              *reinterpret_cast<float4*>(line) = make_float4(value[0], value[1], value[2], value[3]);
            } else {
              #pragma unroll
              for (int j = 0; j < 4; ++j)
                if (column + j < columnsHere) line[j] = value[j];
            }
          }
        }
        __syncthreads();
        const int count = closeCount;
        if (count <= 512) {
          for (int each = warp; each < count; each += 8) {
            const int row = close[each] / 128, other = close[each] % 128;
            const float* const x = a + (rowStart + row) * lda;
            const float* const y = b + (columnStart + other) * ldb;
            float sum = 0.0f;
            for (long long l = 4 * lane; l + 4 <= k; l += 128) {
              const float4 u = *reinterpret_cast<const float4*>(x + l), v = *reinterpret_cast<const float4*>(y + l);
              sum = accumulate(sum, u.x, v.x);
              sum = accumulate(sum, u.y, v.y);
              sum = accumulate(sum, u.z, v.z);
              sum = accumulate(sum, u.w, v.w);
            }
            for (long long l = k / 4 * 4 + lane; l < k; l += 32) sum = accumulate(sum, x[l], y[l]);
            #pragma unroll
            for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
            if (lane == 0) tile[row * ldo + other] = finish(sum, p);
          }
          return;
        }
        __shared__ __align__(16) float rowTile[16][68], columnTile[16][132];
        const int ownRow = threadIdx.x / 16 * 4, ownColumn = threadIdx.x % 16 * 4;
        float sums[4][8] = {};
        for (long long start = 0; start < k; start += 16) {
          __syncthreads();
          for (int e = threadIdx.x; e < 1024; e += 256) {
            const int place = e / 16, l = e % 16;
            const bool isThere = place < rowsHere && start + l < k;
            rowTile[l][place] = isThere ? a[(rowStart + place) * lda + start + l] : 0.0f;
          }
          for (int e = threadIdx.x; e < 2048; e += 256) {
            const int place = e / 16, l = e % 16;
            const bool isThere = place < columnsHere && start + l < k;
            columnTile[l][place] = isThere ? b[(columnStart + place) * ldb + start + l] : 0.0f;
          }
          __syncthreads();
          #pragma unroll 4
          for (int l = 0; l < 16; ++l) {
            const float4 r = *reinterpret_cast<const float4*>(&rowTile[l][ownRow]);
            const float4 c = *reinterpret_cast<const float4*>(&columnTile[l][ownColumn]);
            const float4 d = *reinterpret_cast<const float4*>(&columnTile[l][ownColumn + 64]);
            const float x[4] = {r.x, r.y, r.z, r.w}, y[8] = {c.x, c.y, c.z, c.w, d.x, d.y, d.z, d.w};
            #pragma unroll
            for (int i = 0; i < 4; ++i)
              #pragma unroll
              for (int j = 0; j < 8; ++j) sums[i][j] = accumulate(sums[i][j], x[i], y[j]);
          }
        }
        #pragma unroll
        for (int i = 0; i < 4; ++i)
          #pragma unroll
          for (int j = 0; j < 8; ++j) {
            const int other = ownColumn + j % 4 + j / 4 * 64;
            if (ownRow + i < rowsHere && other < columnsHere) tile[(ownRow + i) * ldo + other] = finish(sums[i][j], p);
          }
      }
      "
    `);
  });
});
