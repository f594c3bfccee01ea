import type { OptionNames } from '@mercer/options';
import {
  isPending,
  MercerError,
  random,
  tensor,
  type SignalOption,
  type Tensor,
  type TensorOperand,
} from '@mercer/tensor';
import {
  assertNotPreparing,
  differentiable,
  readOptions,
  SIGNAL_OPTION,
} from '@mercer/tensor/operation';
import { sizeOf } from '../krylov/size.js';
import { assertOperator, assertSquare, type LinearOperator } from '../operators/linear-operator.js';
import { checkLike } from '../operators/matrices.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { checkCount, checkKey } from '../checks.js';
import { LanczosProcess, type Recurrence } from './lanczos-process.js';

/** Options of {@link lanczos}: one of `start` and `key`. */
export interface LanczosOptions<D extends OperatorDType> extends SignalOption {
  /** Columns of the basis: at most the number of rows. */
  readonly steps: number;
  /** The first vector (N), other than 0; it is normalised. */
  readonly start?: TensorOperand<D> | undefined;
  /** Of a random first vector, normally distributed. */
  readonly key?: random.RandomKey | undefined;
}

const OPTIONS: OptionNames<LanczosOptions<OperatorDType>> = {
  ...SIGNAL_OPTION,
  steps: true,
  start: true,
  key: true,
};

/** What {@link lanczos} gives: with the last column e of an identity matrix `A basis = basis tridiagonal + remainder r e^T`, r a unit vector orthogonal to the basis. */
export interface Lanczos<D extends OperatorDType> {
  /** (steps, steps), symmetric and tridiagonal: `basis^T A basis`. The caller disposes it. */
  readonly tridiagonal: Tensor<D>;
  /** (N, steps), orthonormal columns, the first of which is the start. The caller disposes it. */
  readonly basis: Tensor<D>;
  /** Columns of the basis: fewer than asked for where they span an invariant subspace before. */
  readonly steps: number;
  /** How far the operator leads out of the basis; 0 where that spans an invariant subspace. */
  readonly remainder: number;
  /** Whether the basis spans an invariant subspace: eigenvalues of the tridiagonal matrix are the operator's. */
  readonly invariant: boolean;
}

/**
 * Lanczos' tridiagonalisation of a symmetric operator (Golub and Van Loan 2013, section 10.1), with each vector made orthogonal to all before it, twice.
 *
 * Where nothing but rounding leads out of the space, it is invariant, and the result has fewer steps. Nothing waits for the device before the end. Memory: N steps numbers.
 *
 * It has no derivative: eigenvalues of `eigsh` and the value of `logdet` have.
 *
 * ```ts
 * import { denseOperator, lanczos } from '@mercer/solvers';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const a = denseOperator(await tensor([[2, 1, 0], [1, 2, 0], [0, 0, 5]], where));
 * const { tridiagonal, steps, invariant } = await lanczos(a, { start: await tensor([1, 0, 0], where), steps: 3 });
 * console.log(await tridiagonal.toNested(), steps, invariant); // [ [ 2, 1 ], [ 1, 2 ] ] 2 true
 * ```
 *
 * @param operator (N, N), symmetric
 * @throws SolverError ASYMMETRIC, NOT_FINITE; MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT; the signal's reason
 */
export async function lanczos<D extends OperatorDType>(
  operator: LinearOperator<D>,
  options: LanczosOptions<D>,
): Promise<Lanczos<D>> {
  const what = 'lanczos';
  assertNotPreparing(what);
  const given = readOptions<LanczosOptions<D>>(what, options, OPTIONS);
  const { steps, key, signal } = given;
  assertOperator(operator, `${what}: the operator`);
  assertSquare(what, operator);
  const [n] = operator.shape;
  checkCount(what, 'steps', steps, [1, n], ', the number of rows');
  const start = isPending(given.start) ? await given.start : given.start;
  if ((start === undefined) === (key === undefined)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${start === undefined ? 'neither start nor key is' : 'both start and key are'} given. Pass one of them.`,
    );
  }
  if (start === undefined) checkKey(what, key);
  else checkLike(`${what}: start`, start, [n], operator);
  const call = async (
    tensors: readonly Tensor[],
    from: Tensor | undefined,
  ): Promise<Lanczos<D>> => {
    const { dtype, device } = operator;
    const drawn =
      from === undefined
        ? await random.normal([n, 1], { key: key as random.RandomKey, dtype, device })
        : undefined;
    using given: Tensor = drawn ?? (from as Tensor).reshape([n, 1]);
    const startSize = drawn === undefined ? await sizeOf(given as Tensor<D>) : 1;
    using first: Tensor = await (startSize === 1 ? given.clone() : given.mul(1 / startSize));
    using process = await LanczosProcess.from(what, operator.withParameters(tensors), first, steps);
    for (let at = 0; at < steps; at++) {
      signal?.throwIfAborted();
      await process.step();
    }
    const [{ diagonal, beyond }] = (await process.coefficients()) as [Recurrence];
    signal?.throwIfAborted();
    const [norm] = await process.startNorms();
    if (norm === 0) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: start is 0. Pass a vector other than 0, or a key.`,
      );
    }
    const { size } = process;
    const [alphas, betas] = [diagonal, beyond].map((all) => all.map((one) => one * size)) as [
      number[],
      number[],
    ];
    const count = diagonal.length;
    const basis = (await process.basis(count)) as Tensor<D>;
    const remainder = betas[count - 1] as number;
    try {
      const tridiagonal = await tensor(tridiagonalOf(alphas, betas), { dtype, device });
      return { tridiagonal, basis, steps: count, remainder, invariant: remainder === 0 };
    } catch (error) {
      basis.dispose();
      throw error;
    }
  };
  const refusing = differentiable<
    typeof call,
    readonly [tensors: readonly Tensor[], from: Tensor | undefined]
  >(what, call, undefined);
  return await refusing(operator.parameters, start);
}

/** A matrix with these coefficients on its diagonal and beside it. */
export const tridiagonalOf = (diagonal: readonly number[], beyond: readonly number[]): number[][] =>
  diagonal.map((alpha, i) =>
    diagonal.map((_, j) => {
      if (i === j) return alpha;
      return Math.abs(i - j) === 1 ? (beyond[Math.min(i, j)] as number) : 0;
    }),
  );
