import { empty, type Tensor } from '@mercer/tensor';
import type { Setting } from '../../checks.js';
import { matrixOperand, type MatrixOperand } from '../../operand.js';
import { workOf } from '../../options.js';
import type { Within } from '../cuda-call.js';
import { placeOf } from './strided.js';

/** An operand as the library takes it; the copy behind it, if there is one, is disposed with it. */
export interface LibraryOperand extends Disposable {
  readonly operand: MatrixOperand;
}

/** A factor where it lies, or a copy. */
export async function readable(
  setting: Setting,
  operand: MatrixOperand,
  within: Within,
): Promise<LibraryOperand> {
  return placeOf(operand) === undefined ? packed(setting, operand, within) : borrowed(operand);
}

/** A row-major copy of the matrices that differ. */
export async function packed(
  { batchShape }: Setting,
  operand: MatrixOperand,
  within: Within,
): Promise<LibraryOperand> {
  using view = operand.view();
  using single = onlyOnce(view);
  return owned(await single.contiguous(workOf(within)), batchShape);
}

/** The result where it lies, or row-major memory for it. `commit` brings it home. */
export interface WritableOperand extends LibraryOperand {
  /** Enqueues what is left to do once the result is computed. */
  readonly commit: () => Promise<void>;
}

/** @param keep whether the former content is added to */
export async function writable(
  { batchShape, dtype, device }: Setting,
  operand: MatrixOperand,
  keep: boolean,
  within: Within,
): Promise<WritableOperand> {
  if (placeOf(operand) !== undefined) {
    return { ...borrowed(operand), commit: () => Promise.resolve() };
  }
  using view = operand.view();
  const copy = keep
    ? await view.contiguous(workOf(within))
    : empty(view.shape, { dtype, device, stream: within.stream });
  return {
    ...owned(copy, batchShape),
    commit: async () => {
      using target = operand.view();
      await target.copyFrom(copy, workOf(within));
    },
  };
}

const borrowed = (operand: MatrixOperand): LibraryOperand => ({
  operand,
  [Symbol.dispose]: () => undefined,
});

const owned = (copy: Tensor, batchShape: readonly number[]): LibraryOperand => ({
  operand: matrixOperand(copy, batchShape),
  [Symbol.dispose]: () => {
    copy.dispose();
  },
});

/** A view without the repetition of batch axes of stride 0. */
function onlyOnce(x: Tensor): Tensor {
  return x.slice(
    ...x.shape.map((extent, axis) =>
      axis < x.rank - 2 && extent > 1 && x.strides[axis] === 0 ? ([0, 1] as const) : null,
    ),
  );
}
