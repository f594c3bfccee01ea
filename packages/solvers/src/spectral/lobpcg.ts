import type { OptionNames } from '@mercer/options';
import {
  concat,
  isPending,
  MercerError,
  random,
  take,
  zeros,
  type SignalOption,
  type Tensor,
  type TensorOperand,
} from '@mercer/tensor';
import {
  assertNotPreparing,
  formatShape,
  readOptions,
  SIGNAL_OPTION,
} from '@mercer/tensor/operation';
import { preconditionerOf, type Preconditioner } from '../iterative-solve.js';
import { keeping, release } from '../krylov/columns.js';
import type { IterationReport } from '../krylov/iterate.js';
import { assertOperator, assertSquare, type LinearOperator } from '../operators/linear-operator.js';
import { checkLike } from '../operators/matrices.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { checkCount, checkReporter, checkTolerance } from '../checks.js';
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
  residualsOf,
  ritzPairs,
  turned,
  type FirstSpace,
  type Subspace,
} from './subspace.js';

/** Options of {@link lobpcg}. */
export interface LobpcgOptions<D extends OperatorDType> extends SignalOption {
  /** Close to the inverse of the operator, for the smallest eigenvalues; as of `cg`. */
  readonly preconditioner?: Preconditioner<D> | undefined;
  /** Default `largest`. */
  readonly which?: 'largest' | 'smallest' | undefined;
  /** The residual at which a pair is done, by the norm of the operator; default 1e-8, in float32 1e-5. */
  readonly rtol?: number | undefined;
  /** Default ten times the number of rows. */
  readonly maxIterations?: number | undefined;
  /** Called in each iteration. */
  readonly onIteration?: ((report: IterationReport) => void) | undefined;
}

const OPTIONS: OptionNames<LobpcgOptions<OperatorDType>> = {
  ...SIGNAL_OPTION,
  preconditioner: true,
  which: true,
  rtol: true,
  maxIterations: true,
  onIteration: true,
};

/** Iterations without progress after which a search has stagnated. */
const PATIENCE = 50;
/** Iterations after which products of combinations are computed anew. */
const RENEW_EVERY = 50;

/**
 * Some eigenvalues and eigenvectors of a symmetric operator from approximations of the vectors, by the locally optimal block preconditioned conjugate gradient
 * method (Knyazev 2001): Rayleigh and Ritz's best of the vectors, their preconditioned residuals and their last directions, on an orthonormal basis
 * (Hetmaniuk and Lehoucq 2006; Duersch, Shao, Yang and Gu 2018). Pairs that are done have no more residuals, but take part. Of all iterates the best is given.
 * Where there are fewer than 5 k rows the matrix is stored and factored.
 *
 * With a good preconditioner it finds the smallest eigenvalues in few products; without one `eigsh` needs fewer. The host looks at each iteration. Rules for being done, stagnation
 * and derivatives are those of `eigsh`; x0 and the preconditioner have no derivative.
 *
 * ```ts
 * import { jacobi, lobpcg, lowRankOperator } from '@mercer/solvers';
 * import { linspace, random } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const u = await random.normal([100, 2], { ...where, key: random.key(1) });
 * const a = lowRankOperator(u, await linspace(1, 1000, 100, where));
 * using preconditioner = await jacobi(a);
 * const x0 = await random.normal([100, 3], { ...where, key: random.key(2) });
 * const { values, converged } = await lobpcg(a, x0, { which: 'smallest', preconditioner });
 * console.log(values.shape, converged); // [ 3 ] true
 * ```
 *
 * @param operator (N, N), symmetric
 * @param x0 (N, k), of the operator's dtype and device; columns that depend on others are replaced by random ones
 * @throws SolverError ASYMMETRIC, NOT_FINITE; MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT; the signal's reason
 */
