import { describeValue } from '@mercer/options';
import { concat, MercerError, stack, type Tensor } from '@mercer/tensor';
import { keeping } from '../krylov/columns.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { checkFinite, checkSymmetric, unitOf } from '../checks.js';
import { sizeFor } from '../krylov/size.js';
import { divided, residualNorms, wantedPairs, type Which } from './subspace.js';

/** Eigenpairs, and how they were found. */
export interface EigenSolution<D extends OperatorDType> {
  /** (k), the wanted ones first: the largest, the smallest, or the largest of magnitude. The caller disposes them. */
  readonly values: Tensor<D>;
  /** (N, k), orthonormal: column j belongs to value j. The caller disposes them. */
  readonly vectors: Tensor<D>;
  /** Whether all residuals are at most rtol. */
  readonly converged: boolean;
  /** Products of the operator with blocks of vectors; 0 where the matrix is small, and was stored and factored. */
  readonly iterations: number;
  /** Of each pair the norm of `A v - value v`, computed anew, by the largest `u . A v` of unit vectors that was met: the norm of A, or somewhat less. */
  readonly residuals: readonly number[];
}

/** Eigenpairs without what is said of them. */
export interface EigenPairs {
  readonly values: Tensor;
  readonly vectors: Tensor;
  readonly [name: string]: Tensor;
}

/** What is said of eigenpairs. */
export type EigenReport = Omit<EigenSolution<never>, 'values' | 'vectors'>;

/** What a search found. */
export interface EigenFound {
  readonly pairs: EigenPairs;
  readonly report: EigenReport;
  /** The norm of the operator, as far as it is known. */
  readonly scale: number;
}

/** Where an eigensolver stands. */
export interface Standing {
  readonly values: readonly number[];
  /** By the norm of the operator. */
  readonly residuals: readonly number[];
  /** What they are by: the largest `u . A v` of unit vectors so far. */
  readonly scale: number;
}

/** By what the operator is at least in norm; 0 of the operator 0. */
const relativeTo = (norm: number, residuals: readonly number[]): readonly number[] =>
  residuals.map((one) => (norm === 0 ? one : one / norm));

/** Reads where an eigensolver stands, in one round trip; `known` is its scale before. @throws SolverError NOT_FINITE, ASYMMETRIC */
export async function readStanding(
  what: string,
  values: Tensor,
  norms: Tensor,
  figures: Tensor,
  count: number,
  known: number,
  signal: AbortSignal | undefined,
): Promise<Standing> {
  using own = await values.cast('float64');
  using both = await figures.cast('float64');
  using all = await concat([own, norms, both], 0);
  const numbers = await all.toNested<readonly number[]>();
  signal?.throwIfAborted();
  checkFinite(what, numbers);
  const [most = 0, differs = 0] = numbers.slice(-2);
  checkSymmetric(what, values.dtype, differs, most);
  const every = numbers.slice(0, -2 - count);
  const norm = Math.max(known, most, ...every.map(Math.abs));
  return {
    scale: norm,
    values: every.slice(0, count),
    residuals: relativeTo(norm, numbers.slice(-2 - count, -2)),
  };
}

/** True residuals of eigenpairs, of a product computed anew. */
export async function truthOf(
  operator: LinearOperator,
  { values, vectors }: EigenPairs,
  scale: number,
): Promise<readonly number[]> {
  using images: Tensor = await operator.matvec(vectors as never);
  using norms = await residualNorms({ basis: vectors, images }, values);
  return relativeTo(scale, await norms.toNested<readonly number[]>());
}

/** Pairs of an operator that is small enough to be stored, divided by `size`. */
export async function densePairs(
  what: string,
  operator: LinearOperator,
  which: Which,
  k: number,
  signal: AbortSignal | undefined,
): Promise<{
  readonly pairs: EigenPairs;
  readonly residuals: readonly number[];
  readonly scale: number;
  readonly size: number;
}> {
  using matrix: Tensor = await operator.dense();
  using mirrored = matrix.transpose();
  using most = await matrix.abs().max();
  using differs = await matrix.sub(mirrored).abs().max();
  using figures = await stack([most, differs]);
  const [largest = 0, difference = 0] = await figures.toNested<readonly number[]>();
  signal?.throwIfAborted();
  checkFinite(what, [largest, difference]);
  checkSymmetric(what, operator.dtype, difference, largest);
  const size = sizeFor(largest, operator.dtype);
  using half: Tensor = await matrix.mul(0.5 / size);
  using other = half.transpose();
  using symmetric = await half.add(other);
  const { values, coefficients: vectors } = await wantedPairs(symmetric, which, k);
  return await keeping({ values, vectors }, async () => {
    const numbers = await values.toNested<readonly number[]>();
    const scale = Math.max(largest / size, ...numbers.map(Math.abs));
    const pairs = { values, vectors };
    const residuals = await truthOf(divided(operator, size), pairs, scale);
    return { pairs, residuals, scale, size };
  });
}

/** What was found of an operator that was divided by `size`, of the operator as it is; takes it over. */
export async function inSize(found: EigenFound, size: number): Promise<EigenFound> {
  if (size === 1) return found;
  const { values: divided, vectors } = found.pairs;
  using own = divided;
  const values: Tensor = await keeping({ vectors }, () => Promise.resolve(own.mul(size)));
  return { ...found, pairs: { values, vectors }, scale: found.scale * size };
}

/** What tells that nothing more is gained: over some looks the largest residual has not fallen by a tenth, and the sum of the values has gained no more than rounding. */
export class Progress {
  readonly #looks: number;
  readonly #rounding: number;
  #best = Infinity;
  #total = 0;
  #since = 0;
  #count = 0;

  constructor(looks: number, { dtype, shape: [n] }: LinearOperator) {
    this.#looks = looks;
    this.#rounding = 8 * Math.sqrt(n) * unitOf(dtype);
  }

  /** Whether it has stagnated. */
  isOver({ values, residuals }: Standing): boolean {
    const worst = Math.max(...residuals);
    const total = values.reduce((sum, one) => sum + Math.abs(one), 0);
    this.#count++;
    const gains = Math.abs(total - this.#total) > this.#rounding * total;
    if (worst < 0.9 * this.#best || gains) {
      if (worst < this.#best) this.#best = worst;
      this.#total = total;
      this.#since = this.#count;
    }
    return this.#count - this.#since >= this.#looks;
  }
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkWhich<W extends Which>(
  what: string,
  which: unknown,
  all: readonly W[],
): asserts which is W {
  if (all.includes(which as W)) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: which is ${describeValue(which)}. Pass ${all.map((one) => `'${one}'`).join(' or ')}.`,
  );
}
