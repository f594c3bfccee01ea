import type { Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { workOf } from '../options.js';
import type { LinalgDType } from '../checks.js';
import { solveLU } from '../solve-lu.js';
import type { LinalgGradients } from './backward-options.js';
import {
  solveBackward,
  type SolveBackwardOptions,
  type SolveInputs,
  type SolveSaved,
  SOLVE_BACKWARD_OPTIONS,
} from './solve-backward.js';
import { solutionOf } from './solve-cholesky-backward.js';

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
export async function solveLUBackward<
  D extends LinalgDType,
  const W extends SolveInputs = readonly ['a', 'b'],
>(
  gradient: Tensor<D>,
  saved: SolveSaved<NoInfer<D>>,
  options?: SolveBackwardOptions<W>,
): Promise<LinalgGradients<W, D>> {
  options = readOptions('solveLUBackward', options, SOLVE_BACKWARD_OPTIONS);
  const { rightHandSides } = options;
  const within = workOf(options);
  return solveBackward<D, W>(
    {
      what: 'solveLUBackward',
      transposed: false,
      solveTransposed: async (sides) => {
        using turned = saved.a.transpose();
        return solutionOf(await solveLU(turned, sides, { rightHandSides, ...within }));
      },
      finish: (outer) => Promise.resolve(outer),
    },
    gradient,
    saved,
    options,
  );
}
