/** Rows `start`, `start + step`, ..., `count` of them. */
export interface RowRange {
  readonly start: number;
  readonly step: number;
  readonly count: number;
}

/** A step from the shape of a tensor to a matrix (..batch, rows, dim) or to values of pairs (..batch, M, N, dim). `axis` counts from the end: -1 is the last. */
export type ViewStep =
  /** Takes away an axis of extent 1. */
  | { readonly op: 'drop'; readonly axis: number }
  /** Puts in an axis of extent 1; `axis` is its place in the result. */
  | { readonly op: 'insert'; readonly axis: number }
  /** Exchanges M and N of values of pairs. */
  | { readonly op: 'swap' }
  /** Takes those of equal rows: (..batch, M, dim). */
  | { readonly op: 'diagonal' }
  /** Takes some rows; `axis` is theirs. */
  | ({ readonly op: 'rows'; readonly axis: -2 | -3 } & RowRange);

/** Where elements lie: strides and offset in elements. */
interface Lies {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/** The shape after some steps. */
export function shapeAfter(
  shape: readonly number[],
  steps: readonly ViewStep[],
): readonly number[] {
  return steps.length === 0 ? shape : viewAfter({ shape, strides: shape, offset: 0 }, steps).shape;
}

/** The view of a tensor after some steps; what it says beside is kept. */
export const viewAfter = <V extends Lies>(view: V, steps: readonly ViewStep[]): V =>
  steps.reduce(viewed, view);

/** The numbers of axes M and N exchanged. */
const swapped = (axes: readonly number[]): readonly number[] =>
  axes.toSpliced(-3, 2, ...axes.slice(-3, -1).reverse());

function viewed<V extends Lies>(view: V, step: ViewStep): V {
  const { shape, strides, offset } = view;
  switch (step.op) {
    case 'drop': {
      const at = shape.length + step.axis;
      return { ...view, shape: shape.toSpliced(at, 1), strides: strides.toSpliced(at, 1) };
    }
    case 'insert': {
      const at = shape.length + 1 + step.axis;
      return { ...view, shape: shape.toSpliced(at, 0, 1), strides: strides.toSpliced(at, 0, 0) };
    }
    case 'rows': {
      const { axis } = step;
      const stride = strides.at(axis) ?? 0;
      return {
        ...view,
        shape: shape.with(axis, step.count),
        strides: strides.with(axis, stride * step.step),
        offset: step.count === 0 ? offset : offset + step.start * stride,
      };
    }
    case 'swap':
      return { ...view, shape: swapped(shape), strides: swapped(strides) };
    case 'diagonal': {
      const [i = 0, j = 0] = strides.slice(-3);
      return {
        ...view,
        shape: shape.toSpliced(-2, 1),
        strides: strides.toSpliced(-3, 2, i + j),
      };
    }
  }
}
