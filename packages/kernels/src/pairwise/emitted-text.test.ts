import { expect, it } from 'vitest';
import { CPU, emittedText } from '../testing/emitted-text.test-support.js';
import { pairwiseProblem } from '../testing/h200.test-support.js';
import { emitPairwise } from './emit.js';
import { planPairwise } from './plan.js';

// The text for a GPU stands in cuda/emit-cuda.test.ts.
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
