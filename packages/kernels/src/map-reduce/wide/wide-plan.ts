import { traitsOf, unrolledSize, type Steps } from '@mercer/formula';
import type { DeviceLimits } from '../../device-limits.js';
import { lanesOf } from '../../emit/cpu-vector.js';
import { checkInputs, componentsOf, pairsText, planInputs } from '../plan-inputs.js';
import { plannedReduction } from '../launched-plan.js';
import { planSums, sumsText } from '../plan-sums.js';
import type { MapReduceProblem } from '../problem.js';
import { rootsOf } from '../lowering/written-out.js';
import { chooseWideCpu } from './cpu/choose-tile.js';
import { chooseWideCuda } from './cuda/choose-tile.js';
import { resultWidth, type ColumnBlock } from './column-blocks.js';
import { keptSide } from './kept-side.js';
import { planWideFormula } from './plan-wide-formula.js';
import type { WidePlan } from './wide-plan-types.js';
import { wideReads } from './wide-reads.js';
import {
  columnsTogether,
  wordsOfBlocks,
  pairSums,
  widestGroup,
  type WideShape,
} from './wide-shape.js';

/**
 * The plan of a map-reduce in tiles of pairs, whose long sums and columns are loops. With `selects` (default false) a kept row is a task's
 * or a block's alone, and keeps a count. Throws a `PlanError` for what has no text.
 */
export function* planWide(
  problem: MapReduceProblem,
  limits: DeviceLimits,
  selects = false,
): Steps<WidePlan> {
  const { dtype, reduction, further = [], rowsI, rowsJ, batch, ranges = false } = problem;
  const all = [reduction, ...further];
  const sums = planSums(problem);
  const roots = all.flatMap(rootsOf);
  const formula = yield* planWideFormula(all);
  yield;
  const inputs = planInputs(roots, problem, wideReads(formula));
  yield;
  checkInputs(inputs);
  const adding = sums !== undefined && { sums };
  const columns = formula.reductions.map((one, n): ColumnBlock => {
    const { kind, k = 1 } = all[n] ?? reduction;
    const block = columnsTogether(kind, formula, one, limits.kind, dtype);
    return Object.freeze({ ...one, ...adding, reduction: kind, k, block });
  });
  const { axis } = reduction;
  const common = {
    ...({ family: 'map-reduce', form: 'loops', dtype, axis } as const),
    ...plannedReduction(reduction),
    ...(further.length > 0 && { further: Object.freeze(further.map(plannedReduction)) }),
    columns: Object.freeze(columns),
    formula,
    inputs,
    ...adding,
    width: columns.reduce((sum, one) => sum + resultWidth(one), 0),
    operations: unrolledSize(...roots),
    ...(ranges && { ranges: true as const }),
  };
  yield;
  const sizes = pairSums(formula);
  yield;
  const isNarrow = formula.columns === 1;
  const inner = limits.kind === 'cpu' || !isNarrow ? widestGroup(formula) : sizes.length;
  const kept = keptSide({ axis });
  const isRanked = all.some(({ kind }) => traitsOf(kind).takesK);
  const shape: WideShape = {
    dtype,
    formula,
    columns,
    accumulators: selects ? 1 : wordsOfBlocks(columns, dtype),
    // the numbers of rows by index are kept beside inner sums
    sums: inner === 0 ? 0 : inner + (formula.gathers?.length ?? 0),
    pairLoads: formula.loads.filter(
      ({ category, line }) => category === 'pair' && line !== undefined,
    ).length,
    sizes,
    ranked: isRanked && !(isNarrow && all.length > 1),
    operations: common.operations,
    keptRows: (axis === 1 ? rowsI : rowsJ) * batch,
    reducedRows: axis === 1 ? rowsJ : rowsI,
    own: componentsOf(inputs, kept),
    mergeable: !ranges && !selects,
  };
  const joined = (of: (one: ColumnBlock) => string | number): string => columns.map(of).join(' + ');
  const head = [
    `map-reduce ${dtype} ${joined((one) => `${one.reduction}${one.k > 1 ? ` ${one.k}` : ''}`)} over ${kept === 'i' ? 'j' : 'i'} of ${joined((one) => one.columns)}`,
    `i ${componentsOf(inputs, 'i')} j ${componentsOf(inputs, 'j')}`,
    ...pairsText(inputs),
    ...inputs.flatMap(({ position, storage }) =>
      storage === undefined ? [] : [`${storage} ${position}`],
    ),
    ...(ranges ? ['ranges'] : []),
    ...(sums === undefined ? [] : [sumsText(sums)]),
    `loops ${formula.loops.length}`,
  ];
  const blocks = joined(({ block }) => block);
  const parts = (splits: number): string[] => (splits > 1 ? [`${splits} parts`] : []);
  if (limits.kind === 'cpu') {
    const tile = chooseWideCpu(shape, limits);
    const lanes = String(lanesOf(limits.level, dtype));
    const text = [
      `${tile.groups} groups of ${lanes} rows by ${tile.rows}`,
      ...(isNarrow ? [] : [`${tile.blocks} blocks of ${blocks} columns`]),
      ...parts(tile.splits),
    ];
    const summary = [...head, ...text].join(', ');
    return Object.freeze({ kind: 'cpu', summary, ...common, level: limits.level, ...tile });
  }
  const tile = chooseWideCuda(shape, limits);
  const text = [
    `${tile.groups} by ${tile.rows} pairs a thread`,
    `steps of ${tile.steps}`,
    ...(isNarrow ? [] : [`blocks of ${blocks} columns`]),
    ...parts(tile.splits),
  ];
  return Object.freeze({
    kind: 'cuda',
    summary: [...head, ...text].join(', '),
    ...common,
    ...tile,
  });
}
