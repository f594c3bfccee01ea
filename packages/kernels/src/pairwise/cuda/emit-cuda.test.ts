import { expect, test } from 'vitest';
import { textsOf } from '../../testing/emitted-text.test-support.js';
import { H200, pairwiseProblem } from '../../testing/h200.test-support.js';
import { defaultKernels } from '../../default-kernels.test-support.js';
import { emitPairwise } from '../emit.js';
import { normExpressions } from '../norm-expressions.js';
import { planPairwise } from '../plan.js';

const source = (changes: Parameters<typeof pairwiseProblem>[0]): string =>
  textsOf(emitPairwise(planPairwise(pairwiseProblem(changes), H200)))[0] ?? '';

test('the kernel for short sums, whole', () => {
  expect(source({ k: 1, ...normExpressions(2) })).toMatchInlineSnapshot(`
    "// one corrected step from the approximate 1/sqrt(x), without a branch: exact where the root is; denormals are scaled
    __device__ __forceinline__ float sqrt_nonnegative(float x) {
      const bool tiny = x < 1.17549435e-38f;
      const float s = tiny ? x * 18446744073709551616.0f : x;
      float r;
      asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(fmaxf(s, 1.17549435e-38f)));
      const float y = s * r;
      const float step = fmaf(fmaf(-y, y, s), 0.5f * r, y);
      const float root = s == __int_as_float(0x7f800000) ? s : step;
      return tiny ? root * 2.3283064365386963e-10f : root;
    }
    __device__ __forceinline__ float accumulate(float total, float x, float y) {
      const float t0 = x - y;
      const float t1 = t0 * t0;
      return total + t1;
    }
    __device__ __forceinline__ float finish(float s, double p) {
      const float t0 = sqrt_nonnegative(s);
      return t0;
    }

    extern "C" __global__ void __launch_bounds__(256)
    pairwise_outer(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out,
        long long m, long long n, long long k, long long batch, long long lda, long long ldb, long long ldo,
        long long batchStrideA, long long batchStrideB, long long batchStrideOut, double p) {
      __shared__ float rowTile[64], columnTile[256];
      const float* __restrict__ const rows = a;
      const float* __restrict__ const columns = b;
      const long long rowCount = m, columnCount = n;
      const long long rowStride = lda, columnStride = ldb;
      const long long rowBatch = batchStrideA, columnBatch = batchStrideB;
      
      const unsigned columnTiles = (unsigned)((columnCount + 255) / 256);
      const unsigned rowTiles = (unsigned)((rowCount + 63) / 64);
      const unsigned layer = blockIdx.x / (columnTiles * rowTiles), index = blockIdx.x % (columnTiles * rowTiles);
      const long long rowStart = (long long)(index / columnTiles) * 64;
      const long long columnStart = (long long)(index % columnTiles) * 256;
      const int rowsHere = (int)min(rowCount - rowStart, 64ll);
      const int columnsHere = (int)min(columnCount - columnStart, 256ll);
      for (int e = threadIdx.x; e < 64; e += 256) {
        const int place = e / 1, step = e % 1;
        const float* const source = rows + layer * rowBatch;
        rowTile[place * 1 + step] = place < rowsHere ? source[(rowStart + place) * rowStride + step] : 0;
      }
      for (int e = threadIdx.x; e < 256; e += 256) {
        const int place = e / 1, step = e % 1;
        const float* const source = columns + layer * columnBatch;
        columnTile[place * 1 + step] = place < columnsHere ? source[(columnStart + place) * columnStride + step] : 0;
      }
      __syncthreads();
      const int column = threadIdx.x % 64 * 4, threadRow = threadIdx.x / 64;
      if (column >= columnsHere) return;
      float y[4][1];
      #pragma unroll
      for (int j = 0; j < 4; ++j)
        #pragma unroll
        for (int c = 0; c < 1; ++c) y[j][c] = columnTile[(column + j) * 1 + c];
      float* line = out + layer * batchStrideOut + (rowStart + threadRow) * ldo + columnStart + column;
      #pragma unroll 4
      for (int row = threadRow; row < rowsHere; row += 4, line += 4 * ldo) {
        float sum[4] = {};
        #pragma unroll
        for (int c = 0; c < 1; ++c) {
          const float x = rowTile[row * 1 + c];
          #pragma unroll
          for (int j = 0; j < 4; ++j) sum[j] = accumulate(sum[j], x, y[j][c]);
        }
        #pragma unroll
        for (int j = 0; j < 4; ++j) sum[j] = finish(sum[j], p);
        if (column + 4 <= columnsHere) {
          *reinterpret_cast<float4*>(line) = make_float4(sum[0], sum[1], sum[2], sum[3]);
        } else {
          #pragma unroll
          for (int j = 0; j < 4; ++j)
            if (column + j < columnsHere) line[j] = sum[j];
        }
      }
    }
    "
  `);
});

test('the difference of p = 1 is a multiply-add with a factor that is 1 at run time', () => {
  const text = source({});
  expect(text).toContain('sum + fabsf(fmaf(x, one, -y))');
  expect(text).toContain('const float one = k < 0 ? 0.0f : 1.0f;');
});

test('p = infinity keeps NaN', () => {
  expect(source(normExpressions(Infinity))).toContain('max.NaN.f32');
  expect(source({ ...normExpressions(Infinity), dtype: 'float64' })).toContain('x != x ? x : y');
});

test('aligned column-major operands are copied by 16 bytes, others element by element', () => {
  const columns = { layoutA: 'column', layoutB: 'column' } as const;
  expect(source(columns)).toContain('cp.async.cg.shared.global [%0], [%1], 16');
  expect(source({ ...columns, alignedA: false })).toContain(
    'cp.async.ca.shared.global [%0], [%1], 4',
  );
  expect(source({ ...columns, dtype: 'float64', alignedA: false })).toContain('[%0], [%1], 8');
});

test('no default kernel includes a header, calls pow in an unrolled loop, or has a loose placeholder', () => {
  const kernels = defaultKernels(H200);
  expect(new Set(kernels.map(({ kernel }) => kernel.source)).size).toBe(kernels.length);
  expect(kernels.length).toBeGreaterThan(600);
  for (const { kernel } of kernels) {
    expect(kernel.source).not.toMatch(/#include|undefined|\bNaN[\]);]|\[object/);
    // A matrix has few eigenvalues: that loop is kept a loop.
    if (!kernel.entry.startsWith('eigen_powers_')) expect(kernel.source).not.toMatch(/\bpowf?\(/);
    expect(kernel.source).toContain(`${kernel.entry}(`);
    expect(kernel.name).not.toBe('');
  }
});

test('the same plan gives the same text', () => {
  const texts = (): string[] => defaultKernels(H200).map(({ kernel }) => kernel.source);
  expect(texts()).toEqual(texts());
});
