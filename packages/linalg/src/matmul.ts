import { describeValue, type OptionNames } from '@mercer/options';
import {
  device,
  empty,
  MercerError,
  type Device,
  type DeviceLike,
  type DType,
  type Pending,
  type Tensor,
} from '@mercer/tensor';
import {
  attachMethods,
  checkOut,
  operationFunction,
  pending,
  readOptions,
} from '@mercer/tensor/operation';
import { flag, settingOf, type LinalgDType, type Setting } from './checks.js';
import { streamProduct } from './cuda/host/stream-product.js';
import { linalgOperation } from './linalg-operation.js';
import { matrixOperand, transposed, type MatrixLayout } from './operand.js';
import {
  RUN_OPTIONS,
  type PreparedCallOptions,
  type RoutinePrepareOptions,
  type RunOptions,
} from './options.js';
import { planProduct } from './plan-product.js';
import { precisionOf, type ProductPrecision } from './precision.js';

/** Options of matmul. */
export interface MatmulOptions<D extends LinalgDType> extends RunOptions {
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
  /** A GPU that computes the product of matrices in host memory, block by block; default: where the matrices are. */
  readonly device?: DeviceLike | undefined;
  /** Most memory that such blocks take on the GPU; default: three quarters of what is free there. */
  readonly maxBytes?: number | undefined;
}

const MATMUL_OPTIONS: OptionNames<MatmulOptions<LinalgDType>> = {
  ...RUN_OPTIONS,
  transposeA: true,
  transposeB: true,
  alpha: true,
  beta: true,
  out: true,
  precision: true,
  device: true,
  maxBytes: true,
};

/** Options that a prepared product takes anew; alpha and beta are those of the preparation where they are left out. */
export interface PreparedMatmulOptions<D extends LinalgDType>
  extends PreparedCallOptions<Tensor<D>>, Pick<MatmulOptions<D>, 'alpha' | 'beta'> {}

/** How {@link matmul} is called. */
export interface Matmul {
  <D extends LinalgDType>(
    a: Tensor<D>,
    b: Tensor<NoInfer<D>>,
    options?: MatmulOptions<NoInfer<D>>,
  ): Pending<Tensor<D>>;
  /** Loads what such a product needs, and gives a synchronous function. */
  readonly prepare: <D extends LinalgDType>(
    a: Tensor<D>,
    b: Tensor<NoInfer<D>>,
    options?: Omit<RoutinePrepareOptions<MatmulOptions<NoInfer<D>>>, 'device' | 'maxBytes'>,
  ) => Promise<
    (a: Tensor<D>, b: Tensor<NoInfer<D>>, options?: PreparedMatmulOptions<NoInfer<D>>) => Tensor<D>
  >;
}

const WHAT = 'matmul';

const operation = linalgOperation<MatmulOptions<LinalgDType>>({
  what: WHAT,
  matrices: ['a', 'b'],
  options: MATMUL_OPTIONS,
  results: ['c'],
  waiting: ['device', 'maxBytes'],
  numbers: ['alpha', 'beta'],
  // Memory that is added to is read.
  key: ({ device: place, maxBytes, beta = 0 }) =>
    place === undefined && maxBytes === undefined ? `${beta !== 0}` : undefined,
  scalars: (options) => {
    const { alpha, beta } = factorsOf(options);
    return alpha === 1 && beta === 0 ? undefined : { alpha, beta };
  },
  plan: (call, options) => {
    const { setting } = call;
    const { beta } = factorsOf(options);
    bytesOf(WHAT, options.maxBytes);
    const name = ROUTINES[precisionOf(setting, options.precision)];
    const [a, b] = oriented(call.matrices, [call.operand(0), call.operand(1)], options);
    planProduct(call, { a, b, c: call.matrix('c', a.rows, b.columns) }, name, beta !== 0);
  },
});

const ordinary: Matmul = operationFunction(operation, 2);

