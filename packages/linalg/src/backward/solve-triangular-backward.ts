import type { OptionNames } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { workOf } from '../options.js';
import { choice, flag, type LinalgDType } from '../checks.js';
import { type TriangleOption, TRIANGLE_OPTION } from '../options.js';
import { solveTriangular } from '../solve-triangular.js';
import type { LinalgGradients } from './backward-options.js';
import { keepTriangle } from './shape-gradient.js';
import {
  solveBackward,
  type SolveBackwardOptions,
  type SolveInputs,
  type SolveSaved,
  SOLVE_BACKWARD_OPTIONS,
} from './solve-backward.js';
import { solutionOf } from './solve-cholesky-backward.js';

/** Options of solveTriangularBackward. */
export interface SolveTriangularBackwardOptions<W extends SolveInputs>
  extends SolveBackwardOptions<W>, TriangleOption {
  /** As in the forward call. */
  readonly transpose?: boolean | undefined;
  /** As in the forward call. */
  readonly unitDiagonal?: boolean | undefined;
}

const SOLVE_TRIANGULAR_BACKWARD_OPTIONS: OptionNames<SolveTriangularBackwardOptions<SolveInputs>> =
  { ...SOLVE_BACKWARD_OPTIONS, ...TRIANGLE_OPTION, transpose: true, unitDiagonal: true };

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
export async function solveTriangularBackward<
  D extends LinalgDType,
  const W extends SolveInputs = readonly ['a', 'b'],
>(
  gradient: Tensor<D>,
  saved: SolveSaved<NoInfer<D>>,
  options?: SolveTriangularBackwardOptions<W>,
): Promise<LinalgGradients<W, D>> {
  const what = 'solveTriangularBackward';
  options = readOptions(what, options, SOLVE_TRIANGULAR_BACKWARD_OPTIONS);
  const { rightHandSides } = options;
  const transpose = flag(what, 'transpose', options.transpose);
  const unitDiagonal = flag(what, 'unitDiagonal', options.unitDiagonal);
  const within = workOf(options);
  const uplo = choice(what, 'uplo', options.uplo, ['lower', 'upper']);
  const strict = uplo === 'lower' ? 'strictLower' : 'strictUpper';
  return solveBackward<D, W>(
    {
      what,
      transposed: transpose,
      solveTransposed: async (sides) => {
        const forward = { uplo, unitDiagonal, rightHandSides, ...within };
        const turned = { ...forward, transpose: !transpose };
        return solutionOf(await solveTriangular(saved.a, sides, turned));
      },
      finish: async (outer) => {
        try {
          await keepTriangle(outer, unitDiagonal ? strict : uplo, within);
          return outer;
        } catch (error) {
          outer.dispose();
          throw error;
        }
      },
    },
    gradient,
    saved,
    options,
  );
}
