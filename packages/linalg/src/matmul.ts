import { describeValue, own, type OptionNames } from '@mercer/options';
import {
  device,
  MercerError,
  type DeviceLike,
  type DType,
  type Pending,
  type Tensor,
  type TensorOperand,
} from '@mercer/tensor';
import {
  attachMethods,
  differentiable,
  inFront,
  operationFunction,
  summedTo,
  type DerivativeRule,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';
import {
  flag,
  floating,
  isHalf,
  type ComputedIn,
  type FactorDType,
  type LinalgDType,
  type Setting,
} from './checks.js';
import { linalgOperation } from './linalg-operation.js';
import { transposed, type PlannedMatrix } from './operand.js';
import {
  RUN_OPTIONS,
  type PreparedCallOptions,
  type RoutinePrepareOptions,
  type RunOptions,
} from './options.js';
import { planProduct, type ProductNumbers } from './plan-product.js';
import type { PlannedCall } from './planned-call.js';
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
  /** How float32 products are computed on a GPU; default 'float32', of two factors of 16 bits 'tf32', which is exact for these. */
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

type Narrow = Exclude<FactorDType, 'float64'>;

/** Dtypes of the other factor. */
export type FactorBeside<D extends DType> = D extends Narrow ? Narrow : D;

/** How {@link matmul} is called. */
export interface Matmul {
  <D extends FactorDType>(
    a: TensorOperand<D>,
    b: TensorOperand<FactorBeside<NoInfer<D>>>,
    options?: MatmulOptions<ComputedIn<NoInfer<D>>>,
  ): Pending<Tensor<ComputedIn<D>>>;
  /** Loads what such a product needs, and gives a synchronous function. */
  readonly prepare: <D extends FactorDType>(
    a: Tensor<D>,
    b: Tensor<FactorBeside<NoInfer<D>>>,
    options?: Omit<
      RoutinePrepareOptions<MatmulOptions<ComputedIn<NoInfer<D>>>>,
      'device' | 'maxBytes'
    >,
  ) => Promise<
    (
      a: Tensor<D>,
      b: Tensor<FactorBeside<NoInfer<D>>>,
      options?: PreparedMatmulOptions<ComputedIn<NoInfer<D>>>,
    ) => Tensor<ComputedIn<D>>
  >;
}

const WHAT = 'matmul';

const operation = linalgOperation<MatmulOptions<LinalgDType>>({
  what: WHAT,
  matrices: ['a', 'b'],
  takesHalves: true,
  options: MATMUL_OPTIONS,
  results: ['c'],
  waiting: ['device', 'maxBytes'],
  numbers: ['alpha', 'beta'],
  // Memory that is added to is read.
  key: ({ device: place, maxBytes, beta = 0 }) =>
    place === undefined && maxBytes === undefined ? `${beta !== 0}` : undefined,
  scalars: (options) => {
    const { alpha, beta } = factorsOf(WHAT, options);
    return alpha === 1 && beta === 0 ? undefined : { alpha, beta };
  },
  plan: (call, options) => {
    const { setting } = call;
    const { alpha, beta } = factorsOf(WHAT, options);
    const host = hostOf(setting, options);
    // blocks are copied as they lie
    if (host !== undefined) for (const name of ['a', 'b']) floating(WHAT, name, call.tensor(name));
    const areHalves = isHalf(call.tensor('a')) && isHalf(call.tensor('b'));
    const precision = precisionOf(setting, options.precision ?? (areHalves ? 'tf32' : undefined));
    const [a, b] = oriented(call, options);
    const c = call.matrix('c', a.rows, b.columns);
    const isEmpty = a.columns === 0 || alpha === 0 || c.memory.shape.includes(0);
    const how = { precision, host: isEmpty ? undefined : host };
    // alpha and beta are given anew in each call
    planProduct(call, setting.batchShape, { a, b, c }, how, beta !== 0);
  },
});

/** Products as rules write them, which know no dtype. */
export const matmulOf = (a: Value, b: Value, options?: MatmulOptions<LinalgDType>): Value =>
  matmul(a as Tensor<'float64'>, b as Tensor<'float64'>, options as MatmulOptions<'float64'>);

/** Options that the products of a derivative have too. */
const HOW = ['alpha', 'precision', 'device', 'maxBytes'] as const;

const derivative: DerivativeRule<
  readonly [a: KnownValue, b: KnownValue, options?: MatmulOptions<LinalgDType>]
> = {
  isOfForms: true,
  vjp: (g, { args: [a, b, options = {}], result }) => {
    const { transposeA = false, transposeB = false } = options;
    const { alpha, precision, device, maxBytes } = own(options, ...HOW);
    const product = (x: Value, y: Value, first: boolean, second: boolean): Value =>
      matmulOf(x, y, { alpha, precision, device, maxBytes, transposeA: first, transposeB: second });
    const batch = result.shape.slice(0, -2);
    const share = ({ shape }: KnownValue, whole: Value): Value =>
      summedTo(whole, [...batch, ...shape.slice(-2)], shape);
    const ofA = (): Value =>
      transposeA ? product(b, g, transposeB, true) : product(g, b, false, !transposeB);
    const ofB = (): Value =>
      transposeB ? product(g, a, true, transposeA) : product(a, g, !transposeA, false);
    return [() => share(a, ofA()), () => share(b, ofB())];
  },
  jvp: ([da, db], { args: [a, b, options = {}] }) => {
    const how = own(options, ...HOW, 'transposeA', 'transposeB');
    const left = da === undefined ? undefined : matmulOf(da as Value, b, how);
    const right = db === undefined ? undefined : matmulOf(a, db as Value, how);
    return left !== undefined && right !== undefined ? left.add(right) : (left ?? right);
  },
};

/**
 * Matrix products `alpha op(a) op(b) + beta out`: BLAS gemm, on the operands where they lie when one of their last two axes is
 * contiguous.
 *
 * Shapes: op(a) (..., m, k), op(b) (..., k, n), result (..., m, n). The leading batch axes broadcast. float32 or float64,
 * the same for both, summed in that dtype; float16 and bfloat16, which may stand beside float32, are converted to it and give it, as in
 * arithmetic. |error| <= (k + 2) eps s elementwise, s = |alpha| |a| |b| + |beta out|. NaN and infinity
 * are carried.
 *
 * Two factors of 16 bits are multiplied exactly in a GPU's tensor cores (TF32, whose 11 bits hold them), where sums are truncated: |error| <=
 * (2 k + 16) 2^-24 s; with precision 'float32' they are summed as float32 is. Matrices that `device` brings to a GPU are float32 or float64.
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
export const matmul: Matmul = differentiable(
  WHAT,
  operationFunction(operation, 2),
  derivative,
  inFront(2),
  'one call',
);

declare module '@mercer/tensor' {
  interface TensorMethods<D extends DType> {
    /** The matrix product with `b`: see {@link matmul}. */
    matmul(
      b: TensorOperand<FactorBeside<D>>,
      options?: MatmulOptions<ComputedIn<D>>,
    ): Pending<Tensor<ComputedIn<D>>>;
  }
}

