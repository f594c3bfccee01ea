import { describeValue, type OptionNames } from '@mercer/options';
import { codeOf } from '../code-of.js';
import { workspaceOf, type DeviceMatrix, type DeviceWorkspace } from '../device-region.js';
import { misuse } from '../errors.js';
import { requireCublasLt } from '../library/open-libraries.js';
import type { BufferHandle } from '../native/handles.js';
import { handleOf } from '../native/owned.js';
import { readOptions } from '../read-options.js';
import type { CudaStream } from '../stream.js';

/** Element types of a product. */
export type ProductType = 'float64' | 'float32' | 'float16' | 'bfloat16';

/**
 * What is computed in: float64 (the default for float64), float32 (the default for all others) or
 * tf32, which rounds float32 operands to 10 bits of fraction.
 */
export type ProductCompute = 'float64' | 'float32' | 'tf32';

/** A matrix, or one for each element of a batch. */
export interface ProductMatrix extends DeviceMatrix {
  /** Elements from one matrix of a batch to the next; 0 uses one matrix for all. Default 0. */
  readonly batchStride?: number;
}

/** d = alpha op(a) op(b) + beta c, where op(a) is m x k, op(b) k x n, c and d m x n. */
export interface MatmulOptions {
  /** Of a and b. */
  readonly dtype: ProductType;
  /** Of c and d. Default `dtype`. */
  readonly outDtype?: ProductType;
  readonly compute?: ProductCompute;
  /**
   * Order of all four matrices. In row order a leading dimension counts the elements from one row to
   * the next. Default `'column'`.
   */
  readonly order?: 'row' | 'column';
  readonly m: number;
  readonly n: number;
  /** At least 1. */
  readonly k: number;
  /** Default 1. */
  readonly batch?: number;
  /** op(a) = aᵀ. Default false. */
  readonly transposeA?: boolean;
  /** op(b) = bᵀ. Default false. */
  readonly transposeB?: boolean;
  /** Default 1. */
  readonly alpha?: number;
  /** Default 0, and then c and what is in d are not read. */
  readonly beta?: number;
  readonly a: ProductMatrix;
  readonly b: ProductMatrix;
  /** May be d itself. Default d. */
  readonly c?: ProductMatrix;
  readonly d: ProductMatrix;
  /** More lets the library choose faster algorithms; 32 MiB is enough for the fastest. */
  readonly workspace?: DeviceWorkspace;
}

/** Every property of a type, undefined where it is left out. */
type Whole<O> = { readonly [K in keyof Required<O>]: O[K] };

/** @internal What a product is when its options were read. */
export type WholeProduct = Omit<Whole<MatmulOptions>, 'a' | 'b' | 'c' | 'd'> & {
  readonly a: Whole<ProductMatrix>;
  readonly b: Whole<ProductMatrix>;
  readonly c: Whole<ProductMatrix> | undefined;
  readonly d: Whole<ProductMatrix>;
};

const orders = { column: 0, row: 1 } as const;
const types = { float32: 0, float64: 1, float16: 2, bfloat16: 14 } as const;
const computes = { float32: 68, float64: 70, tf32: 77 } as const;

const PRODUCT: OptionNames<MatmulOptions> = {
  dtype: true,
  outDtype: true,
  compute: true,
  order: true,
  m: true,
  n: true,
  k: true,
  batch: true,
  transposeA: true,
  transposeB: true,
  alpha: true,
  beta: true,
  a: true,
  b: true,
  c: true,
  d: true,
  workspace: true,
};
const MATRIX: OptionNames<ProductMatrix> = {
  buffer: true,
  byteOffset: true,
  leadingDimension: true,
  batchStride: true,
};

/**
 * Enqueues cublasLtMatmul with the algorithm that the library holds best; it is asked once for each
 * problem and device. Can be captured. Throws `CublasError`, with the name
 * `CUBLAS_STATUS_NOT_SUPPORTED` where there is no algorithm for types, alignment and workspace.
 *
 * @see cublasLtMatmul: https://docs.nvidia.com/cuda/cublas/index.html
 */
export function matmul(stream: CudaStream, options: MatmulOptions): void {
  const read = readOptions('cublasLt.matmul', options, PRODUCT);
  const [a, b, d] = [readMatrix(read.a, 'a'), readMatrix(read.b, 'b'), readMatrix(read.d, 'd')];
  const c = read.c === undefined ? d : readMatrix(read.c, 'c');
  enqueueMatmul(stream, { ...read, a, b, c, d } as WholeProduct);
}

/**
 * @internal As {@link matmul}, of a product whose every property, and its matrices', is there: nothing is looked for on
 * Object.prototype, and names are not checked, which takes longer than the library does for a small product.
 */
export function enqueueMatmul(stream: CudaStream, read: WholeProduct): void {
  const { dtype, outDtype = dtype, alpha = 1, beta = 0, batch = 1, c = read.d, d } = read;
  const { compute = dtype === 'float64' ? 'float64' : 'float32', workspace, k } = read;
  if (typeof k !== 'number' || !(k >= 1)) {
    throw misuse(
      'INVALID_ARGUMENT',
      `A product over k = ${describeValue(k)} elements. Pass at least 1; an empty sum is a fill with 0.`,
    );
  }
  const { m, n, a, b, transposeA, transposeB } = columnMajor(read);
  requireCublasLt().matmul(
    handleOf(stream, 'CudaStream'),
    codeOf(types, dtype, 'The dtype'),
    codeOf(types, outDtype, 'outDtype'),
    codeOf(computes, compute, 'compute'),
    transposeA ? 1 : 0,
    transposeB ? 1 : 0,
    m,
    n,
    k,
    batch,
    alpha,
    beta,
    ...productMatrixOf(a),
    ...productMatrixOf(b),
    ...productMatrixOf(c),
    ...productMatrixOf(d),
    ...workspaceOf(workspace),
  );
}

const readMatrix = (matrix: ProductMatrix, name: string): Whole<ProductMatrix> =>
  readOptions(`cublasLt.matmul: ${name}`, matrix, MATRIX) as Whole<ProductMatrix>;

function productMatrixOf(
  matrix: Whole<ProductMatrix>,
): [buffer: BufferHandle, offset: number, leading: number, stride: number] {
  const { buffer, byteOffset = 0, leadingDimension, batchStride = 0 } = matrix;
  return [handleOf(buffer, 'DeviceBuffer'), byteOffset, leadingDimension, batchStride];
}

type Operands = Pick<WholeProduct, 'm' | 'n' | 'a' | 'b'> & {
  readonly transposeA: boolean;
  readonly transposeB: boolean;
};

/** The library's order: a product in row order is the product of the transposes in column order, b first. */
function columnMajor(options: WholeProduct): Operands {
  const { m, n, a, b, order = 'column', transposeA = false, transposeB = false } = options;
  if (codeOf(orders, order, 'The order') === orders.column)
    return { m, n, a, b, transposeA, transposeB };
  return { m: n, n: m, a: b, b: a, transposeA: transposeB, transposeB: transposeA };
}
