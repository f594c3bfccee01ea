import { uniformLocals } from './first-phase.js';
import type { CpuGradientFunctions } from './functions.js';
import { CPU_TILE_ROWS } from './sizes.js';
import type { CpuGradientPlan } from '../gradient-plan.js';

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** The sum of a vector's lanes, always in the same order. */
const ACROSS = `INLINE T across(V x) {
  T t[LANES];
  *(VU*)t = x;
  for (int64_t half = LANES / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; i++) t[i] += t[i + half];
  }
  return t[0];
}`;

/** The pair values of row i, as declarations. */
function pairValues(plan: CpuGradientPlan, i: number): string {
  const values = plan.pairs.map(
    (_, v) => `w${i}_${v} = *(const V*)(at + ${i} * BLOCK_COLUMNS + ${v} * TILE)`,
  );
  const index =
    plan.reduce === 'max'
      ? `\n          const I at${i} = *(const I*)(at + ${i} * BLOCK_COLUMNS + ${Math.max(2, plan.pairs.length)} * TILE);`
      : '';
  return `          UNUSED const V ${values.join(', ')};${index}`;
}

/** A term, which under 'max' counts only at its index. */
function termText(
  plan: CpuGradientPlan,
  term: CpuGradientFunctions['terms'][number],
  [x, y, i, k]: readonly [string, string, number, string],
): string {
  const pairs = plan.pairs.map((_, v) => `w${i}_${v}`);
  const value = term?.call(x, y, ...pairs) ?? '';
  return plan.reduce === 'max' ? `(at${i} == ${k} ? ${value} : splat(0))` : value;
}

/** Text of the second phase for rows: sums over the tile's columns, added to the rows of dA. */
export function cpuRowsText(plan: CpuGradientPlan, { terms }: CpuGradientFunctions): string {
  const [term] = terms;
  const rows = range(CPU_TILE_ROWS);
  const steps = range(plan.tileSteps);
  const cells = rows.flatMap((i) => steps.map((j) => ({ i, j, id: `${i}_${j}` })));
  const lines = steps.map((j) => `y${j} = *(const V*)(line + at_step(${j}) * BLOCK_COLUMNS + c)`);
  const steep = rows.map((i) =>
    [
      pairValues(plan, i),
      ...steps.map(
        (j) =>
          `          d${i}_${j} += ${termText(plan, term, [`x${i}_${j}`, `y${j}`, i, `index${j}`])};`,
      ),
    ].join('\n'),
  );
  const index =
    plan.reduce === 'max'
      ? `        const I ${steps.map((j) => `index${j} = (I){} + (index_t)(k0 + k + ${j})`).join(', ')};\n`
      : '';
  return `${ACROSS}

static void add_rows(const T* rows_packed, const T* columns_packed, const T* tiles, T* out, int64_t ld, UNUSED int64_t k0,
                     int64_t depth, int64_t rows, int64_t columns, UNUSED const Uniforms& u) {
${uniformLocals([term])}  for (int64_t r = 0; r < rows; r += TILE_ROWS) {
    const T* rows_at = rows_packed + r * ROW_STRIDE;
    for (int64_t k = 0; k < depth; k += ${plan.tileSteps}) {
      const T* line = columns_packed + k * BLOCK_COLUMNS;
      // a step past the end repeats the last one
      const auto at_step = [=](int64_t j) { return k + j < depth ? j : 0; };
      V ${cells.map(({ id }) => `d${id} = splat(0)`).join(', ')};
      const V ${cells.map(({ i, j, id }) => `x${id} = splat(rows_at[${i} * ROW_STRIDE + k + at_step(${j})])`).join(', ')};
${index}      for (int64_t c = 0; c < columns; c += LANES) {
        const T* at = tiles + r * BLOCK_COLUMNS + c;
        const V ${lines.join(', ')};
        {
${steep.join('\n        }\n        {\n')}
        }
      }
${cells.map(({ i, j, id }) => `      if (r + ${i} < rows && k + ${j} < depth) out[(r + ${i}) * ld + k + ${j}] += across(d${id});`).join('\n')}
    }
  }
}`;
}

/** Text of the second phase for parameters: each sum over all pairs of the tile and all k. */
export function cpuParametersText(plan: CpuGradientPlan, { terms }: CpuGradientFunctions): string {
  const rows = range(CPU_TILE_ROWS);
  const wanted = terms.flatMap((term, j) => (term === undefined ? [] : [{ term, j }]));
  const cells = rows.flatMap((i) => wanted.map(({ term, j }) => ({ i, j, term, id: `${i}_${j}` })));
  const index =
    plan.reduce === 'max' ? '\n          const I index = (I){} + (index_t)(k0 + k);' : '';
  return `static void add_parameters(const T* rows_packed, const T* columns_packed, const T* tiles, double* total, UNUSED int64_t k0,
                           int64_t depth, int64_t rows, int64_t columns, UNUSED const Uniforms& u) {
${uniformLocals(terms)}  for (int64_t r = 0; r < rows; r += TILE_ROWS) {
    const T* rows_at = rows_packed + r * ROW_STRIDE;
    for (int64_t c = 0; c < columns; c += LANES) {
      const T* at = tiles + r * BLOCK_COLUMNS + c;
      const T* line = columns_packed + c;
${rows.map((i) => pairValues(plan, i)).join('\n')}
      V ${cells.map(({ id }) => `d${id} = splat(0)`).join(', ')};
      for (int64_t k = 0; k < depth; k++, line += BLOCK_COLUMNS) {
        const V y = *(const V*)line;${index}
${cells
  .map(
    ({ i, id, term }) =>
      `        d${id} += ${termText(plan, term, [`splat(rows_at[${i} * ROW_STRIDE + k])`, 'y', i, 'index'])};`,
  )
  .join('\n')}
      }
      for (int64_t i = 0; i < LANES && c + i < columns; i++) {
${cells.map(({ i, j, id }) => `        total[${j}] += r + ${i} < rows ? (double)d${id}[i] : 0.0;`).join('\n')}
      }
    }
  }
}`;
}
