import type { OptionNames } from '@mercer/options';
import { random, type SignalOption, type Tensor } from '@mercer/tensor';
import { assertNotPreparing, readOptions, SIGNAL_OPTION } from '@mercer/tensor/operation';
import { keeping, release } from '../krylov/columns.js';
import type { IterationReport } from '../krylov/iterate.js';
import { assertOperator, assertSquare, type LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { checkCount, checkKey, checkReporter, checkTolerance } from '../checks.js';
import { deflatedOf, withDerivative } from './eigen-derivative.js';
import {
  checkWhich,
  densePairs,
  inSize,
  Progress,
  readStanding,
  truthOf,
  type EigenFound,
  type EigenPairs,
  type EigenReport,
  type EigenSolution,
} from './eigen-solution.js';
import {
  extended,
  firstSpace,
  orthonormal,
  residualNorms,
  ritzPairs,
  turned,
  type Subspace,
  type Which,
} from './subspace.js';

/** Options of {@link eigsh}. */
export interface EigshOptions extends SignalOption {
  /** How many eigenpairs: at most the number of rows. */
  readonly k: number;
  /** Of the random vectors to start from. */
  readonly key: random.RandomKey;
  /** Default `largest`. */
  readonly which?: Which | undefined;
  /** The residual at which a pair is done, by the norm of the operator; default 1e-8, in float32 1e-5. */
  readonly rtol?: number | undefined;
  /** Products with blocks; default ten times the number of rows. */
  readonly maxIterations?: number | undefined;
  /** Vectors that are multiplied at a time; default k, at most 4. Eigenvalues of a larger multiplicity may be found less often than they are there. */
  readonly blockSize?: number | undefined;
  /** Called at every restart, which is when the host looks. */
  readonly onIteration?: ((report: IterationReport) => void) | undefined;
}

const OPTIONS: OptionNames<EigshOptions> = {
  ...SIGNAL_OPTION,
  k: true,
  key: true,
  which: true,
  rtol: true,
  maxIterations: true,
  blockSize: true,
  onIteration: true,
};

/** Restarts without progress after which a search has stagnated. */
const PATIENCE = 10;

/**
 * Some eigenvalues and eigenvectors of a symmetric operator, by a block Lanczos method with thick restarts (Wu and Simon 2000): a basis of a Krylov space is
 * kept orthonormal, each block twice, with its products; when it is full, it is restarted from its best Ritz vectors. A space that is
 * invariant goes on with random vectors. A matrix of few rows is stored and factored.
 *
 * A pair is done when the norm of `A v - value v`, of a product computed anew, is at most rtol times the norm of A, as far as that is known.
 * The error of a value is then at most the norm, and usually its square by the distance from the other values. `converged` is false after `maxIterations`, or where ten restarts have gained nothing but rounding.
 * The host looks once a restart.
 *
 * Values and vectors are differentiated by the tensors of the operator: values by `v . dA v`, vectors by a system beside those that were found, so of the largest
 * or the smallest, to any order. Of values that are equal only what depends on all of them alike has a derivative.
 *
 * ```ts
 * import { eigsh, sparseOperator } from '@mercer/solvers';
 * import { lazyI, lazyJ } from '@mercer/lazy';
 * import { linspace, random } from '@mercer/tensor';
 *
 * const points = (await linspace(0, 1, 500, { device: 'cpu', dtype: 'float64' })).reshape([500, 1]);
 * const kernel = lazyI(points).sqdist(lazyJ(points)).neg().exp().asOperator();
 * const { values, converged } = await eigsh(kernel, { k: 2, key: random.key(1) });
 * console.log(converged, (await values.toNested<number[]>()).map(Math.round)); // true [ 432, 63 ]
 * ```
 *
 * @param operator (N, N), symmetric
 * @throws SolverError ASYMMETRIC, NOT_FINITE; MercerError SHAPE_MISMATCH, INVALID_ARGUMENT, in a derivative NOT_DIFFERENTIABLE; the signal's reason
 */
export async function eigsh<D extends OperatorDType>(
  operator: LinearOperator<D>,
  options: EigshOptions,
): Promise<EigenSolution<D>> {
  const what = 'eigsh';
  assertNotPreparing(what, 'reads residuals');
  const given = readOptions(what, options, OPTIONS);
  assertOperator(operator, `${what}: the operator`);
  assertSquare(what, operator);
  const [n] = operator.shape;
  const { dtype } = operator;
  const { k, key, which = 'largest', rtol = dtype === 'float64' ? 1e-8 : 1e-5 } = given;
  const { maxIterations = 10 * n, onIteration, signal } = given;
  checkCount(what, 'k', k, [1, n], ', the number of rows');
  const { blockSize = Math.min(k, 4) } = given;
  checkKey(what, key);
  checkWhich(what, which, ['largest', 'smallest', 'magnitude']);
  checkTolerance(what, rtol);
  checkCount(what, 'maxIterations', maxIterations, [1, Infinity]);
  checkCount(what, 'blockSize', blockSize, [1, n], ', the number of rows');
  checkReporter(what, onIteration);
  let report: EigenReport = { converged: true, iterations: 0, residuals: [] };
  const numbers = { what, k, key, which, rtol, maxIterations, blockSize, onIteration, signal };
  const deflated = deflatedOf(operator, { which, rtol, signal });
  const call = async (tensors: readonly Tensor[]): Promise<EigenPairs> => {
    signal?.throwIfAborted();
    const found = await search(operator.withParameters(tensors), numbers);
    report = found.report;
    deflated.scale = found.scale;
    return found.pairs;
  };
  const solve = withDerivative(what, deflated, call);
  const { values, vectors } = await solve(operator.parameters, []);
  return { values: values as Tensor<D>, vectors: vectors as Tensor<D>, ...report };
}

/** What a search is asked for. */
interface Asked {
  readonly what: string;
  readonly k: number;
  readonly key: random.RandomKey;
  readonly which: Which;
  readonly rtol: number;
  readonly maxIterations: number;
  readonly blockSize: number;
  readonly onIteration: EigshOptions['onIteration'];
  readonly signal: AbortSignal | undefined;
}

async function search(operator: LinearOperator, asked: Asked): Promise<EigenFound> {
  const { what, k, which, rtol, blockSize, signal } = asked;
  const [n] = operator.shape;
  const columns = blockSize * Math.ceil(Math.max(3 * k, 10 * blockSize, 24) / blockSize);
  if (n < columns + blockSize) {
    const { residuals, size, ...dense } = await densePairs(what, operator, which, k, signal);
    const converged = residuals.every((one) => one <= rtol);
    return await inSize({ ...dense, report: { converged, iterations: 0, residuals } }, size);
  }
  using lanczos = await BlockLanczos.of(operator, asked, columns);
  return await inSize(await lanczos.run(), lanczos.size);
}

/** A block Krylov space, its restarts, and what they came to. */
class BlockLanczos implements Disposable {
  #operator: LinearOperator;
  #size = 1;
  readonly #asked: Asked;
  /** Columns that the space has at most. */
  readonly #columns: number;
  readonly #spare: Tensor;
  #space: Subspace | undefined;
  /** What the space is extended by: orthonormal, and orthogonal to it. */
  #next: Tensor;
  #iterations = 0;

  private constructor(
    operator: LinearOperator,
    asked: Asked,
    columns: number,
    spare: Tensor,
    next: Tensor,
  ) {
    this.#operator = operator;
    this.#asked = asked;
    this.#columns = columns;
    this.#spare = spare;
    this.#next = next;
  }

  static async of(operator: LinearOperator, asked: Asked, columns: number): Promise<BlockLanczos> {
    const { dtype, device, shape } = operator;
    const { key, blockSize } = asked;
    const [first, other] = random.split(key);
    const size = [shape[0], blockSize];
    using drawn = await random.normal(size, { key: first, dtype, device });
    const spare: Tensor = await random.normal(size, { key: other, dtype, device });
    return await keeping({ spare }, async () => {
      const next = await orthonormal(drawn, undefined, spare);
      return new BlockLanczos(operator, asked, columns, spare, next);
    });
  }

  async run(): Promise<EigenFound> {
    const { what, k, which, rtol, maxIterations, blockSize, onIteration, signal } = this.#asked;
    const keep = Math.min(
      this.#columns - 2 * blockSize,
      Math.max(k + blockSize, this.#columns >> 1),
    );
    const progress = new Progress(PATIENCE, this.#operator);
    let scale = 0;
    for (;;) {
      await this.#fill();
      const { values, coefficients, figures } = await ritzPairs(
        this.#filled,
        which,
        Math.min(keep, this.#count),
      );
      using all = values;
      using _coefficients = coefficients;
      using _figures = figures;
      this.#put(await turned(this.#filled, coefficients));
      using wanted = all.slice([0, k]);
      using basis = this.#filled.basis.slice(null, [0, k]);
      using images = this.#filled.images.slice(null, [0, k]);
      using norms = await residualNorms({ basis, images }, wanted);
      const standing = await readStanding(what, all, norms, figures, k, scale, signal);
      scale = standing.scale;
      const told: unknown = onIteration?.({
        iterations: this.#iterations,
        residual: Math.max(...standing.residuals),
      });
      await told;
      const seems = standing.residuals.every((one) => one <= rtol);
      const isLast = this.#iterations >= maxIterations || progress.isOver(standing);
      if (!seems && !isLast) continue;
      const vectors: Tensor = await basis.clone();
      const pairs = await keeping({ vectors }, async () => ({
        values: await wanted.clone(),
        vectors,
      }));
      const residuals = await keeping(pairs, () => truthOf(this.#operator, pairs, scale));
      const converged = residuals.every((one) => one <= rtol);
      if (converged || isLast)
        return { pairs, report: { converged, iterations: this.#iterations, residuals }, scale };
      // the products have drifted: on from true ones
      release(pairs);
      const { basis: kept } = this.#filled;
      this.#put({ basis: kept, images: await this.#operator.matvec(kept as never) });
    }
  }

  /** What the operator is divided by, which the first product says. */
  get size(): number {
    return this.#size;
  }

  async #begin(): Promise<void> {
    const { space, operator, size } = await firstSpace(this.#operator, this.#next);
    this.#put(space);
    this.#operator = operator;
    this.#size = size;
  }

  get #filled(): Subspace {
    return this.#space as Subspace;
  }

  /** Extends the space until another block has no place. */
  async #fill(): Promise<void> {
    const { blockSize, k, maxIterations, signal } = this.#asked;
    const goesOn = (): boolean => this.#iterations < maxIterations || this.#count < k;
    do {
      signal?.throwIfAborted();
      if (this.#space === undefined) await this.#begin();
      else this.#put(await extended(this.#operator, this.#space, this.#next));
      this.#iterations++;
      const count = this.#count;
      using last = this.#filled.images.slice(null, [count - blockSize, count]);
      await this.#follow(last);
    } while (this.#count + blockSize <= this.#columns && goesOn());
  }

  get #count(): number {
    return this.#filled.basis.shape[1] ?? 0;
  }

  /** What comes next of a block; it is random where that lies in the space. */
  async #follow(block: Tensor): Promise<void> {
    // other numbers in each step, without another draw
    using spare: Tensor = await this.#spare.mul(1000 + this.#iterations).sin();
    const next = await orthonormal(block, this.#filled.basis, spare);
    this.#next.dispose();
    this.#next = next;
  }

  #put(space: Subspace): void {
    if (this.#space !== undefined) release(this.#space, space);
    this.#space = space;
  }

  [Symbol.dispose](): void {
    this.#spare.dispose();
    this.#next.dispose();
    if (this.#space !== undefined) release(this.#space);
  }
}
