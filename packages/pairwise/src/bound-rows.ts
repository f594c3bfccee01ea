import type { Tensor } from '@mercer/tensor';
import type { Operand } from './operands.js';

/** A tensor and how a kernel reads it. */
export interface Bound {
  readonly tensor: Tensor;
  readonly operand: Operand;
}