export async function lobpcg<D extends OperatorDType>(
  operator: LinearOperator<D>,
  x0: TensorOperand<D>,
  options?: LobpcgOptions<D>,
): Promise<EigenSolution<D>> {
  const what = 'lobpcg';
  assertNotPreparing(what, 'reads residuals');
  const given = readOptions<LobpcgOptions<D>>(what, options, OPTIONS);
  assertOperator(operator, `${what}: the operator`);
  assertSquare(what, operator);
  const { dtype, shape } = operator;
  const [n] = shape;
  const start = isPending(x0) ? await x0 : x0;
  const k = columnsOf(what, operator, start);
  const {
    which = 'largest',
    rtol = dtype === 'float64' ? 1e-8 : 1e-5,
    signal,
    onIteration,
  } = given;
  const { maxIterations = 10 * n } = given;
  checkWhich(what, which, ['largest', 'smallest']);
  checkTolerance(what, rtol);
  checkCount(what, 'maxIterations', maxIterations, [1, Infinity]);
  checkReporter(what, onIteration);
  const close = preconditionerOf(what, operator, given.preconditioner);
  let report: EigenReport = { converged: true, iterations: 0, residuals: [] };
  const numbers = { what, k, which, rtol, maxIterations, onIteration, signal };
  const deflated = deflatedOf(operator, { which, rtol, signal });
  const call = async (
    tensors: readonly Tensor[],
    [from, ...others]: readonly (Tensor | undefined)[],
  ): Promise<EigenPairs> => {
    signal?.throwIfAborted();
    const of = operator.withParameters(tensors);
    const by = close?.withParameters(others as readonly Tensor[]);
    const found = await search(of, from as Tensor, by, numbers);
    report = found.report;
    deflated.scale = found.scale;
    return found.pairs;
  };
  const solve = withDerivative(what, deflated, call);
  const { values, vectors } = await solve(operator.parameters, [
    start,
    ...(close?.parameters ?? []),
  ]);
  return { values: values as Tensor<D>, vectors: vectors as Tensor<D>, ...report };
}

