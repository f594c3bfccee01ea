import type { CudaHelper } from '../../emit/cuda-math.js';
import { indent, lines } from '../../emit/indent.js';
import { allOutputsText, stateWords } from '../cuda-text.js';
import type { RunningResult } from '../reducers/running-result.js';
import { cudaTileDialect } from './cuda-dialect.js';
import { cudaSpans } from './cuda-spans-text.js';
import { cudaStaging } from './cuda-staging.js';
import { tileText } from './tile-text.js';
import { BLOCK_ROWS, CUDA_SIDE, type CudaWidePlan } from './wide-plan-types.js';

/** `body` for every kept row `g` of a thread. */
export const everyGroup = (groups: number, body: string): string =>
  lines('#pragma unroll', `for (int g = 0; g < ${String(groups)}; ++g) {`, indent(body), '}');

/**
 * A batch entry of a result of one column. The reduced rows are cut into stretches, one for each thread of a row
 * of threads, so that the stretches' results are merged in the order of rows.
 */
export function cudaNarrowText(
  plan: CudaWidePlan,
  running: RunningResult,
  helpers: Set<CudaHelper>,
): string {
  const { groups, rows, splits, ranges } = plan;
  const { block } = running;
  const store =
    splits > 1
      ? stateWords(plan, running).store('total[g]')
      : allOutputsText(plan, running, 'total[g]');
  return lines(
    `State total[${String(groups)}];`,
    everyGroup(groups, 'total[g] = empty();'),
    block &&
      lines(`${block.type} s[${String(groups)}];`, everyGroup(groups, `s[g] = ${block.empty};`)),
    cudaSpans(
      plan,
      CUDA_SIDE * rows,
      lines(stretchText(plan, running, helpers), ranges && handOverText(groups)),
    ),
    !ranges && handOverText(groups),
    'if (tx == 0) {',
    indent(
      everyGroup(
        groups,
        lines(
          `const long long row = blockFirst + ty * ${String(groups)} + g;`,
          'if (row < limit) {',
          indent(store),
          '}',
        ),
      ),
    ),
    '}',
  );
}

/** A thread's stretch of the rows from `spanFrom` to `spanEnd`. */
function stretchText(plan: CudaWidePlan, running: RunningResult, helpers: Set<CudaHelper>): string {
  const { formula, groups, rows } = plan;
  const all = String(rows);
  const clamped = (row: string): string => `(${row} < spanEnd ? ${row} : spanEnd - 1)`;
  const stage = cudaStaging(plan, rows, (at) =>
    clamped(`(spanFrom + ${at} / ${all} * length + q + ${at} % ${all})`),
  );
  const tile = tileText(formula, {
    ...cudaTileDialect(plan, rows, (r) => `row[${r}]`, helpers),
    stagedPragma: '#pragma unroll 2',
    ...(stage === undefined ? {} : { stage }),
  });
  const roots = tile.roots.slice(0, formula.pair + 1 + formula.after);
  const { text, results } = tile.values(roots, 'r', 'g');
  const { block } = running;
  const merge = block && everyGroup(groups, `merge(total[g], s[g]);\ns[g] = ${block.empty};`);
  return lines(
    `const long long least = (spanEnd - spanFrom + ${String(CUDA_SIDE - 1)}) / ${String(CUDA_SIDE)};`,
    `const long long length = (least + ${String(rows - 1)}) / ${all} * ${all};`,
    'const long long from = spanFrom + tx * length;',
    'const long long end = from + length < spanEnd ? from + length : spanEnd;',
    '#pragma unroll 1',
    `for (long long q = 0; q < length; q += ${all}) {`,
    `  long long row[${all}];`,
    '  #pragma unroll',
    `  for (int r = 0; r < ${all}; ++r) row[r] = ${clamped('from + q + r')};`,
    indent(tile.loops('', roots)),
    '  #pragma unroll',
    `  for (int r = 0; r < ${all}; ++r) {`,
    '    if (from + q + r < end) {',
    indent(
      everyGroup(groups, lines(text, running.add('total[g]', 's[g]', [...results, '(I)row[r]']))),
      6,
    ),
    '    }',
    '  }',
    merge && lines(`  if ((q + ${all}) % ${String(BLOCK_ROWS)} == 0) {`, indent(merge, 4), '  }'),
    '}',
    merge,
  );
}

/** Merges the results of a row of threads, in order, into those of the first one. */
function handOverText(groups: number): string {
  const at = `handed[ty * ${String(groups)} + g]`;
  return lines(
    '{',
    `  __shared__ State handed[${String(CUDA_SIDE * groups)}];`,
    '  #pragma unroll 1',
    `  for (int next = 1; next < ${String(CUDA_SIDE)}; ++next) {`,
    '    __syncthreads();',
    '    if (tx == next) {',
    indent(everyGroup(groups, `${at} = total[g];\ntotal[g] = empty();`), 6),
    '    }',
    '    __syncthreads();',
    '    if (tx == 0) {',
    indent(everyGroup(groups, `merge(total[g], ${at});`), 6),
    '    }',
    '  }',
    '}',
  );
}
