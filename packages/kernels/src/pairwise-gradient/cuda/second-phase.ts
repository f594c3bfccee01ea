import { cudaLiteral, cudaType } from '../../emit/cuda-literal.js';
import { indent, lines } from '../../emit/indent.js';
import type { CudaGradientPlan } from '../gradient-plan.js';
import { pairLoop } from './first-phase.js';
import { walkText } from './tiles.js';
import type { PlanExpressions } from '../plan-expressions.js';

/** Where k fits one piece, the second walk finds it where the first left it. */
const RELOAD = 'k > STEPS';

/**
 * The second phase for rows. A thread owns `rowsPerThread` rows by tileK / 16 steps of k and runs over
 * the columns of the tile; its part of dA is read, added to and written by nobody else.
 */
export function cudaRowsText(plan: CudaGradientPlan): string {
  const type = cudaType(plan.dtype);
  const rows = String(plan.rowsPerThread);
  const steps = String(plan.tileK / 16);
  const once = String(plan.columnsAtOnce);
  const max = plan.reduce === 'max';
  const pairs = plan.pairs.map((_, v) => `w${v}[c]`);
  const zero = cudaLiteral(0, plan.dtype);
  const term = `term0_of(x[i][j], y[j][c], ${pairs.join(', ')})`;
  const value = max ? `index[c] == (int)k0 + along + 16 * j ? ${term} : ${zero}` : term;
  const compute = `${type} sum[${rows}][${steps}] = {}, x[${rows}][${steps}];
#pragma unroll
for (int i = 0; i < ${rows}; ++i)
  #pragma unroll
  for (int j = 0; j < ${steps}; ++j)
    x[i][j] = along + 16 * j < steps ? rowTile[(along + 16 * j) * ROW_STRIDE + down * ${rows} + i] : ${zero};
#pragma unroll 1
for (int column = 0; column < COLUMNS; column += ${once}) {
  ${type} y[${steps}][${once}];
  #pragma unroll
  for (int j = 0; j < ${steps}; ++j) read${once}(y[j], columnTile + (along + 16 * j) * COLUMN_STRIDE + column);
  #pragma unroll
  for (int i = 0; i < ${rows}; ++i) {
    const int place = (down * ${rows} + i) * COLUMN_STRIDE + column;
${plan.pairs
  .map(
    (_, v) =>
      `    ${type} w${v}[${once}];\n    read${once}(w${v}, pairTile + ${v} * ROWS * COLUMN_STRIDE + place);`,
  )
  .join('\n')}
${max ? `    const int* const index = indexTile + (down * ${rows} + i) * INDEX_STRIDE + column;\n` : ''}    #pragma unroll
    for (int j = 0; j < ${steps}; ++j)
      #pragma unroll
      for (int c = 0; c < ${once}; ++c) sum[i][j] += ${value};
  }
}
#pragma unroll
for (int i = 0; i < ${rows}; ++i)
  #pragma unroll
  for (int j = 0; j < ${steps}; ++j) {
    const long long row = rowStart + down * ${rows} + i, step = k0 + along + 16 * j;
    if (row < m && step < k) {
      ${type}* const to = out + (down * ${rows} + i) * k + step;
      *to = isFirst ? sum[i][j] : *to + sum[i][j];
    }
  }`;
  return lines(
    'const bool isFirst = at == firstTile;',
    walkText(indent(compute), plan.readsSum ? RELOAD : ''),
    '__syncthreads();',
  );
}

/** The second phase for parameters: each thread walks k again for its own pairs. */
export function cudaParametersText(plan: CudaGradientPlan, { sums }: PlanExpressions): string {
  const type = cudaType(plan.dtype);
  const rows = String(plan.rowsPerThread);
  const pairs = plan.pairs.map((_, v) => `w${v}[i][j]`);
  const wanted = sums.flatMap(({ term }, j) => (term === undefined ? [] : [String(j)]));
  const zero = cudaLiteral(0, plan.dtype);
  const add = wanted.map((j) => {
    const term = `term${j}_of(x[i], y[j], ${pairs.join(', ')})`;
    const value = plan.reduce === 'max' ? `best[i][j] == (int)k0 + kk ? ${term} : ${zero}` : term;
    return `part${j}[i] += ${value};`;
  });
  const body = lines(
    ...wanted.map((j) => `${type} part${j}[${rows}] = {};`),
    pairLoop(plan, lines(...add)),
    '#pragma unroll',
    `for (int i = 0; i < ${rows}; ++i) {`,
    `  if (rowStart + down * ${rows} + i < m) {`,
    ...wanted.map((j) => `    total[${j}] += (double)part${j}[i];`),
    '  }',
    '}',
  );
  const own = plan.pairs.map(
    (_, v) =>
      `w${v}[i][j] = pairTile[(${v} * ROWS + down * ${rows} + i) * COLUMN_STRIDE + along * 4 + j];`,
  );
  return lines(
    ...plan.pairs.map((_, v) => `${type} w${v}[${rows}][4];`),
    '#pragma unroll',
    `for (int i = 0; i < ${rows}; ++i)`,
    '  #pragma unroll',
    '  for (int j = 0; j < 4; ++j) {',
    ...own.map((each) => `    ${each}`),
    '  }',
    walkText(indent(body), plan.readsSum ? RELOAD : ''),
    '__syncthreads();',
  );
}

/** The totals of a block, added up in a fixed order. */
export function cudaTotalsText(plan: CudaGradientPlan): string {
  const sums = String(plan.sums.length);
  return `double* const shared = reinterpret_cast<double*>(memory);
const long long blocks = rowTiles * parts, place = part * rowTiles + tile;
#pragma unroll
for (int j = 0; j < ${sums}; ++j) {
  __syncthreads();
  shared[thread] = total[j];
  #pragma unroll 1
  for (int half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) shared[thread] += shared[thread + half];
  }
  if (thread == 0) out[(j * batch + layer) * blocks + place] = shared[0];
}`;
}
