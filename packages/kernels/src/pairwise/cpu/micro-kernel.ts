import { type CpuExpression, uniformLocals } from '../../emit/cpu-expression.js';
import { lines } from '../../emit/text.js';
import { registerTileText } from '../../pair-tile/cpu/register-tile.js';
import type { CpuPairwisePlan } from './plan.js';

/** How two partial results are combined, as text. */
export interface CpuReduction {
  /** The value to start from. */
  readonly start: string;
  readonly combine: (sum: string, value: string) => string;
}

/** Text of the register tile: `tileRows` x `tileVectors` accumulators for `depth` steps of k. */
export function microKernelText(
  plan: CpuPairwisePlan,
  inner: CpuExpression,
  reduction: CpuReduction,
): string {
  const inOrder = (row: string, column: string): string =>
    plan.swapped ? inner.call(column, row) : inner.call(row, column);
  const tile = registerTileText({
    rows: plan.tileRows,
    vectors: plan.tileVectors,
    at: (i, j) => `tile + ${i} * BLOCK_COLUMNS + ${j} * LANES`,
    start: () => `splat(${reduction.start})`,
    row: (i) => `rows[${i} * ROW_STRIDE + k]`,
    columns: 'columns',
    next: 'columns += TILE_COLUMNS',
    add: (sum, x, y) => reduction.combine(sum, inOrder(x, y)),
    finish: (sums) =>
      lines(
        '  if (!first) {',
        ...sums.map(({ name, place }) => `    ${name} = ${reduction.combine(place, name)};`),
        '  }',
      ),
  });
  return `// one register tile; the first block of k stores its partial results, the others add theirs
static void micro_kernel(const T* rows, const T* columns, T* tile, int64_t depth, int first, const Uniforms& u) {
  (void)u;
${uniformLocals(inner)}${tile}
}`;
}