attachMethods({ matmul });

/** alpha and beta. @throws MercerError INVALID_ARGUMENT */
export function factorsOf(
  what: string,
  { alpha = 1, beta = 0, out }: Pick<MatmulOptions<LinalgDType>, 'alpha' | 'beta' | 'out'>,
): Record<'alpha' | 'beta', number> {
  for (const [name, value] of Object.entries({ alpha, beta })) {
    if (typeof value === 'number') continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${name} is ${describeValue(value)}. Pass a number, or leave it away.`,
    );
  }
  if (beta === 0 || out !== undefined) return { alpha, beta };
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: beta is ${beta} and there is no out to multiply with it. Pass out, or leave beta away.`,
  );
}

/** The factors, turned as the options say. @throws MercerError SHAPE_MISMATCH */
export function oriented(
  call: PlannedCall,
  options: Pick<MatmulOptions<LinalgDType>, 'transposeA' | 'transposeB'>,
): readonly [PlannedMatrix, PlannedMatrix] {
  const transposeA = flag(call.what, 'transposeA', options.transposeA);
  const transposeB = flag(call.what, 'transposeB', options.transposeB);
  const [left, right] = [call.operand('a'), call.operand('b')];
  const a = transposeA ? transposed(left) : left;
  const b = transposeB ? transposed(right) : right;
  if (a.columns === b.rows) return [a, b];
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${call.what}: a is ${call.tensor('a').label}${transposeA ? ', transposed' : ''} and b is ${call.tensor('b').label}${transposeB ? ', transposed' : ''}: ` +
      `${a.columns} columns meet ${b.rows} rows. They must be equal; see transposeA and transposeB.`,
  );
}

/**
 * The GPU that computes what lies in host memory, if it is not computed where it lies.
 *
 * @throws MercerError INVALID_ARGUMENT; DEVICE_MISMATCH for matrices that lie on another GPU; NO_BACKEND
 */
export function hostOf(
  { what, device: own }: Setting,
  { device: place, maxBytes }: Pick<MatmulOptions<LinalgDType>, 'device' | 'maxBytes'>,
): ProductNumbers['host'] {
  if (maxBytes !== undefined && !(Number.isSafeInteger(maxBytes) && maxBytes > 0)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: maxBytes is ${describeValue(maxBytes)}. Pass a whole number of bytes, or leave it away.`,
    );
  }
  const gpu = place === undefined ? own : device(place);
  if (gpu === own) return undefined;
  if (own.kind === 'cpu') return { gpu, maxBytes };
  throw new MercerError(
    'DEVICE_MISMATCH',
    `${what}: the matrices are on ${own.id} and device is ${gpu.id}. Only matrices in host memory are brought elsewhere block by block; move these with to('${gpu.id}').`,
  );
}
