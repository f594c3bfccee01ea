import { expect, it } from 'vitest';
import { normExpressions } from '../pairwise/norm-expressions.js';
import { CPU, emittedText } from '../testing/emitted-text.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import {
  emitPairwiseGradient,
  planPairwiseGradient,
  type PairwiseGradientProblem,
} from './index.js';

const { inner, outer, reduce } = normExpressions(1);
const problem: PairwiseGradientProblem = {
  inner,
  outer,
  reduce,
  dtype: 'float32',
  m: 100,
  n: 100,
  k: 3,
  batch: 1,
  wrt: 'rows',
};

it('the text of the gradient of 1-norms for a GPU', () => {
  const program = emitPairwiseGradient(planPairwiseGradient(problem, H200));
  expect(emittedText(program, 'kernel')).toMatchInlineSnapshot(`
    "extern "C" __global__ void __launch_bounds__(256, 2)
    pairwise_gradient(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ gradient, float* __restrict__ out,
        long long m, long long n, long long k, long long batch, long long rowStrideA, long long stepStrideA,
        long long rowStrideB, long long stepStrideB, long long rowStrideG, long long columnStrideG, long long batchStrideA,
        long long batchStrideB, long long batchStrideG, long long parts, long long blockRows, double p) {
      extern __shared__ __align__(16) unsigned char memory[];
      const int thread = threadIdx.x, along = thread % 16, down = thread / 16;
      const long long rowTiles = (m + ROWS - 1) / ROWS, columnTiles = (n + COLUMNS - 1) / COLUMNS;
      const long long tile = blockIdx.x % rowTiles, part = blockIdx.x / rowTiles % parts, layer = blockIdx.x / rowTiles / parts;
      const long long tilesPerPart = (columnTiles + parts - 1) / parts;
      const long long firstTile = min(part * tilesPerPart, columnTiles), tileEnd = min(firstTile + tilesPerPart, columnTiles);
      const long long rowStart = tile * ROWS;
      const auto pair0_of = [=](float upstream, float s) -> float {
        return upstream;
      };
      const auto term0_of = [=](float a, float b, float pair0) -> float {
        const float term0_of_0 = a - b;
        const float term0_of_1 = term0_of_0 > 0.0f ? 1.0f : term0_of_0 < 0.0f ? (-1.0f) : term0_of_0;
        const float term0_of_2 = pair0 * term0_of_1;
        return term0_of_2;
      };
      float* const rowTile = reinterpret_cast<float*>(memory);
      float* const columnTile = rowTile + STEPS * ROW_STRIDE;
      float* const pairTile = columnTile + STEPS * COLUMN_STRIDE;
      a += layer * batchStrideA;
      b += layer * batchStrideB;
      gradient += layer * batchStrideG;
      out += ((part * batch + layer) * m + rowStart) * k;
      // a part without columns contributes 0
      if (firstTile == tileEnd) {
        for (long long i = thread; i < min(m - rowStart, (long long)ROWS) * k; i += 256) out[i] = 0;
      }

      #pragma unroll 1
      for (long long at = firstTile; at < tileEnd; ++at) {
        const long long columnStart = at * COLUMNS;
        __syncthreads();
        #pragma unroll 1
        for (int e = thread; e < ROWS * COLUMNS; e += 256) {
          const int i = columnStrideG == 1 ? e / COLUMNS : e % ROWS, j = columnStrideG == 1 ? e % COLUMNS : e / ROWS;
          const long long row = rowStart + i, column = columnStart + j;
          const bool inside = row < m && column < n;
          const float upstream = inside ? gradient[row * rowStrideG + column * columnStrideG] : 0.0f;
          float* const cell = pairTile + i * COLUMN_STRIDE + j;
          const float s = 0.0f;
          *cell = pair0_of(upstream, s);
        }
        __syncthreads();
        const bool isFirst = at == firstTile;
        #pragma unroll 1
        for (long long k0 = 0; k0 < k; k0 += STEPS) {
          const int steps = (int)min(k - k0, (long long)STEPS);
          {
            __syncthreads();
            load_rows(rowTile, a, rowStrideA, stepStrideA, rowStart, m, k0, steps);
            load_columns(columnTile, b, rowStrideB, stepStrideB, columnStart, n, k0, steps);
            __syncthreads();
          }
          float sum[4][2] = {}, x[4][2];
          #pragma unroll
          for (int i = 0; i < 4; ++i)
            #pragma unroll
            for (int j = 0; j < 2; ++j)
              x[i][j] = along + 16 * j < steps ? rowTile[(along + 16 * j) * ROW_STRIDE + down * 4 + i] : 0.0f;
          #pragma unroll 1
          for (int column = 0; column < COLUMNS; column += 4) {
            float y[2][4];
            #pragma unroll
            for (int j = 0; j < 2; ++j) read4(y[j], columnTile + (along + 16 * j) * COLUMN_STRIDE + column);
            #pragma unroll
            for (int i = 0; i < 4; ++i) {
              const int place = (down * 4 + i) * COLUMN_STRIDE + column;
              float w0[4];
              read4(w0, pairTile + 0 * ROWS * COLUMN_STRIDE + place);
              #pragma unroll
              for (int j = 0; j < 2; ++j)
                #pragma unroll
                for (int c = 0; c < 4; ++c) sum[i][j] += term0_of(x[i][j], y[j][c], w0[c]);
            }
          }
          #pragma unroll
          for (int i = 0; i < 4; ++i)
            #pragma unroll
            for (int j = 0; j < 2; ++j) {
              const long long row = rowStart + down * 4 + i, step = k0 + along + 16 * j;
              if (row < m && step < k) {
                float* const to = out + (down * 4 + i) * k + step;
                *to = isFirst ? sum[i][j] : *to + sum[i][j];
              }
            }
        }
        __syncthreads();
      }

    }
    "
  `);
});

