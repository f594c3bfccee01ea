import { MercerError, type StreamOption, type Tensor } from '@mercer/tensor';
import { choice, settingOf, type LinalgDType, type Setting } from './checks.js';
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
  /** How float32 products are computed on a GPU; default 'float32'. */
  readonly precision?: ProductPrecision | undefined;
}

/**
 * What a GPU does to float32 factors: 'float32' nothing; 'tf32' rounds them to 11 significant bits for its tensor cores; 'tf32x3'
 * adds up three such products of the factors' parts. A CPU computes in float32 whatever is asked for.
 */
export type ProductPrecision = 'float32' | 'tf32' | 'tf32x3';

/**
 * Matrix products `alpha op(a) op(b) + beta out`: BLAS gemm, on the operands where they lie when one of their last two axes is
 * contiguous.
 *
 * Shapes: op(a) (..., m, k), op(b) (..., k, n), result (..., m, n). The leading batch axes broadcast. float32 or float64,
 * the same for both, summed in that dtype: |error| <= (k + 2) eps s elementwise, s = |alpha| |a| |b| + |beta out|. NaN and infinity
 * are carried.
 *
 * `precision` lets a GPU use its tensor cores for float32. With u = 2^-24, where nothing underflows:
 * - 'tf32': |error| <= (2^-9 + (2 k + 16) u) s. Factors are rounded to 11 bits, sums truncated (2 u a term).
 * - 'tf32x3': |error| <= (3 min(k, L) + 3 ceil(k / L) + 16) u s, L = 256 up to k = 2^17 and about sqrt(k / 2) beyond. Each
 *   factor is hi + lo, hi rounded to 11 bits and lo the exact rest, of which 11 bits are used; lo lo is left out (together 8 u). lo
 *   hi, hi lo and hi hi are exact in a tensor core, where sums are truncated (Fasi et al., PeerJ Computer Science 7:e330, 2021): of
 *   hi hi, chunks of L steps of k are added up in float32. From k = 400 on that is below float32's own bound. NaN and
 *   infinity come out as in float32, but infinity times a subnormal number may be NaN. It needs memory for the parts of the
 *   factors, up to 2 GiB or a quarter of what is free, a block of k at a time, and cannot be captured.
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
  const precision = precisionOf(setting, options.precision);
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
    await runRoutine(
      routineOf(setting, precision),
      setting,
      { a: left, b: right, c, alpha, beta },
      stream,
    );
    return made;
  });
}

/** @throws MercerError INVALID_ARGUMENT for what there is not, or is not for float64 */
function precisionOf(
  { what, dtype }: Setting,
  precision: ProductPrecision | undefined,
): ProductPrecision {
  const chosen = choice(what, 'precision', precision, ['float32', 'tf32', 'tf32x3']);
  if (dtype === 'float32' || precision === undefined) return chosen;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: precision is '${chosen}' and the matrices are ${dtype}, whose products are computed in ${dtype}. ` +
      "It chooses how float32 products are computed: leave it away, or call cast('float32') first.",
  );
}

/** GPUs have a routine for each precision, under its name. */
function routineOf({ device }: Setting, precision: ProductPrecision): typeof routines.gemm {
  if (device.kind === 'cpu' || precision === 'float32') return routines.gemm;
  return { ...routines.gemm, name: `${routines.gemm.name}_${precision}` };
}

function oriented(x: Tensor, batchShape: readonly number[], exchange: boolean): MatrixOperand {
  const operand = matrixOperand(x, batchShape);
  return exchange ? transposed(operand) : operand;
}