/**
 * Matrix products `alpha op(a) op(b) + beta out`: BLAS gemm, on the operands where they lie when one of their last two axes is
 * contiguous.
 *
 * Shapes: op(a) (..., m, k), op(b) (..., k, n), result (..., m, n). The leading batch axes broadcast. float32 or float64,
 * the same for both, summed in that dtype: |error| <= (k + 2) eps s elementwise, s = |alpha| |a| |b| + |beta out|. NaN and infinity
 * are carried.
 *
 * `precision` lets a GPU use its tensor cores for float32. With u = 2^-24, where nothing underflows:
 * - 'tf32': |error| <= (2^-9 + (2 k + 16) u) s. Factors are rounded to 11 bits, the largest of all to infinity, sums truncated (2 u a
 *   term).
 * - 'tf32x3': |error| <= (3 min(k, L) + 3 ceil(k / L) + 16) u s, L = 256 up to k = 2^17 and about sqrt(k / 2) beyond. Each
 *   factor is hi + lo, hi rounded to 11 bits and lo the exact rest, of which 11 bits are used; lo lo is left out (together 8 u). lo
 *   hi, hi lo and hi hi are exact in a tensor core, where sums are truncated (Fasi et al., PeerJ Computer Science 7:e330, 2021): of
 *   hi hi, chunks of L steps of k are added up in float32. From k = 400 on that is below float32's own bound. NaN and
 *   infinity come out as in float32, but infinity times a subnormal number may be NaN. It needs memory for the parts of the
 *   factors, up to 2 GiB or a quarter of what is free, a block of k at a time.
 *
 * Resolves when the work is enqueued: on the CPU one task of the pool for each batch entry, on a GPU cuBLASLt, one call for as
 * much of the batch as strides allow. There operands without a contiguous axis are copied first. It can be captured in a
 * graph once a product of these shapes has run on the stream.
 *
 * With `device` a GPU computes the product of matrices that stay in host memory, however large: blocks of m, n and k are planned from
 * free memory before it starts, or within `maxBytes`, travel through page-locked buffers while others are multiplied, and the result
 * lands in host memory. Then the promise resolves when it is there, work enqueued on the host before the call is waited for, and the
 * matrices must not be written until then. The bounds above hold for every plan; where memory makes blocks of k shorter than L,
 * L is their length.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT, OVERLAP, DISPOSED, UNSUPPORTED,
 * OUT_OF_MEMORY, NO_BACKEND
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
export const matmul: Matmul = Object.assign(
  <D extends LinalgDType>(
    a: Tensor<D>,
    b: Tensor<NoInfer<D>>,
    options?: MatmulOptions<NoInfer<D>>,
  ): Pending<Tensor<D>> =>
    options === undefined ? ordinary(a, b) : pending(whereAsked(a, b, options)),
  { prepare: ordinary.prepare },
);

declare module '@mercer/tensor' {
  interface TensorMethods<D extends DType> {
    /** The matrix product with `b`: see {@link matmul}. */
    matmul(
      b: Tensor<D> | Pending<Tensor<D>>,
      options?: MatmulOptions<D & LinalgDType>,
    ): Pending<Tensor<D>>;
  }
}

attachMethods({ matmul: { gives: 'tensor', call: matmul } });

