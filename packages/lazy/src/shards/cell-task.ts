import { indexI, indexJ, ops, postOrderVector, type VectorExpr } from '@mercer/formula';
import { formulasOf } from '@mercer/tensor/operation';
import { nodeAt, type Input } from '../input.js';
import { parameterInput } from '../make-input.js';
import { replaced, type JointTask, type Reductions } from '../task.js';
import type { Cell } from './block-inputs.js';
import type { MergeRule } from './merge-rules.js';

const INDEX = { i: indexI, j: indexJ } as const;

/**
 * What is computed of each cell, as a function of its inputs: the parts that rules merge, or without rules the reductions themselves. Row
 * numbers in formulas count from the first row of all.
 */
export function cellTask(
  task: JointTask,
  rules: readonly MergeRule[] | undefined,
): (cell: Cell, inputs: readonly Input[]) => JointTask {
  const { what, inputs: whole } = task;
  const reductions = rules?.flatMap(({ parts }) => parts) ?? task.reductions;
  const nodes = new Set(postOrderVector(...formulasOf(reductions)));
  const numbered = (['i', 'j'] as const).filter((side) => nodes.has(INDEX[side]));
  const startAt = (side: 'i' | 'j', cell: Cell | undefined): Input =>
    parameterInput(what, cell?.[side][0] ?? 0, undefined);
  const moved = new Map<VectorExpr, VectorExpr>(
    numbered.map((side, at) => [
      INDEX[side],
      ops.add(INDEX[side], nodeAt(startAt(side, undefined), whole.length + at)),
    ]),
  );
  const ofCell = reductions.map((one) => replaced(one, moved)) as readonly unknown[] as Reductions;
  return (cell, inputs) => ({
    what,
    reductions: ofCell,
    names: rules === undefined ? task.names : undefined,
    inputs: [...inputs, ...numbered.map((side) => startAt(side, cell))],
  });
}
