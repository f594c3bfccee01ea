import type { CpuGradientPlan } from '../gradient-plan.js';

/**
 * Text of the packing functions: columns by k, so that vectors run over columns in both phases, rows
 * one after the other. Beyond the end the last row or column is repeated: what such pairs contribute
 * is weighted by an upstream gradient of 0, and is finite where the last real pair is.
 */
export function cpuPackingText(plan: CpuGradientPlan): string {
  const element = (x: string, y: string): string => `from[(${x}) * g.row_g + (${y}) * g.column_g]`;
  const masked = (x: string, y: string): string =>
    plan.maskDiagonal ? `(${y} == ${x} + g.diagonal_offset ? 0 : ${element(x, y)})` : element(x, y);
  const value = plan.symmetric
    ? `${masked('r0 + r', 'n0 + c')} + ${masked('n0 + c', 'r0 + r')}`
    : masked('r0 + r', 'n0 + c');
  return `static void pack_columns(T* to, const T* from, int64_t stride, int64_t step, int64_t n0, int64_t columns, int64_t k0, int64_t depth) {
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
  const int64_t end = at_most((columns + LANES * ${plan.tileVectors} - 1) / (LANES * ${plan.tileVectors}) * (LANES * ${plan.tileVectors}), BLOCK_COLUMNS);
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
      to[r * BLOCK_COLUMNS + c] = r < rows && c < columns ? ${value} : 0;
    }
  }
}`;
}
