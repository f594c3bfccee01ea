import { eigh, qr } from '@mercer/linalg';
import { argSort, concat, stack, take, type Tensor } from '@mercer/tensor';
import { keeping } from '../krylov/columns.js';
import { sizeOf } from '../krylov/size.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { kept, times } from '../preconditioners/low-rank.js';
import { unitOf } from '../checks.js';

/** Which eigenvalues: those at one end of the spectrum, or those of the largest magnitude. */
export type Which = 'largest' | 'smallest' | 'magnitude';

/** A space known by an orthonormal basis (N, M), and the operator's products with that. */
export interface Subspace {
  readonly basis: Tensor;
  readonly images: Tensor;
  readonly [name: string]: Tensor;
}

/** The best that a space has of eigenpairs (Rayleigh and Ritz). */
export interface RitzPairs {
  /** (count), the wanted ones first. */
  readonly values: Tensor;
  /** (M, count): the vectors in the basis. */
  readonly coefficients: Tensor;
  /** (2): the largest element of `basis^T A basis`, and by how much it differs from its transpose. */
  readonly figures: Tensor;
  readonly [name: string]: Tensor;
}

/**
 * Orthonormal columns that span what a block adds to a basis, made orthogonal to it twice. Columns that add nothing but rounding are replaced by columns
 * of `spare`, which are random: so a Krylov space that is invariant goes on with another.
 *
 * @param block (N, B)
 * @param against (N, M), orthonormal columns, M + B <= N
 * @param spare (N, B)
 */
export async function orthonormal(
  block: Tensor,
  against: Tensor | undefined,
  spare: Tensor,
): Promise<Tensor> {
  const [n = 0] = block.shape;
  const rounding = 8 * Math.sqrt(n) * unitOf(block.dtype);
  using sizes = await block.norm(0);
  using first = await beside(block, against);
  const { r, ...others } = await qr(first as Tensor<'float64'>);
  using upper = r;
  using once = kept(others, 'q');
  using lengths: Tensor = await upper.diag();
  using adds: Tensor = await sizes.mul(rounding).ge(lengths.abs()).where(spare, once);
  using second = await beside(adds, against);
  using twice = kept(await qr(second as Tensor<'float64'>), 'q');
  using third = await beside(twice, against);
  return kept(await qr(third as Tensor<'float64'>), 'q');
}

/** What a block has beside a basis: a new tensor. */
export async function beside(block: Tensor, basis: Tensor | undefined): Promise<Tensor> {
  if (basis === undefined) return await block.clone();
  using along = await times(basis, block, { transposeA: true });
  using within = await times(basis, along);
  return await block.sub(within);
}

/** A first space, of an operator that is divided by `size`. */
export interface FirstSpace {
  readonly space: Subspace;
  readonly operator: LinearOperator;
  readonly size: number;
}

/** The space of an orthonormal block, which is kept, of the operator or, where its product is very large or small, of the operator by a power of two. */
export async function firstSpace(operator: LinearOperator, block: Tensor): Promise<FirstSpace> {
  using image: Tensor = await operator.matvec(block as never);
  const size = await sizeOf(image as Tensor<OperatorDType>);
  const basis = await block.clone();
  return await keeping({ basis }, async () => ({
    space: { basis, images: await (size === 1 ? image.clone() : image.mul(1 / size)) },
    operator: divided(operator, size),
    size,
  }));
}

/** An operator by a power of two. */
export const divided = (operator: LinearOperator, size: number): LinearOperator =>
  size === 1 ? operator : operator.scale(1 / size);

/** A space with a block more, orthonormal and orthogonal to it; both are kept. */
export async function extended(
  operator: LinearOperator,
  space: Subspace,
  block: Tensor,
): Promise<Subspace> {
  using last: Tensor = await operator.matvec(block as never);
  const basis: Tensor = await concat([space.basis, block], 1);
  return await keeping({ basis }, async () => ({
    basis,
    images: await concat([space.images, last], 1),
  }));
}

/** The part of a space that is spanned by combinations of its basis, (M, K) with orthonormal columns. */
export async function turned(space: Subspace, coefficients: Tensor): Promise<Subspace> {
  const basis = await times(space.basis, coefficients);
  return await keeping({ basis }, async () => ({
    basis,
    images: await times(space.images, coefficients),
  }));
}

/** The first pairs of a space. */
export async function ritzPairs(
  { basis, images }: Subspace,
  which: Which,
  count: number,
): Promise<RitzPairs> {
  using projected = await times(basis, images, { transposeA: true });
  using mirrored = projected.transpose();
  using most = await projected.abs().max();
  using differs = await projected.sub(mirrored).abs().max();
  using figures: Tensor = await stack([most, differs]);
  using symmetric = await projected.add(mirrored).mul(0.5);
  const pairs = await wantedPairs(symmetric, which, count);
  return await keeping(pairs, async () => ({ ...pairs, figures: await figures.clone() }));
}

/** Eigenpairs of a stored symmetric matrix, the wanted ones first. */
export async function wantedPairs(
  symmetric: Tensor,
  which: Which,
  count: number,
): Promise<{ readonly values: Tensor; readonly coefficients: Tensor }> {
  const { values, ...others } = await eigh(symmetric as Tensor<'float64'>);
  using all = values;
  using vectors = kept(others, 'vectors');
  using key: Tensor = await (
    which === 'smallest' ? all : which === 'largest' ? all.neg() : all.abs().neg()
  ).add(0);
  using order = await argSort(key);
  using wanted = order.slice([0, count]);
  const chosen = await take(all, wanted);
  return await keeping({ chosen }, async () => ({
    values: chosen,
    coefficients: await take(vectors, wanted, 1),
  }));
}

/** `A v - value v` of the columns of a space, (N, K). */
export async function residualsOf({ basis, images }: Subspace, values: Tensor): Promise<Tensor> {
  return await images.sub(basis.mul(values));
}

/** Norms of those, in float64, (K). */
export async function residualNorms(space: Subspace, values: Tensor): Promise<Tensor> {
  using residuals = await residualsOf(space, values);
  using wide = await residuals.cast('float64');
  using squares: Tensor = await wide.square().sum(0);
  return await squares.sqrt();
}
