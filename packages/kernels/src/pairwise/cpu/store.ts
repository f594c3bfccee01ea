import { type CpuExpression, uniformLocals } from '../../emit/cpu-expression.js';
import { streamingText } from '../../emit/cpu-vector.js';
import type { CpuPairwisePlan } from './plan.js';

/** Rows of a block on the diagonal that are mirrored together. */
const MIRROR_ROWS = 16;

/** The function `store`: the outer expression of a block's partial results, written to the output. */
export function storeText(plan: CpuPairwisePlan, outer: CpuExpression): string {
  return plan.symmetric === true ? symmetricText(outer) : blockText(plan, outer);
}

function blockText(plan: CpuPairwisePlan, outer: CpuExpression): string {
  const direct = (plan.layoutOut === 'row') !== plan.swapped;
  const value = outer.call('*(const V*)(s + c)');
  return `${streamingText(plan.level, plan.dtype)}

// out = outer(partial results), for the part of the block that exists
static void store(T* out, int64_t ld, T* tile, int64_t rows, int64_t columns, int stream, const Uniforms& u) {
  (void)u;
  (void)stream;
${uniformLocals(outer)}  for (int64_t r = 0; r < rows; r++) {
    T* s = tile + r * BLOCK_COLUMNS;
${
  direct
    ? `    T* o = out + r * ld;
    int64_t c = 0;
    if (stream && (uintptr_t)o % sizeof(V) == 0) {
      for (; c + LANES <= columns; c += LANES) stream_store(o + c, ${value});
    }
    for (; c + LANES <= columns; c += LANES) *(VU*)(o + c) = ${value};
    if (c < columns) {
      const V last = ${value};
      for (int64_t i = 0; c + i < columns; i++) o[c + i] = last[i];
    }
  }
  if (stream) stream_end();`
    : `    for (int64_t c = 0; c < columns; c += LANES) *(V*)(s + c) = ${value};
  }
  transpose(out, ld, tile, BLOCK_COLUMNS, rows, columns);`
}
}`;
}

/**
 * The lower triangle's part of a block, each element to both of its places. The results stay in the
 * scratch tile on their way, so that both places get the same bits.
 */
function symmetricText(outer: CpuExpression): string {
  return `// out = outer(partial results) where row >= column, at both places; the block starts at row r0 and column c0
static void store(T* out, int64_t ld, T* tile, int64_t r0, int64_t c0, int64_t rows, int64_t columns, const Uniforms& u) {
  (void)u;
${uniformLocals(outer)}  for (int64_t r = 0; r < rows; r++) {
    T* s = tile + r * BLOCK_COLUMNS;
    T* o = out + (r0 + r) * ld + c0;
    const int64_t end = at_most(r0 + r - c0 + 1, columns);
    for (int64_t c = 0; c < end; c += LANES) *(V*)(s + c) = ${outer.call('*(const V*)(s + c)')};
    int64_t c = 0;
    for (; c + LANES <= end; c += LANES) *(VU*)(o + c) = *(const V*)(s + c);
    for (; c < end; c++) o[c] = s[c];
  }
  for (int64_t r = 0; r < rows; r += ${MIRROR_ROWS}) {
    const int64_t strip = at_most(rows - r, ${MIRROR_ROWS});
    const int64_t below = at_most(r0 + r - c0, columns), whole = below < 0 ? 0 : below;
    T* s = tile + r * BLOCK_COLUMNS;
    transpose(out + c0 * ld + r0 + r, ld, s, BLOCK_COLUMNS, strip, whole);
    for (int64_t i = 0; i < strip; i++) {
      const int64_t end = at_most(r0 + r + i - c0, columns);
      for (int64_t c = whole; c < end; c++) out[(c0 + c) * ld + r0 + r + i] = s[i * BLOCK_COLUMNS + c];
    }
  }
}`;
}
