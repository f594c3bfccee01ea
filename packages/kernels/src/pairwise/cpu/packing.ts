import { lanesOf } from '../../emit/cpu-vector.js';
import { AT_MOST } from '../../pair-tile/cpu/register-tile.js';
import type { CpuPairwisePlan } from './plan.js';

/**
 * Text of the packing functions. Rows are packed as [row][depth], one after the other; columns as
 * panels of [depth][tile column], so that the vectors of a panel are read in order. What is outside
 * the problem is packed as 0.
 */
export function packingText(plan: CpuPairwisePlan): string {
  const lanes = lanesOf(plan.level, plan.dtype);
  // GCC before 12 lacks the builtin and copies element by element.
  return `${transposeText(plan)}

constexpr int64_t TILE_ROWS = ${plan.tileRows}, TILE_COLUMNS = ${plan.tileVectors * lanes};
constexpr int64_t BLOCK_ROWS = ${plan.blockRows}, BLOCK_COLUMNS = ${plan.blockColumns};
constexpr int64_t BLOCK_DEPTH = ${plan.blockDepth};
// A row takes one cache line more than it needs, so that rows do not share one set of the cache.
constexpr int64_t ROW_STRIDE = BLOCK_DEPTH + ${64 / (plan.dtype === 'float32' ? 4 : 8)};

${AT_MOST}

static void pack_rows(T* to, const T* from, int64_t ld, int64_t rows, int64_t depth) {
${
  rowLayout(plan) === 'row'
    ? `  for (int64_t r = 0; r < rows; r++) {
    for (int64_t k = 0; k < depth; k++) to[r * ROW_STRIDE + k] = from[r * ld + k];
  }`
    : `  transpose(to, ROW_STRIDE, from, ld, depth, rows);`
}
  for (int64_t r = rows; r % TILE_ROWS != 0; r++) {
    for (int64_t k = 0; k < depth; k++) to[r * ROW_STRIDE + k] = 0;
  }
}

static void pack_columns(T* to, const T* from, int64_t ld, int64_t columns, int64_t depth) {
  for (int64_t c = 0; c < columns; c += TILE_COLUMNS, to += TILE_COLUMNS * BLOCK_DEPTH) {
    const int64_t used = at_most(columns - c, TILE_COLUMNS);
${
  columnLayout(plan) === 'row'
    ? `    transpose(to, TILE_COLUMNS, from + c * ld, ld, used, depth);`
    : `    for (int64_t k = 0; k < depth; k++) {
      for (int64_t i = 0; i < used; i++) to[k * TILE_COLUMNS + i] = from[k * ld + c + i];
    }`
}
    for (int64_t k = 0; used < TILE_COLUMNS && k < depth; k++) {
      for (int64_t i = used; i < TILE_COLUMNS; i++) to[k * TILE_COLUMNS + i] = 0;
    }
  }
}`;
}

/** The layout of the operand whose points are rows of the tile. */
export function rowLayout(plan: CpuPairwisePlan): 'row' | 'column' {
  return plan.swapped ? plan.layoutB : plan.layoutA;
}

/** The layout of the operand whose points are columns of the tile. */
export function columnLayout(plan: CpuPairwisePlan): 'row' | 'column' {
  return plan.swapped ? plan.layoutA : plan.layoutB;
}

function transposeText(plan: CpuPairwisePlan): string {
  const edge = plan.dtype === 'float32' ? 4 : 2;
  return `typedef T Q __attribute__((vector_size(16), aligned(${plan.dtype === 'float32' ? '4' : '8'}), may_alias));
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAS_SHUFFLE 1
#endif
#endif

// to[c][r] = from[r][c], in blocks of 16-byte vectors
UNUSED static void transpose(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t rows, int64_t columns) {
  int64_t r = 0;
#if defined(HAS_SHUFFLE)
  for (; r + ${edge} <= rows; r += ${edge}) {
    int64_t c = 0;
    for (; c + ${edge} <= columns; c += ${edge}) {
      const T* f = from + r * from_stride + c;
      T* t = to + c * to_stride + r;
${plan.dtype === 'float32' ? TRANSPOSE_4 : TRANSPOSE_2}
    }
    for (; c < columns; c++) {
      for (int64_t i = 0; i < ${edge}; i++) to[c * to_stride + r + i] = from[(r + i) * from_stride + c];
    }
  }
#endif
  for (; r < rows; r++) {
    for (int64_t c = 0; c < columns; c++) to[c * to_stride + r] = from[r * from_stride + c];
  }
}`;
}

const TRANSPOSE_4 = `      const Q x0 = *(const Q*)f, x1 = *(const Q*)(f + from_stride);
      const Q x2 = *(const Q*)(f + 2 * from_stride), x3 = *(const Q*)(f + 3 * from_stride);
      const Q y0 = __builtin_shufflevector(x0, x1, 0, 4, 1, 5), y1 = __builtin_shufflevector(x2, x3, 0, 4, 1, 5);
      const Q y2 = __builtin_shufflevector(x0, x1, 2, 6, 3, 7), y3 = __builtin_shufflevector(x2, x3, 2, 6, 3, 7);
      *(Q*)t = __builtin_shufflevector(y0, y1, 0, 1, 4, 5);
      *(Q*)(t + to_stride) = __builtin_shufflevector(y0, y1, 2, 3, 6, 7);
      *(Q*)(t + 2 * to_stride) = __builtin_shufflevector(y2, y3, 0, 1, 4, 5);
      *(Q*)(t + 3 * to_stride) = __builtin_shufflevector(y2, y3, 2, 3, 6, 7);`;

const TRANSPOSE_2 = `      const Q x0 = *(const Q*)f, x1 = *(const Q*)(f + from_stride);
      *(Q*)t = __builtin_shufflevector(x0, x1, 0, 2);
      *(Q*)(t + to_stride) = __builtin_shufflevector(x0, x1, 1, 3);`;
