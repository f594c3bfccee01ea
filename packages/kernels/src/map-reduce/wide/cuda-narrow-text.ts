import type { CudaHelper } from '../../emit/cuda-math.js';
import { indent, lines } from '../../emit/indent.js';
import { outputText, stateWords } from '../cuda-text.js';
import type { Reducer } from '../reducers/reducer.js';
import { cudaTileDialect } from './cuda-dialect.js';
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
  reducer: Reducer,
  helpers: Set<CudaHelper>,
): string {
  const { formula, groups, rows, splits } = plan;
  const all = String(rows);
  const stretch = (at: string): string => `(part * ${String(CUDA_SIDE)} + ${at}) * length`;
  const clamped = (row: string): string => `(${row} < reduced ? ${row} : reduced - 1)`;
  const dialect = cudaTileDialect(plan, rows, (r) => `row[${r}]`, helpers);
  const stage = cudaStaging(plan, rows, (at) =>
    clamped(`(${stretch(`${at} / ${all}`)} + q + ${at} % ${all})`),
  );
  const tile = tileText(formula, {
    ...dialect,
    stagedPragma: '#pragma unroll 2',
    ...(stage === undefined ? {} : { stage }),
  });
  const roots = tile.roots.slice(0, formula.pair + 1 + formula.after);
  const { text, results } = tile.values(roots, 'r', 'g');
  const target = reducer.rounds ? 's[g]' : 'total[g]';
  const mergeRuns = reducer.rounds && everyGroup(groups, 'merge(total[g], s[g]);\ns[g] = empty();');
  const store = splits > 1 ? stateWords(plan, reducer).store('s') : outputText(plan, reducer);
  return lines(
    `State total[${String(groups)}];`,
    reducer.rounds && `State s[${String(groups)}];`,
    everyGroup(groups, lines('total[g] = empty();', reducer.rounds && 's[g] = empty();')),
    `const long long from = ${stretch('tx')};`,
    'const long long end = from + length < reduced ? from + length : reduced;',
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
      everyGroup(groups, lines(text, `add(${target}, ${[...results, '(I)row[r]'].join(', ')});`)),
      6,
    ),
    '    }',
    '  }',
    reducer.rounds &&
      lines(
        `  if ((q + ${all}) % ${String(BLOCK_ROWS)} == 0) {`,
        indent(mergeRuns || '', 4),
        '  }',
      ),
    '}',
    mergeRuns,
    `__shared__ State handed[${String(CUDA_SIDE * groups)}];`,
    '#pragma unroll 1',
    `for (int next = 1; next < ${String(CUDA_SIDE)}; ++next) {`,
    '  __syncthreads();',
    '  if (tx == next) {',
    indent(everyGroup(groups, `handed[ty * ${String(groups)} + g] = total[g];`), 4),
    '  }',
    '  __syncthreads();',
    '  if (tx == 0) {',
    indent(everyGroup(groups, `merge(total[g], handed[ty * ${String(groups)} + g]);`), 4),
    '  }',
    '}',
    'if (tx == 0) {',
    indent(
      everyGroup(
        groups,
        lines(
          `const long long row = blockFirst + ty * ${String(groups)} + g;`,
          'if (row < kept) {',
          '  const State& s = total[g];',
          indent(store),
          '}',
        ),
      ),
    ),
    '}',
  );
}
