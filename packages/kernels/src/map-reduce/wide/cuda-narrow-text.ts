import { dtypeBytes } from '../../dtype.js';
import type { CudaHelper } from '../../emit/cuda-math.js';
import { indent, lines } from '../../emit/indent.js';
import { allOutputsText, stateWords } from '../cuda-text.js';
import type { RunningResult } from '../reducers/running-result.js';
import { wordsOf } from '../reducers/state-words.js';
import { handsOverHalf } from './choose-wide-cuda.js';
import { cudaTileDialect } from './cuda-dialect.js';
import { cudaSpans } from './cuda-spans-text.js';
import { cudaStaging } from './cuda-staging.js';
import { rowBound, type RowBound } from './cuda-row-bound.js';
import { everyGroup } from './every-group.js';
import { tileText, type TileText } from './tile-text.js';
import { BLOCK_ROWS, CUDA_SIDE, type CudaWidePlan } from './wide-plan-types.js';

type Ending = ReturnType<TileText['values']>;

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
  const bound = rowBound(plan);
  const store =
    splits > 1
      ? stateWords(plan, running).store('total[g]')
      : allOutputsText(plan, running, 'total[g]');
  return lines(
    `State total[${String(groups)}];`,
    everyGroup(groups, 'total[g] = empty();'),
    bound?.declare,
    block &&
      lines(`${block.type} s[${String(groups)}];`, everyGroup(groups, `s[g] = ${block.empty};`)),
    cudaSpans(
      plan,
      CUDA_SIDE * rows,
      lines(stretchText(plan, running, helpers), ranges && handOverText(plan, running)),
    ),
    !ranges && handOverText(plan, running),
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
  const stage = cudaStaging(plan, rows, (thread, r) =>
    clamped(`(spanFrom + ${thread} * length + q + ${r})`),
  );
  const tile = tileText(formula, {
    ...cudaTileDialect(plan, rows, (r) => `row[${r}]`, helpers),
    ...{ stagedPragma: '#pragma unroll 4', wholePragma: '#pragma unroll' },
    ...(stage === undefined ? {} : { stage }),
  });
  const roots = tile.roots.slice(0, formula.pair + 1 + formula.after);
  const loops = tile.loops('', roots);
  // the rows' numbers are not kept in registers while the loops run
  const ending = tileText(
    formula,
    cudaTileDialect(plan, rows, () => 'number', helpers),
  ).values(roots, 'r', 'g');
  const { block } = running;
  const bound = rowBound(plan);
  const merge = block && everyGroup(groups, `merge(total[g], s[g]);\ns[g] = ${block.empty};`);
  return lines(
    `const long long least = (spanEnd - spanFrom + ${String(CUDA_SIDE - 1)}) / ${String(CUDA_SIDE)};`,
    `const long long length = (least + ${String(rows - 1)}) / ${all} * ${all};`,
    'const long long from = spanFrom + tx * length;',
    'const long long end = from + length < spanEnd ? from + length : spanEnd;',
    '#pragma unroll 1',
    `for (long long q = 0; q < length; q += ${all}) {`,
    loops.includes('row[') &&
      lines(
        `  long long row[${all}];`,
        '  #pragma unroll',
        `  for (int r = 0; r < ${all}; ++r) row[r] = ${clamped('from + q + r')};`,
      ),
    indent(loops),
    indent(
      bound === undefined
        ? addText(plan, running, ending)
        : enterText(plan, running, ending, bound),
    ),
    bound && indent(bound.update),
    merge && lines(`  if ((q + ${all}) % ${String(BLOCK_ROWS)} == 0) {`, indent(merge, 4), '  }'),
    '}',
    merge,
  );
}

/** Adds the pairs of a thread's tile. */
function addText(
  { groups, rows }: CudaWidePlan,
  running: RunningResult,
  { text, results }: Ending,
): string {
  return lines(
    '#pragma unroll',
    `for (int r = 0; r < ${String(rows)}; ++r) {`,
    '  const long long number = from + q + r;',
    '  if (number < end) {',
    indent(
      everyGroup(groups, lines(text, running.add('total[g]', 's[g]', [...results, '(I)number']))),
      4,
    ),
    '  }',
    '}',
  );
}

/** Adds those pairs that may be among the K best: few, so that one loop does it for all. */
function enterText(
  { groups, rows }: CudaWidePlan,
  running: RunningResult,
  { text, results }: Ending,
  bound: RowBound,
): string {
  const [all, count] = [String(groups), String(rows)];
  const value = results[0] ?? '';
  return lines(
    'unsigned long long entering = 0;',
    `V entered[${count}][${all}];`,
    '#pragma unroll',
    `for (int r = 0; r < ${count}; ++r) {`,
    '  const long long number = from + q + r;',
    '  if (number < end) {',
    indent(
      everyGroup(
        groups,
        lines(
          text,
          `entered[r][g] = ${value};`,
          `entering |= (unsigned long long)(${bound.mayEnter(value)}) << (r * ${all} + g);`,
        ),
      ),
      4,
    ),
    '  }',
    '}',
    'while (entering != 0) {',
    '  const int pair = __ffsll((long long)entering) - 1;',
    `  const int r = pair / ${all}, g = pair % ${all};`,
    '  entering &= entering - 1;',
    `  ${running.add('total[g]', 's[g]', ['entered[r][g]', '(I)(from + q + r)'])}`,
    '}',
  );
}

/** Merges the results of a row of threads, in order, into those of the first one. */
function handOverText(plan: CudaWidePlan, { slots }: RunningResult): string {
  const { groups, dtype } = plan;
  const writers = CUDA_SIDE / 2;
  if (handsOverHalf(wordsOf(slots, dtype), dtypeBytes(dtype))) {
    // pairs of neighbours, then pairs of pairs
    return lines(
      '{',
      `  __shared__ State handed[${String(CUDA_SIDE)}][${String(writers)}];`,
      '  #pragma unroll 1',
      `  for (int far = 1; far < ${String(CUDA_SIDE)}; far *= 2) {`,
      indent(
        everyGroup(
          groups,
          lines(
            '__syncthreads();',
            'if (tx % (2 * far) == far) handed[ty][tx / (2 * far)] = total[g];',
            '__syncthreads();',
            'if (tx % (2 * far) == 0) merge(total[g], handed[ty][tx / (2 * far)]);',
            'else total[g] = empty();',
          ),
        ),
        4,
      ),
      '  }',
      '}',
    );
  }
  return lines(
    '{',
    `  __shared__ State handed[${String(CUDA_SIDE)}];`,
    indent(
      everyGroup(
        groups,
        lines(
          '#pragma unroll 1',
          `for (int next = 1; next < ${String(CUDA_SIDE)}; ++next) {`,
          '  __syncthreads();',
          '  if (tx == next) {',
          '    handed[ty] = total[g];',
          '    total[g] = empty();',
          '  }',
          '  __syncthreads();',
          '  if (tx == 0) merge(total[g], handed[ty]);',
          '}',
        ),
      ),
    ),
    '}',
  );
}
