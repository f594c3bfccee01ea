import { unrolledSize, type Steps } from '@mercer/formula/plan';
import type { DeviceLimits } from '../../device-limits.js';
import { lanesOf } from '../../emit/cpu-vector.js';
import { componentsOf } from '../plan-inputs.js';
import { plannedProblem } from '../planned-problem.js';
import type { MapReduceProblem } from '../problem.js';
import { chooseCpuPairTile } from './cpu/choose-tile.js';
import { chooseCudaPairTile } from './cuda/choose-tile.js';
import { resultWidth, type ColumnBlock } from './column-blocks.js';
import { planLoops, readsOfLoops } from './plan-loops.js';
import type { PairTilePlan } from './plan-types.js';
import {
  columnsAtOnce,
  wordsOfBlocks,
  pairSums,
  mostSumsOfGroup,
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
  const read = plannedProblem(problem, limits);
  const { all, roots } = read;
  const { dtype, reduction } = problem;
  const { sums } = read.common;
  const formula = yield* planLoops(all);
  yield;
  const inputs = read.inputsOf(readsOfLoops(formula));
  yield;
  const columns = formula.reductions.map((one, n): ColumnBlock => {
    const { kind, k = 1 } = all[n] ?? reduction;
    const block = columnsAtOnce(kind, formula, one, limits.kind, dtype);
    return Object.freeze({ ...one, sums, reduction: kind, k, block });
  });
  const common = {
    ...read.common,
    form: 'loops' as const,
    columns: Object.freeze(columns),
    formula,
    inputs,
    width: columns.reduce((sum, one) => sum + resultWidth(one), 0),
    operations: unrolledSize(...roots),
  };
  yield;
  const sizes = pairSums(formula);
  yield;
  const hasOneColumn = formula.columns === 1;
  const inner = limits.kind === 'cpu' || !hasOneColumn ? mostSumsOfGroup(formula) : sizes.length;
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
    ranked: read.isRanked && !(hasOneColumn && all.length > 1),
    operations: common.operations,
    keptRows: read.keptRows,
    reducedRows: read.reducedRows,
    own: componentsOf(inputs, read.kept),
    mergeable: problem.ranges !== true && !selects,
  };
  const head = [
    ...read.headOf(
      inputs,
      columns.map((one) => one.columns),
    ),
    `loops ${formula.loops.length}`,
  ];
  const blocks = columns.map(({ block }) => block).join(' + ');
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
