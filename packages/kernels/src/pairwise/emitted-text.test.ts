import { expect, it } from 'vitest';
import { CPU, emittedText } from '../testing/emitted-text.test-support.js';
import { H200, pairwiseProblem } from '../testing/h200.test-support.js';
import { emitPairwise } from './emit.js';
import { planPairwise } from './plan.js';

it('the text of 1-norms of three numbers for a GPU', () => {
  const program = emitPairwise(planPairwise(pairwiseProblem({ k: 3 }), H200));
  expect(emittedText(program)).toMatchInlineSnapshot(`
    "__device__ __forceinline__ float accumulate(float sum, float x, float y, float one) {
      return sum + fabsf(fmaf(x, one, -y));
    }
    __device__ __forceinline__ float finish(float s, double p) {
      return s;
    }

    extern "C" __global__ void __launch_bounds__(256)
    pairwise_outer(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ out,
        long long m, long long n, long long k, long long batch, long long lda, long long ldb, long long ldo,
        long long batchStrideA, long long batchStrideB, long long batchStrideOut, double p) {
      __shared__ float rowTile[192], columnTile[768];
      const float* __restrict__ const rows = a;
      const float* __restrict__ const columns = b;
      const long long rowCount = m, columnCount = n;
      const long long rowStride = lda, columnStride = ldb;
      const long long rowBatch = batchStrideA, columnBatch = batchStrideB;
      const float one = k < 0 ? 0.0f : 1.0f;
      const unsigned columnTiles = (unsigned)((columnCount + 255) / 256);
      const unsigned rowTiles = (unsigned)((rowCount + 63) / 64);
      const unsigned layer = blockIdx.x / (columnTiles * rowTiles), index = blockIdx.x % (columnTiles * rowTiles);
      const long long rowStart = (long long)(index / columnTiles) * 64;
      const long long columnStart = (long long)(index % columnTiles) * 256;
      const int rowsHere = (int)min(rowCount - rowStart, 64ll);
      const int columnsHere = (int)min(columnCount - columnStart, 256ll);
      for (int e = threadIdx.x; e < 192; e += 256) {
        const int place = e / 3, step = e % 3;
        const float* const source = rows + layer * rowBatch;
        rowTile[place * 3 + step] = place < rowsHere ? source[(rowStart + place) * rowStride + step] : 0;
      }
      for (int e = threadIdx.x; e < 768; e += 256) {
        const int place = e / 3, step = e % 3;
        const float* const source = columns + layer * columnBatch;
        columnTile[place * 3 + step] = place < columnsHere ? source[(columnStart + place) * columnStride + step] : 0;
      }
      __syncthreads();
      const int column = threadIdx.x % 64 * 4, threadRow = threadIdx.x / 64;
      if (column >= columnsHere) return;
      float y[4][3];
      #pragma unroll
      for (int j = 0; j < 4; ++j)
        #pragma unroll
        for (int c = 0; c < 3; ++c) y[j][c] = columnTile[(column + j) * 3 + c];
      float* line = out + layer * batchStrideOut + (rowStart + threadRow) * ldo + columnStart + column;
      #pragma unroll 4
      for (int row = threadRow; row < rowsHere; row += 4, line += 4 * ldo) {
        float sum[4] = {};
        #pragma unroll
        for (int c = 0; c < 3; ++c) {
          const float x = rowTile[row * 3 + c];
          #pragma unroll
          for (int j = 0; j < 4; ++j) sum[j] = accumulate(sum[j], x, y[j][c], one);
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

it('the text of 1-norms for a CPU', () => {
  const program = emitPairwise(planPairwise(pairwiseProblem(), CPU));
  expect(emittedText(program, 'arguments')).toMatchInlineSnapshot(`
    "struct Args {
      const T *a, *b;
      T* out;
      int64_t m, n, k, batch, lda, ldb, ldo, batch_a, batch_b, batch_out;
      double p;
    };

    extern "C" void mercer_pairwise(const void* args, int64_t begin, int64_t end, void* scratch) {
      const Args& g = *(const Args*)args;
      Uniforms u;
      set_uniforms(u, g.p);
      T* tile = (T*)scratch;
      T* packed_columns = tile + BLOCK_ROWS * BLOCK_COLUMNS;
      T* packed_rows = packed_columns + BLOCK_COLUMNS * BLOCK_DEPTH;
      const int64_t row_blocks = (g.m + BLOCK_ROWS - 1) / BLOCK_ROWS;
      const int64_t column_blocks = (g.n + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
      const int stream = g.m * g.n * g.batch >= 8388608;
      for (int64_t task = begin; task < end; task++) {
        const int64_t block = task / row_blocks, l = block / column_blocks;
        const int64_t r0 = task % row_blocks * BLOCK_ROWS, c0 = block % column_blocks * BLOCK_COLUMNS;
        const int64_t rows = at_most(g.m - r0, BLOCK_ROWS);
        const int64_t columns = at_most(g.n - c0, BLOCK_COLUMNS);
        for (int64_t i = 0; g.k == 0 && i < BLOCK_ROWS * BLOCK_COLUMNS; i++) tile[i] = 0;
        for (int64_t k0 = 0; k0 < g.k; k0 += BLOCK_DEPTH) {
          const int64_t depth = at_most(g.k - k0, BLOCK_DEPTH);
          const T* row_data = g.a + l * g.batch_a + r0 * g.lda + k0;
          const T* column_data = g.b + l * g.batch_b + c0 * g.ldb + k0;
          pack_columns(packed_columns, column_data, g.ldb, columns, depth);
          pack_rows(packed_rows, row_data, g.lda, rows, depth);
          for (int64_t c = 0; c < columns; c += TILE_COLUMNS) {
            for (int64_t r = 0; r < rows; r += TILE_ROWS) {
              micro_kernel(packed_rows + r * ROW_STRIDE, packed_columns + c * BLOCK_DEPTH,
                           tile + r * BLOCK_COLUMNS + c, depth, k0 == 0, u);
            }
          }
        }
        T* out = g.out + l * g.batch_out + r0 * g.ldo + c0;
        store(out, g.ldo, tile, rows, columns, stream, u);
      }
    }
    "
  `);
});
