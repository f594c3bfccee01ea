import { traitsOf, unrolledSize, type Steps } from '@mercer/formula';
import type { DeviceLimits } from '../../device-limits.js';
import { lanesOf } from '../../emit/cpu-vector.js';
import { PlanError } from '../../plan-error.js';
import { checkInputs, componentsOf, pairsText, planInputs } from '../plan-inputs.js';
import { planSums, sumsText } from '../plan-sums.js';
import type { MapReduceProblem } from '../problem.js';
import { rootsOf } from '../lowering/written-out.js';
import { chooseWideCpu } from './cpu/choose-tile.js';
import { chooseWideCuda } from './cuda/choose-tile.js';
import { resultWidth } from './column-blocks.js';
import { keptSide } from './kept-side.js';
import { planWideFormula } from './plan-wide-formula.js';
import type { WidePlan } from './wide-plan-types.js';
import { wideReads } from './wide-reads.js';
import {
  columnsTogether,
  wordsOfBlock,
  pairSums,
  widestGroup,
  type WideShape,
} from './wide-shape.js';

/** The plan of a map-reduce whose long sums and columns are loops. Throws a `PlanError` for what has no text. */
export function* planWide(problem: MapReduceProblem, limits: DeviceLimits): Steps<WidePlan> {
  const { dtype, reduction, further = [], rowsI, rowsJ, batch, ranges = false } = problem;
  if (further.length > 0) {
    throw new PlanError(
      'UNSUPPORTED',
      `cannot plan a map-reduce: ${further.length + 1} reductions of one pass are too long to be written out. ` +
        `Plan them one by one.`,
    );
  }
  const sums = planSums(problem);
  const { kind, axis, k = 1, formula: whole, weight } = reduction;
  const roots = rootsOf(reduction);
  const formula = yield* planWideFormula(reduction);
  yield;
  const inputs = planInputs(roots, problem, wideReads(formula));
  yield;
  checkInputs(inputs);
  const { columns } = formula;
  const block = columnsTogether(kind, formula, limits.kind, dtype);
  const adding = sums !== undefined && { sums };
  const common = {
    ...({ family: 'map-reduce', form: 'loops', dtype, reduction: kind, axis, k, block } as const),
    dim: whole.dim,
    weightDim: weight?.dim ?? 1,
    formula,
    inputs,
    ...adding,
    width: resultWidth({ reduction: kind, k, block }, columns),
    operations: unrolledSize(...roots),
    ...(ranges && { ranges: true as const }),
  };
  yield;
  const sizes = pairSums(formula);
  yield;
  const inner = limits.kind === 'cpu' || columns > 1 ? widestGroup(formula) : sizes.length;
  const kept = keptSide({ axis });
  const shape: WideShape = {
    dtype,
    formula,
    block,
    accumulators: wordsOfBlock(common, dtype),
    // the numbers of rows by index are kept beside inner sums
    sums: inner === 0 ? 0 : inner + (formula.gathers?.length ?? 0),
    pairLoads: formula.loads.filter(
      ({ category, line }) => category === 'pair' && line !== undefined,
    ).length,
    sizes,
    ranked: traitsOf(kind).takesK,
    operations: common.operations,
    keptRows: (axis === 1 ? rowsI : rowsJ) * batch,
    reducedRows: axis === 1 ? rowsJ : rowsI,
    own: componentsOf(inputs, kept),
    mergeable: !ranges,
  };
  const head = [
    `map-reduce ${dtype} ${kind}${k > 1 ? ` ${k}` : ''} over ${kept === 'i' ? 'j' : 'i'} of ${columns}`,
    `i ${componentsOf(inputs, 'i')} j ${componentsOf(inputs, 'j')}`,
    ...pairsText(inputs),
    ...inputs.flatMap(({ position, storage }) =>
      storage === undefined ? [] : [`${storage} ${position}`],
    ),
    ...(ranges ? ['ranges'] : []),
    ...(sums === undefined ? [] : [sumsText(sums)]),
    `loops ${formula.loops.length}`,
  ];
  const parts = (splits: number): string[] => (splits > 1 ? [`${splits} parts`] : []);
  if (limits.kind === 'cpu') {
    const tile = chooseWideCpu(shape, limits);
    const lanes = String(lanesOf(limits.level, dtype));
    const text = [
      `${tile.groups} groups of ${lanes} rows by ${tile.rows}`,
      ...(columns > 1 ? [`${tile.blocks} blocks of ${block} columns`] : []),
      ...parts(tile.splits),
    ];
    const summary = [...head, ...text].join(', ');
    return Object.freeze({ kind: 'cpu', summary, ...common, level: limits.level, ...tile });
  }
  const tile = chooseWideCuda(shape, limits);
  const text = [
    `${tile.groups} by ${tile.rows} pairs a thread`,
    `steps of ${tile.steps}`,
    ...(columns > 1 ? [`blocks of ${block} columns`] : []),
    ...parts(tile.splits),
  ];
  return Object.freeze({
    kind: 'cuda',
    summary: [...head, ...text].join(', '),
    ...common,
    ...tile,
  });
}
