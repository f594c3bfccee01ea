import { cudaLiteral, cudaType } from '../emit/cuda-literal.js';
import { indent, lines } from '../emit/indent.js';
import type { CudaGradientPlan } from './gradient-plan.js';
import { walkText } from './cuda-tiles.js';
import type { PlanExpressions } from './plan-expressions.js';

/** The loop over the steps of a piece and the pairs of a thread, each pair's operands as x[i], y[j]. */
export function pairLoop(plan: CudaGradientPlan, body: string): string {
  const type = cudaType(plan.dtype);
  const rows = String(plan.rowsPerThread);
  const unroll = String(plan.columnsAtOnce);
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
  const shape = `[${String(plan.rowsPerThread)}][4]`;
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

/** Turns s and the upstream gradient of this thread's pairs into their values, kept or added up. */
export function cudaPairsText(plan: CudaGradientPlan, { pairs, sums }: PlanExpressions): string {
  const type = cudaType(plan.dtype);
  const rows = String(plan.rowsPerThread);
  const target = plan.target === 'rows';
  const element = (x: string, y: string): string => {
    const at = `${x} * rowStrideG + ${y} * columnStrideG`;
    return plan.maskDiagonal
      ? `(${y} == ${x} + diagonalOffset ? ${cudaLiteral(0, plan.dtype)} : gradient[${at}])`
      : `gradient[${at}]`;
  };
  const upstream = plan.symmetric
    ? `${element('row', 'column')} + ${element('column', 'row')}`
    : element('row', 'column');
  const s = plan.readsSum ? 'sum[i][j]' : cudaLiteral(0, plan.dtype);
  const keep = pairs.map((_, v) => {
    const value = `pair${String(v)}_of(upstream, ${s})`;
    return target
      ? `pairTile[(${String(v)} * ROWS + down * ${rows} + i) * COLUMN_STRIDE + along * 4 + j] = ${value};`
      : `w${String(v)}[i][j] = ${value};`;
  });
  const add = sums.flatMap(({ value }, j) =>
    value === undefined
      ? []
      : [`if (inside) total[${String(j)}] += (double)value${String(j)}_of(upstream, ${s});`],
  );
  return lines(
    ...(target ? [] : pairs.map((_, v) => `${type} w${String(v)}[${rows}][4];`)),
    '#pragma unroll',
    `for (int i = 0; i < ${rows}; ++i)`,
    '  #pragma unroll',
    '  for (int j = 0; j < 4; ++j) {',
    `    const long long row = rowStart + down * ${rows} + i, column = columnStart + along * 4 + j;`,
    '    const bool inside = row < m && column < n;',
    `    const ${type} upstream = inside ? ${upstream} : ${cudaLiteral(0, plan.dtype)};`,
    indent(lines(...keep, ...add), 4),
    target && plan.reduce === 'max'
      ? `    indexTile[(down * ${rows} + i) * INDEX_STRIDE + along * 4 + j] = best[i][j];`
      : '',
    '  }',
  );
}
