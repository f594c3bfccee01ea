import { solution } from '../compose.js';
import { turned } from '../views.js';
import {
  solveBackward,
  type SolveBackwardFunction,
  type SolveBackwardOptions,
  type SolveInputs,
  SOLVE_BACKWARD_OPTIONS,
} from './solve-backward.js';

/**
 * Gradients of `solveLU(a, b)`: given `gradient` = dL/dx, returns dL/da and dL/db. With `a^T y = gradient`, db is y and da is
 * `-y x^T` (Giles 2008, section 2.3.1).
 *
 * Shapes: gradient and x (..., n, c), or (..., c, n) with `rightHandSides: 'rows'`; da has a's shape and db has b's: over axes
 * that were broadcast they are summed. All of one dtype and device. Singular matrices have NaN gradients.
 *
 * @param saved a and x of the forward call, b where it was broadcast
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { solveLU, solveLUBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[0, 2], [1, 0]], { device: 'cpu' });
 * const b = await tensor([[4], [3]], { device: 'cpu' });
 * const { x } = await solveLU(a, b);
 * const upstream = await tensor([[1], [0]], { device: 'cpu' });
 * const { b: db } = await solveLUBackward(upstream, { a, x });
 * console.log(await db.toNested()); // [ [ 0 ], [ 1 ] ]
 * ```
 */
export const solveLUBackward = solveBackward<
  SolveBackwardFunction,
  SolveBackwardOptions<SolveInputs>
>({
  what: 'solveLUBackward',
  options: SOLVE_BACKWARD_OPTIONS,
  solveTransposed: (call, a, sides, { into }) =>
    solution(call, 'solveLU', turned(a), sides, { into }),
});
