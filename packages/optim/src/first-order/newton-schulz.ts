import { add, mul, variable } from '@mercer/formula';
import { matmul } from '@mercer/linalg';
import { map, type Tensor } from '@mercer/tensor';

/** a, b, c of X = a X + (b A + c A^2) X, A = X X^T (Jordan et al. 2024): a slope at 0 that is as steep as possible; singular values end in [0.7, 1.3]. */
const [A, B, C] = [3.4445, -4.775, 2.0315];

const POLYNOMIAL = add(mul(B, variable('gram')), mul(C, variable('square')));
const NEXT = add(mul(A, variable('x')), variable('bx'));

/**
 * Matrices whose singular values are near 1, with the singular vectors of `x`: the Newton-Schulz iteration of Muon, with products on the shorter side.
 *
 * @param x (count, rows, columns), each with singular values of at most 1; it is disposed
 * @param dtype what each product is rounded to
 */
export async function orthogonalised(
  x: Tensor,
  steps: number,
  dtype: 'float64' | 'float32' | 'bfloat16',
): Promise<Tensor> {
  const [, rows = 0, columns = 0] = x.shape;
  const isWide = rows <= columns;
  let current = x;
  const product = async (a: Tensor, b: Tensor, options: object): Promise<Tensor> =>
    matmul(a as never, b as never, options);
  for (let step = 0; step < steps; step++) {
    using last = current;
    using gram = await rounded(
      await product(last, last, isWide ? { transposeB: true } : { transposeA: true }),
      dtype,
    );
    using square = await product(gram, gram, {});
    using polynomial = await map(POLYNOMIAL, { gram, square }, { dtype });
    using bx = isWide ? await product(polynomial, last, {}) : await product(last, polynomial, {});
    current = await map(NEXT, { x: last, bx }, { dtype });
  }
  return current;
}

/** In another dtype; what is in it already is given as it is, and what is not is disposed. */
async function rounded(x: Tensor, dtype: Tensor['dtype']): Promise<Tensor> {
  if (x.dtype === dtype) return x;
  using wide = x;
  return await wide.cast(dtype);
}
