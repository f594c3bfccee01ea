import { indent, lines } from '../emit/indent.js';
import { cpuOutputText, cpuRowCounts } from './cpu-text.js';
import type { CpuMapReducePlan } from './plan.js';
import type { RunningResult } from './reducers/running-result.js';

/** The body of the function that merges the parts of each vector of rows in order, a vector a task. */
export function cpuMergeStep(plan: CpuMapReducePlan, running: RunningResult): string {
  const parts = String(plan.splits);
  return lines(
    cpuRowCounts(plan),
    'const int64_t vectors = (kept + LANES - 1) / LANES;',
    'UNUSED const V count = splat((T)reduced);',
    'for (int64_t task = begin; task < end; task++) {',
    '  const int64_t layer = task / vectors, first = task % vectors * LANES;',
    '  State total = empty();',
    `  for (int64_t part = 0; part < ${parts}; part++) {`,
    '    State t;',
    `    const int64_t place = (layer * ${parts} + part) * vectors + first / LANES;`,
    '    __builtin_memcpy(&t, g.workspace + place * sizeof(State), sizeof(State));',
    '    merge(total, t);',
    '  }',
    indent(cpuOutputText(running, 'total', 'first', 'kept')),
    '}',
  );
}
