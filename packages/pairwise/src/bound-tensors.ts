import type { Tensor } from '@mercer/tensor';
import type { Operand } from './operands.js';

/** A tensor and how a kernel reads it. */
export interface Bound {
  readonly tensor: Tensor;
  readonly operand: Operand;
}

/** The tensors of a call; b is the same object as a where there is one input. */
export interface BoundTensors {
  readonly a: Bound;
  readonly b: Bound;
  readonly out: Bound;
}
