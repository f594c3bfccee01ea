import { indexI, indexJ, ops, postOrderVector, type VectorExpr } from '@mercer/formula/plan';
import { formulasOf } from '@mercer/tensor/operation';
import { nodeAt, type Input } from '../input.js';
import { parameterInput } from '../make-input.js';
import { replaced, type JointTask, type Reductions } from '../task.js';
import type { Cell } from './block-inputs.js';
import type { MergeRule } from './merge-rules.js';

const INDEX = { i: indexI, j: indexJ } as const;

/** Formulas whose row numbers count from the first row of all, though each cell numbers its own. */
export interface NumberedFormulas {
  /** What stands for row numbers. */
  readonly parts: ReadonlyMap<VectorExpr, VectorExpr>;
  /** The inputs of a cell, with the first of its rows where they are needed. */
  readonly inputs: (cell: Cell, inputs: readonly Input[]) => readonly Input[];
}

/** How row numbers in formulas over so many inputs count. */
export function numbered(
  what: string,
  formulas: readonly VectorExpr[],
  inputs: number,
): NumberedFormulas {
  const nodes = new Set(postOrderVector(...formulas));
  const sides = (['i', 'j'] as const).filter((side) => nodes.has(INDEX[side]));
  const startAt = (side: 'i' | 'j', cell: Cell | undefined): Input =>
    parameterInput(what, cell?.[side][0] ?? 0, undefined);
  return {
    parts: new Map(
      sides.map((side, at) => [
        INDEX[side],
        ops.add(INDEX[side], nodeAt(startAt(side, undefined), inputs + at)),
      ]),
    ),
    inputs: (cell, own) => [...own, ...sides.map((side) => startAt(side, cell))],
  };
}

/** What is computed of each cell, as a function of its inputs: the parts that rules merge, or without rules the reductions themselves. */
export function cellTask(
  task: JointTask,
  rules: readonly MergeRule[] | undefined,
): (cell: Cell, inputs: readonly Input[]) => JointTask {
  const { what, inputs: whole } = task;
  const reductions = rules?.flatMap(({ parts }) => parts) ?? task.reductions;
  const { parts, inputs: inputsOf } = numbered(what, formulasOf(reductions), whole.length);
  const ofCell = reductions.map((one) => replaced(one, parts)) as readonly unknown[] as Reductions;
  return (cell, inputs) => ({
    what,
    reductions: ofCell,
    names: rules === undefined ? task.names : undefined,
    inputs: inputsOf(cell, inputs),
  });
}