/** @throws MercerError */
function columnsOf(what: string, operator: LinearOperator, x0: Tensor): number {
  const shape = (x0 as Partial<Tensor> | undefined)?.shape ?? [];
  checkLike(`${what}: x0`, x0, shape, operator);
  const [n] = operator.shape;
  const [rows, k = 0] = shape;
  if (shape.length === 2 && rows === n && k > 0 && k <= n) return k;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: x0 has shape ${formatShape(shape)}, and the operator ${formatShape(operator.shape)}. Pass (${n}, k), with k from 1 to ${n}.`,
  );
}

/** What a search is asked for. */
interface Asked {
  readonly what: string;
  readonly k: number;
  readonly which: 'largest' | 'smallest';
  readonly rtol: number;
  readonly maxIterations: number;
  readonly onIteration: ((report: IterationReport) => void) | undefined;
  readonly signal: AbortSignal | undefined;
}

async function search(
  operator: LinearOperator,
  x0: Tensor,
  preconditioner: LinearOperator | undefined,
  asked: Asked,
): Promise<EigenFound> {
  const { what, k, which, rtol, signal } = asked;
  if (operator.shape[0] < 5 * k) {
    const { residuals, size, ...dense } = await densePairs(what, operator, which, k, signal);
    const converged = residuals.every((one) => one <= rtol);
    return await inSize({ ...dense, report: { converged, iterations: 0, residuals } }, size);
  }
  using iterates = await Iterates.from(operator, x0, preconditioner, asked);
  return await inSize(await iterates.run(), iterates.size);
}

/** What an iteration starts from: k vectors and the directions that led to them, in one orthonormal basis with its products, and what Rayleigh and Ritz said. */
interface Iterate {
  readonly space: Subspace;
  readonly values: Tensor;
  readonly figures: Tensor;
}

function releaseIterate({ space, ...rest }: Iterate): void {
  release(space);
  release(rest);
}

class Iterates implements Disposable {
  readonly #operator: LinearOperator;
  /** What the operator is divided by. */
  readonly size: number;
  readonly #preconditioner: LinearOperator | undefined;
  readonly #asked: Asked;
  /** (N, k), random. */
  readonly #spare: Tensor;
  #now: Iterate;
  #best: EigenPairs | undefined;
  #iterations = 0;

  private constructor(
    { operator, size }: Omit<FirstSpace, 'space'>,
    preconditioner: LinearOperator | undefined,
    asked: Asked,
    spare: Tensor,
    first: Iterate,
  ) {
    this.#operator = operator;
    this.size = size;
    this.#preconditioner = preconditioner;
    this.#asked = asked;
    this.#spare = spare;
    this.#now = first;
  }

  static async from(
    operator: LinearOperator,
    x0: Tensor,
    preconditioner: LinearOperator | undefined,
    asked: Asked,
  ): Promise<Iterates> {
    const { dtype, device, shape } = operator;
    const { k, which } = asked;
    const spare: Tensor = await random.normal([shape[0], k], { key: random.key(0), dtype, device });
    return await keeping({ spare }, async () => {
      using block = await orthonormal(x0, undefined, spare);
      const { space, ...of } = await firstSpace(operator, block);
      const first = await keeping(space, () => combined(space, which, k, []));
      release(space);
      return new Iterates(of, preconditioner, asked, spare, first);
    });
  }

  async run(): Promise<EigenFound> {
    const { what, k, rtol, maxIterations, onIteration, signal } = this.#asked;
    const progress = new Progress(PATIENCE, this.#operator);
    let [scale, least] = [0, Infinity];
    for (;;) {
      signal?.throwIfAborted();
      const { space, values, figures } = this.#now;
      using basis = space.basis.slice(null, [0, k]);
      using images = space.images.slice(null, [0, k]);
      using norms = await residualNorms({ basis, images }, values);
      const standing = await readStanding(what, values, norms, figures, k, scale, signal);
      scale = standing.scale;
      const worst = Math.max(...standing.residuals);
      const told: unknown = onIteration?.({ iterations: this.#iterations, residual: worst });
      await told;
      if (worst < least || this.#best === undefined) {
        least = worst;
        await this.#keepBest(basis, values);
      }
      const isLast = this.#iterations >= maxIterations || progress.isOver(standing);
      if (worst <= rtol || isLast) {
        const pairs = this.#best as EigenPairs;
        const residuals = await truthOf(this.#operator, pairs, scale);
        const converged = residuals.every((one) => one <= rtol);
        if (converged || isLast) {
          this.#best = undefined;
          return { pairs, report: { converged, iterations: this.#iterations, residuals }, scale };
        }
        // the products have drifted
        least = Infinity;
        await this.#renew();
      } else {
        const active = standing.residuals.flatMap((one, at) => (one > rtol ? [at] : []));
        using rest = await residualsOf({ basis, images }, values);
        await this.#advance(rest, active);
        if (this.#iterations % RENEW_EVERY === 0) await this.#renew();
      }
    }
  }

  /** The best of the vectors, their preconditioned residuals and the directions. */
  async #advance(residuals: Tensor, active: readonly number[]): Promise<void> {
    const { k, which } = this.#asked;
    const count = active.length;
    using chosen = await take(residuals, active, 1);
    const better = await this.#preconditioner?.matvec(chosen as never);
    using _better = better;
    using own = this.#spare.slice(null, [0, count]);
    // other numbers in each iteration, without another draw
    using spare: Tensor = await own.mul(1000 + this.#iterations).sin();
    using block = await orthonormal(better ?? chosen, this.#now.space.basis, spare);
    const whole = await extended(this.#operator, this.#now.space, block);
    this.#iterations++;
    const next = await keeping(whole, () => combined(whole, which, k, active, spare));
    release(whole);
    releaseIterate(this.#now);
    this.#now = next;
  }

  async #renew(): Promise<void> {
    const { basis, images } = this.#now.space;
    const anew: Tensor = await this.#operator.matvec(basis as never);
    images.dispose();
    this.#now = { ...this.#now, space: { basis, images: anew } };
  }

  async #keepBest(basis: Tensor, values: Tensor): Promise<void> {
    const vectors: Tensor = await basis.clone();
    const pairs = await keeping({ vectors }, async () => ({
      vectors,
      values: await values.clone(),
    }));
    if (this.#best !== undefined) release(this.#best);
    this.#best = pairs;
  }

  [Symbol.dispose](): void {
    this.#spare.dispose();
    releaseIterate(this.#now);
    if (this.#best !== undefined) release(this.#best);
  }
}

/**
 * The wanted vectors of a space, and behind them what those that are active have beyond the vectors before, orthonormal: their directions.
 *
 * @param active columns with a direction
 * @param spare (N, active), where there are any
 */
async function combined(
  whole: Subspace,
  which: 'largest' | 'smallest',
  k: number,
  active: readonly number[],
  spare?: Tensor,
): Promise<Iterate> {
  const { values, coefficients, figures } = await ritzPairs(whole, which, k);
  using own = coefficients;
  return await keeping({ values, figures }, async () => {
    if (spare === undefined) return { values, figures, space: await turned(whole, own) };
    const { dtype, device } = own;
    const [rows = 0] = own.shape;
    using before = await zeros([k, active.length], { dtype, device });
    using beyond = own.slice([k, rows]);
    using chosen = await take(beyond, active, 1);
    using parts: Tensor = await concat([before, chosen], 0);
    using few = spare.slice([0, rows]);
    using led = await orthonormal(parts, own, few);
    using all: Tensor = await concat([own, led], 1);
    return { values, figures, space: await turned(whole, all) };
  });
}
