import type { CpuExpression } from '../../emit/cpu-expression.js';
import type { CpuPairwisePlan } from './plan.js';

/** How two partial results are combined, as text. */
export interface CpuReduction {
  /** The value to start from. */
  readonly start: string;
  readonly combine: (sum: string, value: string) => string;
}

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/**
 * Text of the register tile: `tileRows` x `tileVectors` accumulators that stay in registers for
 * `depth` steps of k. Written out, because compilers keep arrays of vectors in memory.
 */
export function microKernelText(
  plan: CpuPairwisePlan,
  inner: CpuExpression,
  reduction: CpuReduction,
): string {
  const rows = range(plan.tileRows);
  const vectors = range(plan.tileVectors);
  const sums = rows.flatMap((i) => vectors.map((j) => ({ name: `s${i}_${j}`, i, j })));
  const inOrder = (row: string, column: string): string =>
    plan.swapped ? inner.call(column, row) : inner.call(row, column);
  const at = (i: number, j: number): string => `(V*)(tile + ${i} * BLOCK_COLUMNS + ${j} * LANES)`;
  return `// one register tile; the first block of k stores its partial results, the others add theirs
static void micro_kernel(const T* rows, const T* columns, T* tile, int64_t depth, int first, const Uniforms& u) {
  (void)u;
${uniformLocals(inner)}  V ${sums.map(({ name }) => `${name} = splat(${reduction.start})`).join(', ')};
  for (int64_t k = 0; k < depth; k++, columns += TILE_COLUMNS) {
    const V ${vectors.map((j) => `y${j} = *(const V*)(columns + ${j} * LANES)`).join(', ')};
    V x;
${rows
  .map((i) =>
    [
      `    x = splat(rows[${i} * ROW_STRIDE + k]);`,
      ...vectors.map(
        (j) => `    s${i}_${j} = ${reduction.combine(`s${i}_${j}`, inOrder('x', `y${j}`))};`,
      ),
    ].join('\n'),
  )
  .join('\n')}
  }
  if (!first) {
${sums.map(({ name, i, j }) => `    ${name} = ${reduction.combine(`*${at(i, j)}`, name)};`).join('\n')}
  }
${sums.map(({ name, i, j }) => `  *${at(i, j)} = ${name};`).join('\n')}
}`;
}

/** Local copies of the launch scalars that an expression's function takes. */
export function uniformLocals(expression: CpuExpression): string {
  return expression.uniforms
    .map(({ name }) => `  const V ${name} = u.${name}, ${name}_low = u.${name}_low;\n`)
    .join('');
}
