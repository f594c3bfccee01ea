import { unrolledSize } from '@mercer/formula';
import type { DeviceLimits } from '../../device-limits.js';
import { lanesOf } from '../../emit/cpu-vector.js';
import type { MapReduceInput } from '../plan.js';
import type { MapReduceProblem } from '../problem.js';
import { chooseWideCpu } from './choose-wide-cpu.js';
import { chooseWideCuda } from './choose-wide-cuda.js';
import { resultWidth } from './column-blocks.js';
import { keptSide } from './kept-side.js';
import { planWideFormula } from './plan-wide-formula.js';
import type { WidePlan } from './wide-plan-types.js';
import { columnsTogether, slotsOfBlock, widestGroup, type WideShape } from './wide-shape.js';

/** The plan of a map-reduce whose long sums and columns are loops. */
export function planWide(
  { dtype, reduction, rowsI, rowsJ, batch }: MapReduceProblem,
  inputs: readonly MapReduceInput[],
  limits: DeviceLimits,
): WidePlan {
  const { kind, axis, k = 1 } = reduction;
  const formula = planWideFormula(reduction);
  const { columns } = formula;
  const block = columnsTogether(kind, formula, limits.kind, dtype);
  const roots = [reduction.formula, ...(reduction.weight === undefined ? [] : [reduction.weight])];
  const common = {
    ...({ family: 'map-reduce', form: 'loops', dtype, reduction: kind, axis, k, block } as const),
    ...{ width: resultWidth({ reduction: kind, k, block }, columns), formula, inputs },
    operations: unrolledSize(...roots),
  };
  const kept = keptSide({ axis });
  const shape: WideShape = {
    ...{ dtype, formula, block, slots: slotsOfBlock(common), sums: widestGroup(formula) },
    ...{ keptRows: (axis === 1 ? rowsI : rowsJ) * batch, reducedRows: axis === 1 ? rowsJ : rowsI },
    own: dimsOf(inputs, kept),
  };
  const head = [
    `map-reduce ${dtype} ${kind}${k > 1 ? ` ${String(k)}` : ''} over ${kept === 'i' ? 'j' : 'i'} of ${String(columns)}`,
    `i ${String(dimsOf(inputs, 'i'))} j ${String(dimsOf(inputs, 'j'))}`,
    `loops ${String(formula.loops.length)}`,
  ];
  if (limits.kind === 'cpu') {
    const tile = chooseWideCpu(shape, limits);
    const lanes = String(lanesOf(limits.level, dtype));
    const text = [
      `${String(tile.groups)} groups of ${lanes} rows by ${String(tile.rows)}`,
      ...(columns > 1 ? [`${String(tile.blocks)} blocks of ${String(block)} columns`] : []),
    ];
    const summary = [...head, ...text].join(', ');
    return Object.freeze({ kind: 'cpu', summary, ...common, level: limits.level, ...tile });
  }
  const tile = chooseWideCuda(shape, limits);
  const text = [
    `${String(tile.groups)} by ${String(tile.rows)} pairs a thread`,
    `steps of ${String(tile.steps)}`,
    ...(columns > 1 ? [`blocks of ${String(block)} columns`] : []),
    ...(tile.splits > 1 ? [`${String(tile.splits)} parts`] : []),
  ];
  return Object.freeze({
    kind: 'cuda',
    summary: [...head, ...text].join(', '),
    ...common,
    ...tile,
  });
}

function dimsOf(inputs: readonly MapReduceInput[], category: string): number {
  return inputs.reduce((sum, one) => sum + (one.category === category ? one.dim : 0), 0);
}
