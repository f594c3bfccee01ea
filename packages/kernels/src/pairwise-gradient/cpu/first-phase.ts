import type { CpuExpression } from '../../emit/cpu-expression.js';
import { cpuLiteral } from '../../emit/cpu-literal.js';
import type { CpuGradientFunctions } from './functions.js';
import type { CpuGradientPlan } from '../gradient-plan.js';
import { CPU_TILE_ROWS } from './sizes.js';

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** Local copies of the uniform values that functions take. */
export function uniformLocals(functions: readonly (CpuExpression | undefined)[]): string {
  return functions
    .flatMap((each) => each?.uniforms ?? [])
    .map(({ name }) => `  const V ${name} = u.${name}, ${name}_low = u.${name}_low;\n`)
    .join('');
}

/**
 * Text of the first phase: `reduce_k inner` of all pairs of the tile, in register tiles. Under 'max' a
 * second tile keeps the first k that attains the maximum, as an integer of the width of a value; NaN
 * counts as the largest.
 */
export function cpuSumsText(plan: CpuGradientPlan, inner: CpuExpression): string {
  const max = plan.reduce === 'max';
  const cells = range(CPU_TILE_ROWS).flatMap((i) =>
    range(plan.tileVectors).map((j) => ({ i, j, id: `${i}_${j}` })),
  );
  const at = (tile: string, i: number, j: number): string =>
    `(tiles + ${tile}(r + ${i}) * BLOCK_COLUMNS + c + ${j} * LANES)`;
  const lowest = cpuLiteral(-Infinity, plan.dtype);
  const index = `${Math.max(2, plan.pairs.length)} * TILE + `;
  const start = cells.map(({ i, j, id }) =>
    max
      ? `      V s${id} = k0 == 0 ? splat(${lowest}) : *(V*)${at('', i, j)};
      I at${id} = k0 == 0 ? (I){} : *(I*)${at(index, i, j)};`
      : `      V s${id} = k0 == 0 ? splat(0) : *(V*)${at('', i, j)};`,
  );
  const step = cells.map(({ i, j, id }) => {
    const value = inner.call(`splat(rows_at[${i} * ROW_STRIDE + k])`, `y${j}`);
    return max
      ? `        { const V x = ${value}; const I more = ((x > s${id}) | (x != x)) & (s${id} == s${id}); s${id} = more ? x : s${id}; at${id} = more ? (I){} + (index_t)(k0 + k) : at${id}; }`
      : `        s${id} += ${value};`;
  });
  const end = cells.map(
    ({ i, j, id }) =>
      `      *(V*)${at('', i, j)} = s${id};${max ? ` *(I*)${at(index, i, j)} = at${id};` : ''}`,
  );
  const columns = range(plan.tileVectors).map((j) => `y${j} = *(const V*)(line + ${j} * LANES)`);
  return `static void sums(const T* rows_packed, const T* columns_packed, T* tiles, int64_t k0, int64_t depth,
                 int64_t rows, int64_t columns, UNUSED const Uniforms& u) {
${uniformLocals([inner])}  for (int64_t c = 0; c < columns; c += ${plan.tileVectors} * LANES) {
    for (int64_t r = 0; r < rows; r += TILE_ROWS) {
      const T* rows_at = rows_packed + r * ROW_STRIDE;
      const T* line = columns_packed + c;
${start.join('\n')}
      for (int64_t k = 0; k < depth; k++, line += BLOCK_COLUMNS) {
        const V ${columns.join(', ')};
${step.join('\n')}
      }
${end.join('\n')}
    }
  }
}
static void empty_sums(T* tiles) {
  for (int64_t i = 0; i < TILE; i++) tiles[i] = 0;
}`;
}

/** Text that turns s and the upstream gradient of each pair into its values. */
export function cpuPairsText(
  plan: CpuGradientPlan,
  { pairs, values }: CpuGradientFunctions,
): string {
  const compute = pairs.map((each, i) => `      const V w${i} = ${each.call('g', 's')};`);
  const total = values.flatMap((each, j) =>
    each === undefined
      ? []
      : [
          `      { const V x = ${each.call('g', 's')}; for (int i = 0; i < LANES && c + i < columns; i++) total[${j}] += r < rows ? (double)x[i] : 0.0; }`,
        ],
  );
  const keep = pairs.map((_, i) => `      *(V*)(at + ${i} * TILE) = w${i};`);
  const parameter = plan.target === 'rows' ? '' : 'UNUSED double* total, ';
  return `static void pairs(T* tiles, ${parameter}int64_t rows, int64_t columns, UNUSED const Uniforms& u) {
${uniformLocals([...pairs, ...values])}  for (int64_t r = 0; r < rows || r % TILE_ROWS != 0; r++) {
    for (int64_t c = 0; c < columns; c += LANES) {
      T* at = tiles + r * BLOCK_COLUMNS + c;
      UNUSED const V s = *(const V*)at, g = *(const V*)(at + TILE);
${[...compute, ...total, ...keep].join('\n')}
    }
  }
}`;
}
