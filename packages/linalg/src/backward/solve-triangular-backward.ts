import { choice, flag } from '../checks.js';
import { triangularSolution } from '../compose.js';
import { TRIANGLE_OPTION, type TriangleOption } from '../options.js';
import { TRIANGLES } from './formulas.js';
import {
  solveBackward,
  type SolveBackwardFunction,
  type SolveBackwardOptions,
  type SolveInputs,
  SOLVE_BACKWARD_OPTIONS,
} from './solve-backward.js';

/** Options of solveTriangular that matter to its gradients. */
export interface SolveTriangularForward extends TriangleOption {
  /** As in the forward call. */
  readonly transpose?: boolean | undefined;
  /** As in the forward call. */
  readonly unitDiagonal?: boolean | undefined;
}

/** Options of solveTriangularBackward. */
export interface SolveTriangularBackwardOptions<W extends SolveInputs>
  extends SolveBackwardOptions<W>, SolveTriangularForward {}

const uploOf = (what: string, { uplo }: TriangleOption): 'lower' | 'upper' =>
  choice(what, 'uplo', uplo, ['lower', 'upper']);

/**
 * Gradients of `solveTriangular(a, b)`: given `gradient` = dL/dx, returns dL/da and dL/db. With `op(a)^T y = gradient`, db is
 * y, and da is the triangle `uplo` of `-y x^T`, or of `-x y^T` with `transpose` (Giles 2008, section 2.3.1). The other triangle
 * of da is 0, and so is its diagonal with `unitDiagonal`: these were not read.
 *
 * Shapes: gradient and x (..., n, c), or (..., c, n) with `rightHandSides: 'rows'`; da has a's shape and db has b's: over axes
 * that were broadcast they are summed. All of one dtype and device. Singular matrices have NaN gradients.
 *
 * @param saved a and x of the forward call, b where it was broadcast
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { solveTriangular, solveTriangularBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[2, 0], [1, 4]], { device: 'cpu' });
 * const b = await tensor([[4], [6]], { device: 'cpu' });
 * const { x } = await solveTriangular(a, b);
 * const upstream = await tensor([[0], [1]], { device: 'cpu' });
 * const { a: da } = await solveTriangularBackward(upstream, { a, x });
 * console.log(await da.toNested()); // [ [ 0.25, 0 ], [ -0.5, -0.25 ] ]
 * ```
 */
export const solveTriangularBackward = solveBackward<
  SolveBackwardFunction<SolveTriangularForward>,
  SolveTriangularBackwardOptions<SolveInputs>
>({
  what: 'solveTriangularBackward',
  options: { ...SOLVE_BACKWARD_OPTIONS, ...TRIANGLE_OPTION, transpose: true, unitDiagonal: true },
  solveTransposed: (call, a, sides, options) => {
    const { what } = call;
    return triangularSolution(call, a, sides, {
      upper: uploOf(what, options) === 'upper',
      unitDiagonal: flag(what, 'unitDiagonal', options.unitDiagonal),
      transpose: !flag(what, 'transpose', options.transpose),
      into: options.into,
    });
  },
  isTransposed: ({ transpose = false }) => transpose,
  finish: (what, options) => {
    const uplo = uploOf(what, options);
    if (options.unitDiagonal !== true) return TRIANGLES[uplo];
    return uplo === 'lower' ? TRIANGLES.strictLower : TRIANGLES.strictUpper;
  },
});