it('the text of the gradient of 1-norms for a CPU', () => {
  const program = emitPairwiseGradient(planPairwiseGradient(problem, CPU));
  expect(emittedText(program, 'arguments')).toMatchInlineSnapshot(`
    "struct Args {
      const T *a, *b, *gradient;
      T* out;
      int64_t m, n, k, batch, row_a, step_a, row_b, step_b, row_g, column_g, batch_a, batch_b, batch_g;
      int64_t parts, block_rows;
      double p;
    };

    static void pack_columns(T* to, const T* from, int64_t stride, int64_t step, int64_t n0, int64_t columns, int64_t k0, int64_t depth) {
      from += n0 * stride + k0 * step;
      if (stride == 1) {
        for (int64_t k = 0; k < depth; k++) {
          for (int64_t i = 0; i < columns; i++) to[k * BLOCK_COLUMNS + i] = from[k * step + i];
        }
      } else {
        for (int64_t c = 0; c < columns; c += 8) {
          const int64_t stop = at_most(c + 8, columns);
          for (int64_t k = 0; k < depth; k++) {
            for (int64_t i = c; i < stop; i++) to[k * BLOCK_COLUMNS + i] = from[i * stride + k * step];
          }
        }
      }
      const int64_t end = at_most((columns + LANES * 2 - 1) / (LANES * 2) * (LANES * 2), BLOCK_COLUMNS);
      for (int64_t k = 0; columns < end && k < depth; k++) {
        T* line = to + k * BLOCK_COLUMNS;
        for (int64_t i = columns; i < end; i++) line[i] = line[columns - 1];
      }
    }

    static void pack_rows(T* to, const T* from, int64_t stride, int64_t step, int64_t r0, int64_t rows, int64_t k0, int64_t depth) {
      for (int64_t r = 0; r < rows || r % TILE_ROWS != 0; r++) {
        const int64_t at = r < rows ? r : rows - 1;
        for (int64_t k = 0; k < depth; k++) to[r * ROW_STRIDE + k] = from[(r0 + at) * stride + (k0 + k) * step];
      }
    }

    // the upstream gradient of the tile; 0 outside
    static void pack_gradient(T* to, const Args& g, int64_t l, int64_t r0, int64_t rows, int64_t n0, int64_t columns) {
      const T* from = g.gradient + l * g.batch_g;
      for (int64_t r = 0; r < rows || r % TILE_ROWS != 0; r++) {
        for (int64_t c = 0; c < columns || c % LANES != 0; c++) {
          to[r * BLOCK_COLUMNS + c] = r < rows && c < columns ? from[(r0 + r) * g.row_g + (n0 + c) * g.column_g] : 0;
        }
      }
    }



    static void pairs(T* tiles, int64_t rows, int64_t columns, UNUSED const Uniforms& u) {
      for (int64_t r = 0; r < rows || r % TILE_ROWS != 0; r++) {
        for (int64_t c = 0; c < columns; c += LANES) {
          T* at = tiles + r * BLOCK_COLUMNS + c;
          UNUSED const V s = *(const V*)at, g = *(const V*)(at + TILE);
          const V w0 = pair_0(g, s);
          *(V*)(at + 0 * TILE) = w0;
        }
      }
    }

    INLINE T across(V x) {
      T t[LANES];
      *(VU*)t = x;
      for (int64_t half = LANES / 2; half > 0; half /= 2) {
        for (int64_t i = 0; i < half; i++) t[i] += t[i + half];
      }
      return t[0];
    }

    static void add_rows(const T* rows_packed, const T* columns_packed, const T* tiles, T* out, int64_t ld, UNUSED int64_t k0,
                         int64_t depth, int64_t rows, int64_t columns, UNUSED const Uniforms& u) {
      for (int64_t r = 0; r < rows; r += TILE_ROWS) {
        const T* rows_at = rows_packed + r * ROW_STRIDE;
        for (int64_t k = 0; k < depth; k += 2) {
          const T* line = columns_packed + k * BLOCK_COLUMNS;
          // a step past the end repeats the last one
          const auto at_step = [=](int64_t j) { return k + j < depth ? j : 0; };
          V d0_0 = splat(0), d0_1 = splat(0), d1_0 = splat(0), d1_1 = splat(0), d2_0 = splat(0), d2_1 = splat(0), d3_0 = splat(0), d3_1 = splat(0);
          const V x0_0 = splat(rows_at[0 * ROW_STRIDE + k + at_step(0)]), x0_1 = splat(rows_at[0 * ROW_STRIDE + k + at_step(1)]), x1_0 = splat(rows_at[1 * ROW_STRIDE + k + at_step(0)]), x1_1 = splat(rows_at[1 * ROW_STRIDE + k + at_step(1)]), x2_0 = splat(rows_at[2 * ROW_STRIDE + k + at_step(0)]), x2_1 = splat(rows_at[2 * ROW_STRIDE + k + at_step(1)]), x3_0 = splat(rows_at[3 * ROW_STRIDE + k + at_step(0)]), x3_1 = splat(rows_at[3 * ROW_STRIDE + k + at_step(1)]);
          for (int64_t c = 0; c < columns; c += LANES) {
            const T* at = tiles + r * BLOCK_COLUMNS + c;
            const V y0 = *(const V*)(line + at_step(0) * BLOCK_COLUMNS + c), y1 = *(const V*)(line + at_step(1) * BLOCK_COLUMNS + c);
            {
              UNUSED const V w0_0 = *(const V*)(at + 0 * BLOCK_COLUMNS + 0 * TILE);
              d0_0 += term_0(x0_0, y0, w0_0);
              d0_1 += term_0(x0_1, y1, w0_0);
            }
            {
              UNUSED const V w1_0 = *(const V*)(at + 1 * BLOCK_COLUMNS + 0 * TILE);
              d1_0 += term_0(x1_0, y0, w1_0);
              d1_1 += term_0(x1_1, y1, w1_0);
            }
            {
              UNUSED const V w2_0 = *(const V*)(at + 2 * BLOCK_COLUMNS + 0 * TILE);
              d2_0 += term_0(x2_0, y0, w2_0);
              d2_1 += term_0(x2_1, y1, w2_0);
            }
            {
              UNUSED const V w3_0 = *(const V*)(at + 3 * BLOCK_COLUMNS + 0 * TILE);
              d3_0 += term_0(x3_0, y0, w3_0);
              d3_1 += term_0(x3_1, y1, w3_0);
            }
          }
          if (r + 0 < rows && k + 0 < depth) out[(r + 0) * ld + k + 0] += across(d0_0);
          if (r + 0 < rows && k + 1 < depth) out[(r + 0) * ld + k + 1] += across(d0_1);
          if (r + 1 < rows && k + 0 < depth) out[(r + 1) * ld + k + 0] += across(d1_0);
          if (r + 1 < rows && k + 1 < depth) out[(r + 1) * ld + k + 1] += across(d1_1);
          if (r + 2 < rows && k + 0 < depth) out[(r + 2) * ld + k + 0] += across(d2_0);
          if (r + 2 < rows && k + 1 < depth) out[(r + 2) * ld + k + 1] += across(d2_1);
          if (r + 3 < rows && k + 0 < depth) out[(r + 3) * ld + k + 0] += across(d3_0);
          if (r + 3 < rows && k + 1 < depth) out[(r + 3) * ld + k + 1] += across(d3_1);
        }
      }
    }

    extern "C" void mercer_pairwise_gradient(const void* args, int64_t begin, int64_t end, void* scratch) {
      const Args& g = *(const Args*)args;
      T* tiles = (T*)scratch;
      T* packed_columns = tiles + 2 * TILE;
      T* packed_rows = packed_columns + BLOCK_COLUMNS * BLOCK_DEPTH;
      const int64_t row_blocks = (g.m + g.block_rows - 1) / g.block_rows;
      const int64_t column_blocks = (g.n + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
      const int64_t per_part = (column_blocks + g.parts - 1) / g.parts;
      for (int64_t task = begin; task < end; task++) {
        const int64_t r0 = task % row_blocks * g.block_rows, rows = at_most(g.m - r0, g.block_rows);
        const int64_t part = task / row_blocks % g.parts, l = task / row_blocks / g.parts;
        const int64_t first = at_most(part * per_part, column_blocks), last = at_most(first + per_part, column_blocks);
        Uniforms u;
        set_uniforms(u, g.p);
        T* out = g.out + ((part * g.batch + l) * g.m + r0) * g.k;
        for (int64_t i = 0; i < rows * g.k; i++) out[i] = 0;
        for (int64_t block = first; block < last; block++) {
          const int64_t n0 = block * BLOCK_COLUMNS, columns = at_most(g.n - n0, BLOCK_COLUMNS);
          pack_gradient(tiles + TILE, g, l, r0, rows, n0, columns);
          pairs(tiles, rows, columns, u);
          for (int64_t k0 = 0; k0 < g.k; k0 += BLOCK_DEPTH) {
            const int64_t depth = at_most(g.k - k0, BLOCK_DEPTH);
            pack_columns(packed_columns, g.b + l * g.batch_b, g.row_b, g.step_b, n0, columns, k0, depth);
            pack_rows(packed_rows, g.a + l * g.batch_a, g.row_a, g.step_a, r0, rows, k0, depth);
            add_rows(packed_rows, packed_columns, tiles, out + k0, g.k, k0, depth, rows, columns, u);
          }
        }
      }
    }
    "
  `);
});
