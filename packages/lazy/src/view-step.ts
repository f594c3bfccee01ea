import type { Tensor } from '@mercer/tensor';

/** Rows `start`, `start + step`, ..., `count` of them. */
export interface RowRange {
  readonly start: number;
  readonly step: number;
  readonly count: number;
}

/** A step from the shape of a tensor to a matrix (..batch, rows, dim). `axis` counts from the end: -1 is the last. */
export type ViewStep =
  /** Takes away an axis of extent 1. */
  | { readonly op: 'drop'; readonly axis: number }
  /** Puts in an axis of extent 1; `axis` is its place in the result. */
  | { readonly op: 'insert'; readonly axis: number }
  /** Exchanges M and N of (..batch, M, N, dim). */
  | { readonly op: 'swap' }
  /** Takes some rows; `axis` is theirs. */
  | ({ readonly op: 'rows'; readonly axis: -2 | -3 } & RowRange);

/** The shape after some steps. */
export function shapeAfter(
  shape: readonly number[],
  steps: readonly ViewStep[],
): readonly number[] {
  return steps.reduce((current, step): readonly number[] => {
    switch (step.op) {
      case 'drop':
        return current.toSpliced(current.length + step.axis, 1);
      case 'insert':
        return current.toSpliced(current.length + 1 + step.axis, 0, 1);
      case 'rows':
        return current.with(step.axis, step.count);
      case 'swap':
        return [...current.slice(0, -3), ...swapped(current.slice(-3))];
    }
  }, shape);
}

/** M and N exchanged, of (M, N, dim). */
const swapped = (axes: readonly number[]): readonly number[] => [
  ...axes.slice(0, 2).reverse(),
  ...axes.slice(2),
];

/** The view of a tensor after some steps; the tensor itself where there are none. */
export function viewAfter(x: Tensor, steps: readonly ViewStep[]): Tensor {
  let current = x;
  for (const step of steps) {
    const next = viewed(current, step);
    if (current !== x) current.dispose();
    current = next;
  }
  return current;
}

function viewed(x: Tensor, step: ViewStep): Tensor {
  switch (step.op) {
    case 'drop': {
      const at = x.rank + step.axis;
      return x.slice(...x.shape.map((_, axis) => (axis === at ? 0 : null)));
    }
    case 'insert': {
      using wide = x.broadcastTo([1, ...x.shape]);
      const others = x.shape.map((_, axis) => axis + 1);
      return wide.permute(others.toSpliced(x.rank + 1 + step.axis, 0, 0));
    }
    case 'rows': {
      const { start, count, step: stride, axis } = step;
      const range = [start, start + count * stride, stride] as const;
      return x.slice(...x.shape.slice(0, axis).map(() => null), count === 0 ? [0, 0] : range);
    }
    case 'swap': {
      const axes = x.shape.map((_, axis) => axis);
      return x.permute([...axes.slice(0, -3), ...swapped(axes.slice(-3))]);
    }
  }
}
