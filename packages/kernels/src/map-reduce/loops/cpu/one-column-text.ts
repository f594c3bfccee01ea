import type { Steps } from '@mercer/formula/plan';
import type { CpuHelper } from '../../../emit/cpu-math.js';
import { indent, lines } from '../../../emit/text.js';
import { cpuOutputText, storeParts } from '../../cpu/text.js';
import { addSeveral } from '../../cpu/rows-loop.js';
import type { RunningResult } from '../../reducers/running-result.js';
import { packedInputs } from './dialect.js';
import { cpuPairText } from './pair-text.js';
import { cpuSpans } from './spans-text.js';
import { takenRoots } from '../loop-formula.js';
import { BLOCK_ROWS, type CpuPairTilePlan } from '../plan-types.js';

/** A task whose results are one column each: values go into the running results at once. */
export function* cpuOneColumnText(
  plan: CpuPairTilePlan,
  running: RunningResult,
  helpers: Set<CpuHelper>,
): Steps<string> {
  const { formula, reducedAtOnce: rows } = plan;
  const { block } = running;
  const each = (body: string): string =>
    lines('for (int64_t v = 0; v < VECTORS; v++) {', indent(body), '}');
  const add = (results: readonly string[]): string =>
    running.add('total[v]', 's[v]', [...results, 'number((L)(q + r))']);
  const addAll =
    rows > 1 && running.several !== undefined
      ? (results: readonly string[]): string =>
          addSeveral(running, {
            results,
            rows,
            total: 'total[v]',
            block: 's[v]',
            row: 'q',
          })
      : undefined;
  const merge =
    block && each(lines('merge(total[v], s[v]);', `s[v] = ${block.empty('total[v]')};`));
  const pairs = yield* cpuPairText(plan, takenRoots(formula), add, helpers, addAll);
  return lines(
    `State* const total = (State*)(own + ${packedInputs(plan).count} * VECTORS);`,
    each('total[v] = empty();'),
    block && lines(`${block.type} s[VECTORS];`, each(`s[v] = ${block.empty('total[v]')};`)),
    cpuSpans(
      plan,
      BLOCK_ROWS,
      lines(`for (int64_t q = start; q < stop; q += ${rows}) {`, indent(pairs), '}'),
      merge,
    ),
    plan.splits > 1
      ? storeParts(plan.splits, 'v', each, 'if (first / LANES + v >= vectors) break;')
      : each(cpuOutputText(running, 'total[v]', 'first + v * LANES', 'limit')),
  );
}
