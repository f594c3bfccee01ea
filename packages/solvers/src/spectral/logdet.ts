import { logdet as logdetOfMatrix, type LogdetFunction } from '@mercer/linalg';
import { describeValue, type OptionNames } from '@mercer/options';
import { MercerError, tensor, type random, type SignalOption, type Tensor } from '@mercer/tensor';
import {
  assertNotPreparing,
  differentiable,
  pending,
  readOptions,
  SIGNAL_OPTION,
} from '@mercer/tensor/operation';
import type { Pending } from '@mercer/tensor';
import { cg } from '../cg.js';
import { preconditionerOf } from '../iterative-solve.js';
import { NotConvergedError } from '../iterative-solution.js';
import { assertSquare, LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { PoweredOperator } from '../preconditioners/powered-operator.js';
import { SolverError } from '../solver-error.js';
import { checkCount, checkKey, checkTolerance } from '../checks.js';
import { LanczosProcess, type Recurrence } from './lanczos-process.js';
import { meanOf, signs } from './probes.js';
import { productShares } from '../product-shares.js';
import { quadrature } from './quadrature.js';

/** Options of {@link logdet} of an operator. */
export interface LogdetEstimateOptions<D extends OperatorDType> extends SignalOption {
  /** Of the random vectors. */
  readonly key: random.RandomKey;
  /** Random vectors, 2 at least; the standard error falls with their square root. Default 10. */
  readonly probes?: number | undefined;
  /** The most Lanczos steps of each; default 100, or as many as rows. */
  readonly steps?: number | undefined;
  /** What `pivotedCholesky`, `nystrom` or `jacobi` gave for this operator: the closer it is to the inverse, the smaller is the standard error, and the fewer are the steps. */
  readonly preconditioner?: LinearOperator<D> | undefined;
  /** Of the systems that a gradient solves, as of `cg`. */
  readonly rtol?: number | undefined;
}

const OPTIONS: OptionNames<LogdetEstimateOptions<OperatorDType>> = {
  ...SIGNAL_OPTION,
  key: true,
  probes: true,
  steps: true,
  preconditioner: true,
  rtol: true,
};

/** An estimate of the logarithm of a determinant. */
export interface LogdetEstimate<D extends OperatorDType> {
  /** Rank 0. The caller disposes it. */
  readonly value: Tensor<D>;
  /** Of the value, from how the random vectors differ; what rounding adds is not in it. */
  readonly standardError: number;
  /** Lanczos steps of each random vector. */
  readonly steps: number;
  /** Whether more steps would change the value by no more than about a tenth of the standard error; else `steps` were too few, and the value is too high. */
  readonly converged: boolean;
}

/** How {@link logdet} is called. */
export interface Logdet extends LogdetFunction {
  <D extends OperatorDType>(
    operator: LinearOperator<D>,
    options: LogdetEstimateOptions<NoInfer<D>>,
  ): Promise<LogdetEstimate<D>>;
}

/** Steps between two looks at the quadrature. */
const LOOK_EVERY = 10;

/**
 * Logarithms of determinants: of a dense matrix exactly, as `logdet` of `@mercer/linalg` (`{ sign, logAbs }`); of a symmetric positive definite
 * operator by stochastic Lanczos quadrature (Ubaru, Chen and Saad 2017), `{ value, standardError }`.
 *
 * The value is the mean over random vectors of `N u . log(A) u`, u a unit vector of random signs, by Gauss quadrature from Lanczos' coefficients. Steps are made
 * until the quadrature has settled, which the host looks at every ten. With a preconditioner of known determinant (P about A, R = P^-1/2) it is
 * `log det P` plus the same of `R A R`. Memory: `N probes steps` numbers.
 *
 * The value is differentiated by the tensors of the operator, to any order: by `sum (A^-1 z) . dA P^-1 z / probes` with z = P^1/2 times the same
 * random signs, an unbiased estimate of `trace(A^-1 dA)`, for which it solves systems by `cg` with `rtol` and the preconditioner.
 *
 * ```ts
 * import { lazyI, lazyJ } from '@mercer/lazy';
 * import { logdet, pivotedCholesky } from '@mercer/solvers';
 * import { linspace, random } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const points = (await linspace(0, 3, 100, where)).reshape([100, 1]);
 * const kernel = lazyI(points).sqdist(lazyJ(points)).neg().exp().asOperator();
 * using preconditioner = await pivotedCholesky(kernel, { rank: 10, shift: 0.1 });
 * const { value, standardError } = await logdet(kernel.shift(0.1), { key: random.key(1), preconditioner });
 * console.log(Math.round(await value.item()), standardError < 0.1); // -205 true
 * ```
 *
 * @param operator (N, N), symmetric positive definite; or a matrix, with linalg's options
 * @throws SolverError INDEFINITE, ASYMMETRIC, NOT_FINITE; NotConvergedError where a gradient's systems are not solved; MercerError SHAPE_MISMATCH,
 *   INVALID_ARGUMENT; the signal's reason
 */
export const logdet: Logdet = Object.assign(
  ((of: unknown, options: never) =>
    of instanceof LinearOperator
      ? estimate(of, options)
      : logdetOfMatrix(of as never, options)) as Logdet,
  { prepare: logdetOfMatrix.prepare },
);

async function estimate<D extends OperatorDType>(
  operator: LinearOperator<D>,
  options: LogdetEstimateOptions<D>,
): Promise<LogdetEstimate<D>> {
  const what = 'logdet';
  assertNotPreparing(what);
  const given = readOptions<LogdetEstimateOptions<D>>(what, options, OPTIONS);
  const { dtype, device, shape } = operator;
  const [n] = shape;
  const {
    key,
    probes = 10,
    steps = Math.max(1, Math.min(n, 100)),
    preconditioner,
    rtol,
    signal,
  } = given;
  assertSquare(what, operator);
  checkKey(what, key);
  if (rtol !== undefined) checkTolerance(what, rtol);
  checkCount(what, 'probes', probes, [2, Infinity]);
  checkCount(what, 'steps', steps, [1, Math.max(1, n)], ', the number of rows');
  const close = poweredOf(what, operator, preconditioner);
  let found = { mean: 0, standardError: 0, steps: 0, converged: true };
  const call = (...[tensors, others, z]: Given): Pending<Tensor> =>
    pending(
      (async () => {
        if (n > 0) {
          const system = { operator: operator.withParameters(tensors), starts: z, steps, signal };
          found = await estimated(what, system, close?.withParameters(others));
        }
        return await tensor(found.mean, { dtype, device });
      })(),
    );
  const differentiated = differentiable<typeof call, Given>(what, call, {
    vjp: (cotangent, { args: [tensors, others, z] }) => {
      const pair = async () => {
        const same = operator.withParameters(tensors);
        const by = close?.withParameters(others);
        using root = await by?.power(0.5);
        using back = await by?.power(-0.5);
        const right = (await back?.matvec(z as never)) ?? z;
        const solution = await cg(same, right as never, { rtol, signal, preconditioner: by });
        if (!solution.converged) throw new NotConvergedError('the gradient of logdet', solution);
        const vectors = (await root?.matvec(z as never)) ?? z;
        return { vectors, cotangent: solution.x.mul(cotangent as Tensor).div(probes) };
      };
      return [productShares(operator, tensors, pair)];
    },
  });
  using z = await signs(operator, probes, key);
  const value = (await differentiated(
    operator.parameters,
    close?.parameters ?? [],
    z,
  )) as Tensor<D>;
  const { standardError, steps: made, converged } = found;
  return { value, standardError, steps: made, converged };
}

/** What an estimate is made of: the tensors of the operator and of the preconditioner, and random signs (N, probes). */
type Given = readonly [tensors: readonly Tensor[], others: readonly Tensor[], z: Tensor];

/** What is estimated of an operator. */
interface Estimated {
  readonly operator: LinearOperator;
  /** (N, probes). */
  readonly starts: Tensor;
  readonly steps: number;
  readonly signal: AbortSignal | undefined;
}

type Found = Omit<LogdetEstimate<never>, 'value'> & { readonly mean: number };

async function estimated(
  what: string,
  system: Estimated,
  preconditioner: PoweredOperator<OperatorDType> | undefined,
): Promise<Found> {
  const { operator } = system;
  if (preconditioner === undefined) return ofOperator(what, system);
  using root = await preconditioner.power(0.5);
  const around = root.matmul(operator).matmul(root);
  const found = await ofOperator(what, { ...system, operator: around });
  // of the root as it is stored: what it is multiplied with
  return { ...found, mean: found.mean - 2 * (await root.logdet()) };
}

/** By as many steps as it takes. */
async function ofOperator(
  what: string,
  { operator, starts, steps, signal }: Estimated,
): Promise<Found> {
  const [n] = operator.shape;
  using process = await LanczosProcess.from(what, operator, starts, Math.min(LOOK_EVERY, steps));
  for (;;) {
    const until = Math.min(steps, process.steps + LOOK_EVERY);
    while (process.steps < until) {
      signal?.throwIfAborted();
      await process.step();
    }
    const recurrences = await process.coefficients();
    signal?.throwIfAborted();
    const { logarithms, least } = await quadrature(recurrences);
    const { size } = process;
    if (least <= 0) throw indefinite(what, least * size);
    const { mean: ofDivided, standardError } = meanOf(logarithms.map((one) => n * one));
    const mean = ofDivided + n * Math.log(size);
    const isExact = until === n || recurrences.every(({ beyond }) => beyond.at(-1) === 0);
    const left = isExact ? 0 : n * (await restOf(recurrences, until));
    const converged = left <= Math.max(0.1 * standardError, 1e-12 * Math.abs(ofDivided));
    if (converged || until === steps) return { mean, standardError, steps: until, converged };
  }
}

/** How much more steps would take from the mean, which falls with each: as of a geometric series, by what the last have taken. */
async function restOf(recurrences: readonly Recurrence[], steps: number): Promise<number> {
  const window = Math.min(5, Math.floor((steps - 1) / 2));
  const at = async (count: number): Promise<number> => {
    const first = recurrences.map(({ diagonal, beyond }) => ({
      diagonal: diagonal.slice(0, count),
      beyond: beyond.slice(0, count),
    }));
    return meanOf((await quadrature(first)).logarithms).mean;
  };
  if (window === 0) return Infinity;
  const [first, second, last] = [
    await at(steps - 2 * window),
    await at(steps - window),
    await at(steps),
  ];
  const [before, change] = [Math.abs(second - first), Math.abs(last - second)];
  if (change === 0) return 0;
  return change < before ? (change * change) / (before - change) : Infinity;
}

const indefinite = (what: string, least: number): SolverError =>
  new SolverError(
    'INDEFINITE',
    `${what}: u . A u is ${least} for a unit vector u, so the operator is not positive definite, or too nearly singular for its dtype. Shift it with shift(), or compute in float64.`,
    { failure: { figure: least } },
  );

/** A preconditioner whose determinant is known. @throws MercerError */
function poweredOf<D extends OperatorDType>(
  what: string,
  operator: LinearOperator<D>,
  given: LinearOperator<D> | undefined,
): PoweredOperator<D> | undefined {
  if (given === undefined) return undefined;
  if (!(given instanceof PoweredOperator)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the preconditioner is ${describeValue(given)}, whose determinant is not known. Pass what pivotedCholesky, nystrom or jacobi gave.`,
    );
  }
  return preconditionerOf(what, operator, given) as PoweredOperator<D>;
}