/** A product where the options say: where the matrices are, or on a GPU that those in host memory are brought to block by block. */
async function whereAsked<D extends LinalgDType>(
  a: Tensor<D>,
  b: Tensor<D>,
  given: MatmulOptions<D>,
): Promise<Tensor<D>> {
  const options = readOptions(WHAT, given, MATMUL_OPTIONS as OptionNames<MatmulOptions<D>>);
  if (options.device === undefined) return ordinary(a, b, options);
  const { stream, out, signal, onProgress } = options;
  const setting = settingOf(WHAT, { a, b });
  const precision = precisionOf(setting, options.precision);
  const gpu = gpuFor(setting, options.device);
  const maxBytes = bytesOf(WHAT, options.maxBytes);
  const { alpha, beta } = factorsOf(options);
  const { batchShape, dtype, device: home } = setting;
  const operands = [matrixOperand(a, batchShape), matrixOperand(b, batchShape)] as const;
  const [left, right] = oriented([a, b], operands, options);
  const shape = [...batchShape, left.rows, right.columns];
  const isEmpty = left.columns === 0 || alpha === 0 || shape.includes(0);
  if (gpu === undefined || isEmpty) {
    return ordinary(a, b, { ...options, device: undefined, maxBytes: undefined });
  }
  signal?.throwIfAborted();
  if (out !== undefined) checkOut(out, { shape, dtype, device: home }, [a, b], WHAT);
  const made = out ?? (empty(shape, { dtype, device: home, stream }) as Tensor<D>);
  try {
    const c = matrixOperand(made, batchShape);
    const factors = { a: left, b: right, c, alpha, beta };
    await streamProduct({ setting, ...factors, precision, maxBytes, signal, onProgress }, gpu);
  } catch (error) {
    if (out === undefined) made.dispose();
    throw error;
  }
  return made;
}

/** alpha and beta. @throws MercerError INVALID_ARGUMENT */
function factorsOf({
  alpha = 1,
  beta = 0,
  out,
}: Pick<MatmulOptions<LinalgDType>, 'alpha' | 'beta' | 'out'>): Record<'alpha' | 'beta', number> {
  for (const [name, value] of Object.entries({ alpha, beta })) {
    if (typeof value === 'number') continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${WHAT}: ${name} is ${describeValue(value)}. Pass a number, or leave it away.`,
    );
  }
  if (beta === 0 || out !== undefined) return { alpha, beta };
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${WHAT}: beta is ${beta} and there is no out to multiply with it. Pass out, or leave beta away.`,
  );
}

/** The factors, turned as the options say. @throws MercerError SHAPE_MISMATCH */
function oriented<M extends MatrixLayout>(
  [a, b]: readonly Tensor[],
  [left, right]: readonly [M, M],
  options: Pick<MatmulOptions<LinalgDType>, 'transposeA' | 'transposeB'>,
): readonly [M, M] {
  const transposeA = flag(WHAT, 'transposeA', options.transposeA);
  const transposeB = flag(WHAT, 'transposeB', options.transposeB);
  const factors = [
    transposeA ? transposed(left) : left,
    transposeB ? transposed(right) : right,
  ] as const;
  const [{ columns }, { rows }] = factors;
  if (columns === rows) return factors;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${WHAT}: a is ${a?.label}${transposeA ? ', transposed' : ''} and b is ${b?.label}${transposeB ? ', transposed' : ''}: ` +
      `${columns} columns meet ${rows} rows. They must be equal; see transposeA and transposeB.`,
  );
}

/**
 * The GPU that computes what lies in host memory, if it is not computed where it lies.
 *
 * @throws MercerError DEVICE_MISMATCH for matrices that lie on another GPU; NO_BACKEND
 */
function gpuFor({ what, device: own }: Setting, place: DeviceLike | undefined): Device | undefined {
  if (place === undefined) return undefined;
  const chosen = device(place);
  if (chosen === own) return undefined;
  if (own.kind === 'cpu') return chosen;
  throw new MercerError(
    'DEVICE_MISMATCH',
    `${what}: the matrices are on ${own.id} and device is ${chosen.id}. Only matrices in host memory are brought elsewhere block by block; move these with to('${chosen.id}').`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
function bytesOf(what: string, maxBytes: number | undefined): number | undefined {
  if (maxBytes === undefined || (Number.isSafeInteger(maxBytes) && maxBytes > 0)) return maxBytes;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: maxBytes is ${describeValue(maxBytes)}. Pass a whole number of bytes, or leave it away.`,
  );
}

const ROUTINES: Readonly<Record<ProductPrecision, 'gemm' | 'gemmTf32' | 'gemmTf32x3'>> = {
  float32: 'gemm',
  tf32: 'gemmTf32',
  tf32x3: 'gemmTf32x3',
};
