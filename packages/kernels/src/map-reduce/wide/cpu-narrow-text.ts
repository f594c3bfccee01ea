import type { CpuHelper } from '../../emit/cpu-math.js';
import { indent, lines } from '../../emit/indent.js';
import type { Reducer } from '../reducers/reducer.js';
import { packedInputs } from './cpu-dialect.js';
import { cpuPairText } from './cpu-pair-text.js';
import { cpuStoreText } from './cpu-store-text.js';
import { BLOCK_ROWS, type CpuWidePlan } from './wide-plan-types.js';

/** A task whose result is one column: values go into the running results at once. */
export function cpuNarrowText(
  plan: CpuWidePlan,
  reducer: Reducer,
  helpers: Set<CpuHelper>,
): string {
  const { formula, rows } = plan;
  const block = String(BLOCK_ROWS);
  const target = reducer.rounds ? 's' : 'total';
  const add = (results: readonly string[]): string =>
    `add(${target}[v], ${[...results, 'number((L)(q + r))'].join(', ')});`;
  return lines(
    `State* const total = (State*)(own + ${String(packedInputs(plan).count)} * GROUPS);`,
    'for (int64_t v = 0; v < GROUPS; v++) total[v] = empty();',
    `for (int64_t start = 0; start < reduced; start += ${block}) {`,
    `  const int64_t stop = reduced - start < ${block} ? reduced : start + ${block};`,
    reducer.rounds &&
      lines('  State s[GROUPS];', '  for (int64_t v = 0; v < GROUPS; v++) s[v] = empty();'),
    `  for (int64_t q = start; q < stop; q += ${String(rows)}) {`,
    indent(cpuPairText(plan, [0, formula.pair + 1 + formula.after], add, helpers), 4),
    '  }',
    reducer.rounds && '  for (int64_t v = 0; v < GROUPS; v++) merge(total[v], s[v]);',
    '}',
    'for (int64_t v = 0; v < GROUPS; v++) {',
    '  UNUSED const State& s = total[v];',
    indent(cpuStoreText(plan, reducer)),
    '}',
  );
}
