import { MercerError, type StreamOption, type Tensor } from '@mercer/tensor';
import { settingOf, type LinalgDType } from './checks.js';
import { matrixOperand, transposed, type MatrixOperand } from './operand.js';
import { withOutputs } from './outputs.js';
import { routines } from './routines.js';
import { runRoutine } from './run-routine.js';

/** Options of matmul. */
export interface MatmulOptions<D extends LinalgDType> extends StreamOption {
  /** Take a's last two axes exchanged; default false. */
  readonly transposeA?: boolean | undefined;
  /** Take b's last two axes exchanged; default false. */
  readonly transposeB?: boolean | undefined;
  /** Default 1. */
  readonly alpha?: number | undefined;
  /** Needs out; default 0, with which out's former content is not read. */
  readonly beta?: number | undefined;
  readonly out?: Tensor<D> | undefined;
}

/**
 * Matrix products `alpha op(a) op(b) + beta out`: BLAS gemm, on the operands where they lie when one of their last two axes is
 * contiguous.
 *
 * Shapes: op(a) (..., m, k), op(b) (..., k, n), result (..., m, n). The leading batch axes broadcast. float32 or float64,
 * the same for both, summed in that dtype: |error| <= k eps |a| |b| elementwise. NaN and infinity are carried.
 *
 * Resolves when the work is enqueued: on the CPU one task of the pool for each batch entry, on a GPU cuBLASLt, one call for as
 * much of the batch as strides allow. There operands without a contiguous axis are copied first. It can be captured in a
 * graph where nothing has to be copied and out is given, once a product has run on the device.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED
 *
 * @example
 * ```ts
 * import { matmul } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[1, 2], [3, 4]], { device: 'cpu' });
 * console.log(await (await matmul(a, a, { transposeB: true })).toNested()); // [ [ 5, 11 ], [ 11, 25 ] ]
 * ```
 */
export async function matmul<D extends LinalgDType>(
  a: Tensor<D>,
  b: Tensor<NoInfer<D>>,
  options: MatmulOptions<NoInfer<D>> = {},
): Promise<Tensor<D>> {
  const what = 'matmul';
  const { stream, out, alpha = 1, beta = 0, transposeA = false, transposeB = false } = options;
  const setting = settingOf(what, { a, b });
  const { batchShape } = setting;
  const left = oriented(a, batchShape, transposeA);
  const right = oriented(b, batchShape, transposeB);
  if (left.columns !== right.rows) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: a is ${a.label}${transposeA ? ', transposed' : ''} and b is ${b.label}${transposeB ? ', transposed' : ''}: ` +
        `${String(left.columns)} columns meet ${String(right.rows)} rows. They must be equal; see transposeA and transposeB.`,
    );
  }
  if (beta !== 0 && out === undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: beta is ${String(beta)} and there is no out to multiply with it. Pass out, or leave beta away.`,
    );
  }
  return withOutputs(setting, stream, async (outputs) => {
    const made = outputs.given(out, [left.rows, right.columns], [a, b]);
    const c = matrixOperand(made, batchShape);
    await runRoutine(routines.gemm, setting, { a: left, b: right, c, alpha, beta }, stream);
    return made;
  });
}

function oriented(x: Tensor, batchShape: readonly number[], exchange: boolean): MatrixOperand {
  const operand = matrixOperand(x, batchShape);
  return exchange ? transposed(operand) : operand;
}
