import { traitsOf, unrolledSize, type Steps } from '@mercer/formula';
import type { DeviceLimits } from '../../device-limits.js';
import { lanesOf } from '../../emit/cpu-vector.js';
import { checkInputs, componentsOf, pairsText, planInputs } from '../plan-inputs.js';
import { plannedReduction } from '../launched-plan.js';
import { fastMathOf, fastMathText } from '../plan-fast-math.js';
import { planSums, sumsText } from '../plan-sums.js';
import type { MapReduceProblem } from '../problem.js';
import { rootsOf } from '../lowering/written-out.js';
import { chooseCpuPairTile } from './cpu/choose-tile.js';
import { chooseCudaPairTile } from './cuda/choose-tile.js';
import { resultWidth, type ColumnBlock } from './column-blocks.js';
import { keptSide } from './kept-side.js';
import { planLoops } from './plan-loops.js';
import type { PairTilePlan } from './plan-types.js';
import { readsOfLoops } from './reads.js';
import {
  columnsAtOnce,
  wordsOfBlocks,
  pairSums,
  widestGroup,
  type PairTileShape,
} from './shape.js';

/**
 * The plan of a map-reduce in tiles of pairs, whose long sums and columns are loops. With `selects` (default false) a kept row is a task's
 * or a block's alone, and keeps a count. Throws a `PlanError` for what has no text.
 */
export function* planPairTile(
  problem: MapReduceProblem,
  limits: DeviceLimits,
  selects = false,
): Steps<PairTilePlan> {
  const { dtype, reduction, further = [], rowsI, rowsJ, batch, ranges = false } = problem;
  const all = [reduction, ...further];
  const sums = planSums(problem);
  const roots = all.flatMap(rootsOf);
  const formula = yield* planLoops(all);
  yield;
  const inputs = planInputs(roots, problem, readsOfLoops(formula));
  yield;
  checkInputs(inputs);
  const adding = sums !== undefined && { sums };
  const columns = formula.reductions.map((one, n): ColumnBlock => {
    const { kind, k = 1 } = all[n] ?? reduction;
    const block = columnsAtOnce(kind, formula, one, limits.kind, dtype);
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
    ...fastMathOf(problem, limits),
    width: columns.reduce((sum, one) => sum + resultWidth(one), 0),
    operations: unrolledSize(...roots),
    ...(ranges && { ranges: true as const }),
  };
  yield;
  const sizes = pairSums(formula);
  yield;
  const hasOneColumn = formula.columns === 1;
  const inner = limits.kind === 'cpu' || !hasOneColumn ? widestGroup(formula) : sizes.length;
  const kept = keptSide({ axis });
  const isRanked = all.some(({ kind }) => traitsOf(kind).takesK);
  const shape: PairTileShape = {
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
    ranked: isRanked && !(hasOneColumn && all.length > 1),
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
    ...fastMathText(common),
    `loops ${formula.loops.length}`,
  ];
  const blocks = joined(({ block }) => block);
  const parts = (splits: number): string[] => (splits > 1 ? [`${splits} parts`] : []);
  if (limits.kind === 'cpu') {
    const tile = chooseCpuPairTile(shape, limits);
    const lanes = String(lanesOf(limits.level, dtype));
    const text = [
      `${tile.keptVectors} vectors of ${lanes} rows by ${tile.reducedAtOnce}`,
      ...(hasOneColumn ? [] : [`${tile.blocks} blocks of ${blocks} columns`]),
      ...parts(tile.splits),
    ];
    const summary = [...head, ...text].join(', ');
    return Object.freeze({ kind: 'cpu', summary, ...common, level: limits.level, ...tile });
  }
  const tile = chooseCudaPairTile(shape, limits);
  const text = [
    `${tile.keptPerThread} by ${tile.reducedPerThread} pairs a thread`,
    `steps of ${tile.steps}`,
    ...(hasOneColumn ? [] : [`blocks of ${blocks} columns`]),
    ...parts(tile.splits),
  ];
  return Object.freeze({
    kind: 'cuda',
    summary: [...head, ...text].join(', '),
    ...common,
    ...tile,
  });
}
