import { type CpuExpression, uniformLocals, uniformsText } from '../../emit/cpu-expression.js';
import { AT_MOST, registerTileText } from '../../pair-tile/cpu/register-tile.js';
import type { CpuCdistGradPlan } from '../plan-types.js';

/**
 * The functions that work on one block: `pack` (lines of an operand, padded with 0 to the block),
 * `turn` (rows of c, each register tile's values of one k side by side), `fill` (the factors of one
 * line of d) and `multiply` (their products with c, added to the sums).
 */
export function blockText(plan: CpuCdistGradPlan, phi: CpuExpression): string {
  const { tileO, tileVectors, blockO, blockN, blockM, blockK } = plan;
  const usesP = phi.uniforms.length > 0;
  const tile = registerTileText({
    rows: tileO,
    vectors: tileVectors,
    at: (i, j) => `to + ${i} * BLOCK_M + ${j} * LANES`,
    start: (place) => place,
    row: (i) => `rows[${i}]`,
    columns: 'factors',
    next: 'rows += TILE_O, factors += BLOCK_M',
    add: (sum, x, y) => `${sum} + ${x} * ${y}`,
    finish: undefined,
  });
  return `constexpr int64_t BLOCK_O = ${blockO}, BLOCK_N = ${blockN}, BLOCK_M = ${blockM}, BLOCK_K = ${blockK};
constexpr int64_t TILE_O = ${tileO}, TILE_M = ${tileVectors} * LANES;

${AT_MOST}
${usesP ? `\n${uniformsText([phi], ['p'])}\n` : ''}
static void pack(T* to, const T* from, int64_t stride, int64_t lines, int64_t columns) {
  for (int64_t r = 0; r < lines; r++, to += BLOCK_M, from += stride) {
    for (int64_t j = 0; j < columns; j++) to[j] = from[j];
    for (int64_t j = columns; j < BLOCK_M; j++) to[j] = 0;
  }
}

// to[tile][k][row of the tile]; rows that do not exist are 0
static void turn(T* to, const T* from, int64_t stride, int64_t rows, int64_t depth) {
  for (int64_t r0 = 0; r0 < rows; r0 += TILE_O, to += TILE_O * BLOCK_K) {
    for (int64_t r = 0; r < TILE_O; r++) {
      const T* line = from + (r0 + r) * stride;
      for (int64_t k = 0; k < depth; k++) to[k * TILE_O + r] = r0 + r < rows ? line[k] : 0;
    }
  }
}

// a phi(d - b) of one line of d
static void fill(T* to, const T* weights, const T* line, const T* points, int64_t depth${usesP ? ', const Uniforms& u' : ''}) {
${uniformLocals(phi)}  for (int64_t k = 0; k < depth; k++, to += BLOCK_M, weights += BLOCK_M) {
    const V x = splat(points[k]);
    for (int64_t j = 0; j < BLOCK_M; j += LANES) {
      *(V*)(to + j) = *(const V*)(weights + j) * ${phi.call('*(const V*)(line + j) - x')};
    }
  }
}

// one register tile
INLINE void tile(T* to, const T* rows, const T* factors, int64_t depth) {
${tile}
}

static void multiply(T* to, const T* rows, const T* factors, int64_t count, int64_t depth) {
  for (int64_t r = 0; r < count; r += TILE_O, rows += TILE_O * BLOCK_K) {
    for (int64_t j = 0; j < BLOCK_M; j += TILE_M) tile(to + r * BLOCK_M + j, rows, factors + j, depth);
  }
}`;
}
