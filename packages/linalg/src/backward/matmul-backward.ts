import type { OptionNames } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import { WORK_OPTIONS, readOptions } from '@mercer/tensor/operation';
import { workOf } from '../options.js';
import { settingOf, type LinalgDType } from '../checks.js';
import { matmul, type MatmulOptions } from '../matmul.js';
import { assertLike } from './backward-checks.js';
import {
  wantedOf,
  type BackwardOptions,
  type LinalgGradients,
  type WrtOption,
} from './backward-options.js';
import { summedTo } from './shape-gradient.js';
import type { SolveInputs } from './solve-backward.js';

/** Options of matmulBackward: those of the forward call that matter, and what is wanted. */
export interface MatmulBackwardOptions<W extends SolveInputs>
  extends
    BackwardOptions,
    WrtOption<W>,
    Pick<
      MatmulOptions<LinalgDType>,
      'alpha' | 'transposeA' | 'transposeB' | 'precision' | 'device' | 'maxBytes'
    > {}

const MATMUL_BACKWARD_OPTIONS: OptionNames<MatmulBackwardOptions<SolveInputs>> = {
  ...WORK_OPTIONS,
  wrt: true,
  alpha: true,
  transposeA: true,
  transposeB: true,
  precision: true,
  device: true,
  maxBytes: true,
};

/**
 * Gradients of `matmul(a, b)`: given `gradient` = dL/d(result), returns dL/da, `alpha gradient op(b)^T`, and dL/db,
 * `alpha op(a)^T gradient`, each turned round where its operand was (Giles 2008, section 2.2.2). The gradient of what `out` held
 * before, where beta is not 0, is `beta gradient`. `precision`, `device` and `maxBytes` say how these products are computed, as they do
 * for `matmul`.
 *
 * Shapes: gradient (..., m, n); da has a's shape and db has b's: over axes that were broadcast they are summed.
 *
 * @param saved a and b of the forward call
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { matmulBackward } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[1, 2]], { device: 'cpu' });
 * const b = await tensor([[3], [4]], { device: 'cpu' });
 * const { a: da, b: db } = await matmulBackward(await tensor([[1]], { device: 'cpu' }), { a, b });
 * console.log(await da.toNested(), await db.toNested()); // [ [ 3, 4 ] ] [ [ 1 ], [ 2 ] ]
 * ```
 */
export async function matmulBackward<
  D extends LinalgDType,
  const W extends SolveInputs = readonly ['a', 'b'],
>(
  gradient: Tensor<D>,
  { a, b }: { readonly a: Tensor<NoInfer<D>>; readonly b: Tensor<NoInfer<D>> },
  options?: MatmulBackwardOptions<W>,
): Promise<LinalgGradients<W, D>> {
  const what = 'matmulBackward';
  options = readOptions(what, options, MATMUL_BACKWARD_OPTIONS);
  const { alpha = 1, transposeA = false, transposeB = false } = options;
  const within = workOf(options);
  const wanted = wantedOf(what, options, ['a', 'b']);
  const { batchShape } = settingOf(what, { a, b });
  const [rows = 0, inner = 0] = extentsOf(a, transposeA);
  const [met = 0, columns = 0] = extentsOf(b, transposeB);
  if (inner !== met) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: a is ${a.label} and b is ${b.label}: ${inner} columns meet ${met} rows. Pass the operands and the transposeA and transposeB of the forward call.`,
    );
  }
  assertLike(what, 'gradient', gradient, [...batchShape, rows, columns], a);
  const gradients: { a?: Tensor<D>; b?: Tensor<D> } = {};
  const { precision, device, maxBytes } = options;
  const common = { alpha, ...within, precision, device, maxBytes };
  try {
    if (wanted.has('a')) {
      const whole = transposeA
        ? await matmul(b, gradient, { ...common, transposeA: transposeB, transposeB: true })
        : await matmul(gradient, b, { ...common, transposeB: !transposeB });
      gradients.a = await summedTo(whole, a.shape, within);
    }
    if (wanted.has('b')) {
      const whole = transposeB
        ? await matmul(gradient, a, { ...common, transposeA: true, transposeB: transposeA })
        : await matmul(a, gradient, { ...common, transposeA: !transposeA });
      gradients.b = await summedTo(whole, b.shape, within);
    }
  } catch (error) {
    gradients.a?.dispose();
    throw error;
  }
  return gradients as LinalgGradients<W, D>;
}

function extentsOf(x: Tensor, turned: boolean): readonly number[] {
  const extents = x.shape.slice(-2);
  return turned ? extents.toReversed() : extents;
}
