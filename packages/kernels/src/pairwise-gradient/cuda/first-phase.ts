import { cudaLiteral, cudaType } from '../../emit/cuda-literal.js';
import { indent, lines } from '../../emit/indent.js';
import type { CudaGradientPlan } from '../gradient-plan.js';
import { walkText } from './tiles.js';
import type { PlanExpressions } from '../plan-expressions.js';

/** The loop over the steps of a piece and the pairs of a thread, each pair's operands as x[i], y[j]. */
export function pairLoop(plan: CudaGradientPlan, body: string): string {
  const type = cudaType(plan.dtype);
  const rows = String(plan.rowsPerThread);
  const unroll = String(Math.min(plan.columnsAtOnce, 2));
  return `#pragma unroll ${unroll}
for (int kk = 0; kk < steps; ++kk) {
  ${type} x[${rows}], y[4];
  read${rows}(x, rowTile + kk * ROW_STRIDE + down * ${rows});
  read4(y, columnTile + kk * COLUMN_STRIDE + along * 4);
  #pragma unroll
  for (int i = 0; i < ${rows}; ++i)
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
${indent(body, 6)}
    }
}`;
}

/** The first phase: `sum` of this thread's pairs and, under 'max', `best`, the first k that attains it. */
export function cudaSumsText(plan: CudaGradientPlan): string {
  const type = cudaType(plan.dtype);
  const shape = `[${plan.rowsPerThread}][4]`;
  if (plan.reduce === 'sum') {
    return lines(
      `${type} sum${shape} = {};`,
      walkText(indent(pairLoop(plan, 'sum[i][j] += inner(x[i], y[j]);'))),
    );
  }
  const body = `const ${type} v = inner(x[i], y[j]);
// NaN counts as the largest and stays
if ((v > sum[i][j] || v != v) && sum[i][j] == sum[i][j]) {
  sum[i][j] = v;
  best[i][j] = (int)k0 + kk;
}`;
  const rows = String(plan.rowsPerThread);
  return lines(
    `${type} sum${shape};`,
    `int best${shape} = {};`,
    '#pragma unroll',
    `for (int i = 0; i < ${rows}; ++i)`,
    `  for (int j = 0; j < 4; ++j) sum[i][j] = k == 0 ? ${cudaLiteral(0, plan.dtype)} : ${cudaLiteral(-Infinity, plan.dtype)};`,
    walkText(indent(pairLoop(plan, body))),
  );
}

/**
 * Turns s and the upstream gradient of the tile's pairs into their values, kept in shared memory or
 * added up. In a loop of its own over shared memory: one copy of the expressions, and the gradient is
 * read in the order in which it lies.
 */
export function cudaPairsText(plan: CudaGradientPlan, { pairs, sums }: PlanExpressions): string {
  const type = cudaType(plan.dtype);
  const rows = String(plan.rowsPerThread);
  const zero = cudaLiteral(0, plan.dtype);
  const element = (x: string, y: string): string => {
    const value = `gradient[${x} * rowStrideG + ${y} * columnStrideG]`;
    return plan.maskDiagonal ? `(${y} == ${x} + diagonalOffset ? ${zero} : ${value})` : value;
  };
  const upstream = plan.symmetric
    ? `${element('row', 'column')} + ${element('column', 'row')}`
    : element('row', 'column');
  const index =
    plan.target === 'rows' && plan.reduce === 'max'
      ? `indexTile[(down * ${rows} + i) * INDEX_STRIDE + along * 4 + j] = best[i][j];`
      : '';
  const stage = plan.readsSum
    ? `#pragma unroll
for (int i = 0; i < ${rows}; ++i)
  #pragma unroll
  for (int j = 0; j < 4; ++j) {
    pairTile[(down * ${rows} + i) * COLUMN_STRIDE + along * 4 + j] = sum[i][j];
    ${index}
  }`
    : '';
  const s = plan.readsSum ? '*cell' : zero;
  return lines(
    stage,
    '__syncthreads();',
    '#pragma unroll 1',
    'for (int e = thread; e < ROWS * COLUMNS; e += 256) {',
    '  const int i = columnStrideG == 1 ? e / COLUMNS : e % ROWS, j = columnStrideG == 1 ? e % COLUMNS : e / ROWS;',
    '  const long long row = rowStart + i, column = columnStart + j;',
    '  const bool inside = row < m && column < n;',
    `  const ${type} upstream = inside ? ${upstream} : ${zero};`,
    (plan.readsSum || pairs.length > 0) &&
      `  ${type}* const cell = pairTile + i * COLUMN_STRIDE + j;`,
    `  const ${type} s = ${s};`,
    ...sums.flatMap(({ value }, j) =>
      value === undefined
        ? []
        : [`  if (inside) total[${j}] += (double)value${j}_of(upstream, s);`],
    ),
    ...pairs.map((_, v) => {
      const place = v === 0 ? '*cell' : `cell[${v} * ROWS * COLUMN_STRIDE]`;
      return `  ${place} = pair${v}_of(upstream, s);`;
    }),
    '}',
    '__syncthreads();',
  );
}
