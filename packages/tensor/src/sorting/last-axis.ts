import type { CallView } from '../operation/call-steps.js';

/** The view with an axis as its last. */
export const lastAxis = (view: CallView, axis: number): CallView => ({
  ...view,
  shape: [...view.shape.toSpliced(axis, 1), view.shape[axis] ?? 0],
  strides: [...view.strides.toSpliced(axis, 1), view.strides[axis] ?? 0],
});
