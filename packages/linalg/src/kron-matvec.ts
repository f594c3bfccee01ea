import { MercerError, type Pending, type Tensor } from '@mercer/tensor';
import { assertTensor, pending, readOptions } from '@mercer/tensor/operation';
import { settingOf, type LinalgDType } from './checks.js';
import { type KronOptions, KRON_OPTIONS } from './kron.js';
import { matmul } from './matmul.js';

/**
 * Products `y = (a kron b) x` without the Kronecker product: with x read as a matrix X of q rows and s columns, row by row,
 * y is `a X b^T`. Two matrix products, in the cheaper order.
 *
 * Shapes: a (..., p, q), b (..., r, s), x (..., q s), result (..., p r). The leading batch axes broadcast, so several vectors
 * are one more batch axis of x. float32 or float64, the same for all. An x whose last axis is not contiguous is copied first;
 * `out` must be row-major.
 *
 * Resolves when the work is enqueued.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP, NOT_CONTIGUOUS (out), DISPOSED, UNSUPPORTED, NO_BACKEND
 *
 * @example
 * ```ts
 * import { kronMatvec } from '@mercer/linalg';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[1, 2]], { device: 'cpu' });
 * const b = await tensor([[3], [4]], { device: 'cpu' });
 * const x = await tensor([1, 10], { device: 'cpu' });
 * console.log(await (await kronMatvec(a, b, x)).toNested()); // [ 63, 84 ]
 * ```
 */
export function kronMatvec<D extends LinalgDType>(
  a: Tensor<D>,
  b: Tensor<NoInfer<D>>,
  x: Tensor<NoInfer<D>>,
  options?: KronOptions<NoInfer<D>>,
): Pending<Tensor<D>> {
  return pending(product(a, b, x, options));
}

async function product<D extends LinalgDType>(
  a: Tensor<D>,
  b: Tensor<NoInfer<D>>,
  x: Tensor<NoInfer<D>>,
  options?: KronOptions<NoInfer<D>>,
): Promise<Tensor<D>> {
  const { out, ...within } = readOptions('kronMatvec', options, KRON_OPTIONS);
  const what = 'kronMatvec';
  assertTensor(x, `${what}: x`);
  settingOf(what, { a, b });
  const [p = 0, q = 0] = a.shape.slice(-2);
  const [r = 0, s = 0] = b.shape.slice(-2);
  if (x.shape.at(-1) !== q * s) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: x is ${x.label}, and a kron b has ${q * s} columns (${q} times ${s}). The last axis of x must have that many elements.`,
    );
  }
  using packed = await x.contiguous(within);
  using matrix = packed.reshape([...x.shape.slice(0, -1), q, s]);
  const { batchShape } = settingOf(what, { a, b, x: matrix });
  if (out !== undefined) assertTensor(out, `${what}: out`);
  using target = out?.reshape([...batchShape, p, r]);
  const last = { ...within, out: target };
  const leftFirst = p * q * s + p * s * r <= q * s * r + p * q * r;
  if (leftFirst) {
    using half = await matmul(a, matrix, { ...within });
    return flat(await matmul(half, b, { ...last, transposeB: true }), out);
  }
  using half = await matmul(matrix, b, { ...within, transposeB: true });
  return flat(await matmul(a, half, last), out);
}

/** The result with its last two axes as one. */
function flat<D extends LinalgDType>(y: Tensor<D>, out: Tensor<D> | undefined): Tensor<D> {
  if (out !== undefined) return out;
  using whole = y;
  const [p = 0, r = 0] = whole.shape.slice(-2);
  return whole.reshape([...whole.shape.slice(0, -2), p * r]);
}
