import type { Tensor } from '@mercer/tensor';
import { Traced, type Value } from '@mercer/tensor/operation';
import type { Input } from './input.js';
import { shapeAfter, type ViewStep } from './view-step.js';

/** Steps after which a gradient by rows has not the elements of the data. */
const CHOOSING: readonly ViewStep['op'][] = ['rows', 'swap', 'diagonal'];

/** Where an input reads a traced tensor through a view of some of it, that view as an operation on tensors, so that the trace knows of it. */
export function viewed(input: Input): { readonly input: Input; readonly value: Value | undefined } {
  const { source, steps } = input;
  if (source.kind !== 'tensor') return { input, value: undefined };
  const { tensor } = source;
  const isWhole = !steps.some(({ op }) => CHOOSING.includes(op));
  if (isWhole || !((tensor as unknown) instanceof Traced)) return { input, value: tensor };
  return { input: { ...input, steps: [] }, value: viewBy(tensor, steps) };
}

function viewBy(tensor: Tensor, steps: readonly ViewStep[]): Value {
  let value: Value = tensor;
  let { shape } = tensor;
  for (const step of steps) {
    value = viewOf(value, shape, step);
    shape = shapeAfter(shape, [step]);
  }
  return value;
}

const everything = (count: number): null[] => new Array<null>(count).fill(null);

function viewOf(x: Value, shape: readonly number[], step: ViewStep): Value {
  const rank = shape.length;
  switch (step.op) {
    case 'drop':
      return x.slice(...everything(rank + step.axis), 0);
    case 'insert': {
      const axes = Array.from({ length: rank }, (_, axis) => axis + 1);
      return x.broadcastTo([1, ...shape]).permute(axes.toSpliced(rank + 1 + step.axis, 0, 0));
    }
    case 'rows': {
      const { start, step: by, count, axis } = step;
      const stop = start + by * count;
      const range = count === 0 ? [0, 0] : [start, stop < 0 ? null : stop, by];
      return x.slice(...everything(rank + axis), range as [number, number | null, number?]);
    }
    case 'swap': {
      const axes = Array.from({ length: rank }, (_, axis) => axis);
      return x.permute(axes.toSpliced(-3, 2, rank - 2, rank - 3));
    }
    case 'diagonal': {
      const [rows = 1, , dim = 1] = shape.slice(-3);
      const pairs = [...shape.slice(0, -3), rows * rows, dim];
      const flat = x.contiguous().reshape(pairs);
      return flat.slice(...everything(rank - 3), [null, null, rows + 1]);
    }
  }
}
