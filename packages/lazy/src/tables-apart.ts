import {
  hasGathers,
  ops,
  postOrderVector,
  substituteVector,
  type VectorExpr,
} from '@mercer/formula/plan';
import { formulasOf } from '@mercer/tensor/operation';
import { nodeAt } from './input.js';
import { asTable } from './make-input.js';
import { replaced, type Task } from './task.js';

/**
 * The same task with an input of its own for each table, as `LazyTensor.gather` makes them: in a text, a variable whose rows are
 * taken by index is one input with its own row.
 */
export function tablesApart(task: Task): Task {
  if (!formulasOf([task.reduction]).some(hasGathers)) return task;
  const inputs = [...task.inputs];
  const places = new Map<number, number>();
  const moved = new Map<VectorExpr, VectorExpr>();
  for (const node of postOrderVector(...formulasOf([task.reduction]))) {
    if (node.kind !== 'gather') continue;
    const { position } = node.table;
    const own = task.inputs[position];
    const [index] = node.args;
    if (own === undefined || own.isTable || index === undefined) continue;
    const place = places.get(position) ?? inputs.push(asTable(own)) - 1;
    places.set(position, place);
    const table = nodeAt({ category: 'parameter', dim: own.dim }, place);
    moved.set(node, ops.gather(table, substituteVector(index, moved)));
  }
  if (moved.size === 0) return task;
  return { ...task, reduction: replaced(task.reduction, moved), inputs };
}
