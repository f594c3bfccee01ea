import type { CallView } from '@mercer/tensor/operation';

/** Rows for columns; the same memory. */
export function turned(view: CallView): CallView {
  const swap = (list: readonly number[]): number[] => [...list.slice(0, -2), ...list.slice(-2).reverse()]; // prettier-ignore
  return { ...view, shape: swap(view.shape), strides: swap(view.strides) };
}

/** The batch axes of matrices. */
export const batchOf = ({ shape }: Pick<CallView, 'shape'>): readonly number[] =>
  shape.slice(0, -2);

/** Values (..., n) as a row (..., 1, n), for broadcasting against matrices. */
export const asRow = (values: CallView): CallView => turned(asColumn(values));

/** Values (..., n) as a column (..., n, 1). */
export const asColumn = (values: CallView): CallView => ({
  ...values,
  shape: [...values.shape, 1],
  strides: [...values.strides, 1],
});

/** One of the values (..., n) as (..., 1, 1). */
export function oneValue(values: CallView, index: number): CallView {
  const { shape, strides, offset } = values;
  return {
    ...values,
    shape: [...shape.slice(0, -1), 1, 1],
    strides: [...strides.slice(0, -1), 1, 1],
    offset: offset + index * (strides.at(-1) ?? 1),
  };
}

/** Columns of matrices. */
export function columnsOf(view: CallView, from: number, to: number): CallView {
  const { shape, strides, offset } = view;
  return {
    ...view,
    shape: [...shape.slice(0, -1), to - from],
    offset: offset + from * (strides.at(-1) ?? 1),
  };
}

/** One axis, counted from the last, as two: index i is `(i / inner, i % inner)`. */
export function split(view: CallView, axis: number, outer: number, inner: number): CallView {
  const { shape, strides } = view;
  const at = shape.length + axis;
  const stride = strides[at] ?? 1;
  return {
    ...view,
    shape: [...shape.slice(0, at), outer, inner, ...shape.slice(at + 1)],
    strides: [...strides.slice(0, at), inner * stride, stride, ...strides.slice(at + 1)],
  };
}
