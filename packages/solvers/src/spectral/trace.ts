import { stopGradient } from '@mercer/autodiff';
import { qr } from '@mercer/linalg';
import { describeValue, type OptionNames } from '@mercer/options';
import {
  concat,
  MercerError,
  random,
  tensor,
  type Pending,
  type SignalOption,
  type Tensor,
} from '@mercer/tensor';
import {
  assertNotPreparing,
  differentiable,
  pending,
  readOptions,
  SIGNAL_OPTION,
} from '@mercer/tensor/operation';
import { Dots } from '../krylov/columns.js';
import { assertOperator, assertSquare, type LinearOperator } from '../operators/linear-operator.js';
import type { OperatorDType } from '../operators/operator-types.js';
import { kept, times } from '../preconditioners/low-rank.js';
import { checkCount, checkFinite, checkKey } from '../checks.js';
import { meanOf, signs } from './probes.js';
import { productShares } from '../product-shares.js';

/** Options of {@link trace}. */
export interface TraceOptions extends SignalOption {
  /** Of the random vectors. */
  readonly key: random.RandomKey;
  /** Products with vectors, in all: 6 at least, of Hutchinson's method 2. Default 30. */
  readonly probes?: number | undefined;
  /** `hutch++` takes two thirds of the products for the largest part of the operator, whose trace is exact; `hutchinson` has random vectors alone. Default `hutch++`. */
  readonly method?: 'hutch++' | 'hutchinson' | undefined;
}

const OPTIONS: OptionNames<TraceOptions> = {
  ...SIGNAL_OPTION,
  key: true,
  probes: true,
  method: true,
};

/** An estimate of a trace. */
export interface TraceEstimate<D extends OperatorDType> {
  /** Rank 0. The caller disposes it. */
  readonly value: Tensor<D>;
  /** Of the value, from how the random vectors differ. */
  readonly standardError: number;
}

type Numbers = Tensor<'float64'>;

/**
 * The trace of an operator, estimated by Hutch++ (Meyer, Musco, Musco and Woodruff 2021): with an orthonormal basis Q of the products with a third of
 * the vectors, `trace(Q^T A Q)` plus the mean of `g . A g` over another third of random signs, projected beside Q.
 * For a positive semidefinite operator the error falls with the number of products, where that of Hutchinson's estimator falls with its square root.
 *
 * Not only for symmetric operators. The value is differentiated by the tensors of the operator, to any order: of what the estimate is made of, the derivative
 * of the operator has the same estimate.
 *
 * ```ts
 * import { denseOperator, trace } from '@mercer/solvers';
 * import { random, tensor } from '@mercer/tensor';
 *
 * const a = denseOperator(await tensor([[2, 1], [1, 3]], { device: 'cpu', dtype: 'float64' }));
 * const { value } = await trace(a, { key: random.key(1) });
 * console.log((await value.item()).toFixed(6)); // 5.000000
 * ```
 *
 * @param operator (N, N)
 * @throws SolverError NOT_FINITE; MercerError SHAPE_MISMATCH, INVALID_ARGUMENT; the signal's reason
 */
export async function trace<D extends OperatorDType>(
  operator: LinearOperator<D>,
  options: TraceOptions,
): Promise<TraceEstimate<D>> {
  const what = 'trace';
  assertNotPreparing(what);
  const given = readOptions(what, options, OPTIONS);
  const { key, probes = 30, method = 'hutch++', signal } = given;
  assertOperator(operator, `${what}: the operator`);
  assertSquare(what, operator);
  checkKey(what, key);
  if (!['hutch++', 'hutchinson'].includes(method)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: method is ${describeValue(method)}. Pass 'hutch++' or 'hutchinson'.`,
    );
  }
  checkCount(what, 'probes', probes, [method === 'hutch++' ? 6 : 2, Infinity]);
  const { dtype, device, shape } = operator;
  const [n] = shape;
  const rank = method === 'hutch++' ? Math.min(n, Math.floor(probes / 3)) : 0;
  const count = method === 'hutch++' ? probes - 2 * Math.floor(probes / 3) : probes;
  const [forBasis, forRest] = random.split(key);
  let standardError = 0;
  const call = (...[tensors, first, others]: Given): Pending<Tensor> =>
    pending(
      (async () => {
        signal?.throwIfAborted();
        if (n === 0) return await tensor(0, { dtype, device });
        const of = operator.withParameters(tensors);
        using vectors = await sketchOf(of, first, others);
        using products = await of.matvec(vectors as never);
        using dots = await Dots.on(device);
        using forms = await dots.of(vectors, products);
        const all = await forms.toNested<readonly number[]>();
        signal?.throwIfAborted();
        checkFinite(what, all);
        const found = meanOf(all.slice(rank));
        standardError = rank === n ? 0 : found.standardError;
        const exact = all.slice(0, rank).reduce((total, one) => total + one, 0);
        return await tensor(exact + found.mean, { dtype, device });
      })(),
    );
  const differentiated = differentiable<typeof call, Given>(what, call, {
    vjp: (cotangent, { args: [tensors, first, others] }) => [
      productShares(operator, tensors, async () => {
        // the basis is a choice: whatever it is, the estimate is one of the trace
        const fixed = operator.withParameters(tensors.map((one) => stopGradient(one)));
        const vectors = await sketchOf(fixed, first, others);
        const basis = vectors.slice(null, [0, rank]);
        const rest = vectors.slice(null, [rank, rank + count]).div(count);
        const weighed = await concat([basis, rest as unknown as Tensor], 1);
        return { vectors, cotangent: weighed.mul(cotangent) };
      }),
    ],
  });
  using first = await signs(operator, rank, forBasis);
  using others = await signs(operator, count, forRest);
  const value = (await differentiated(operator.parameters, first, others)) as Tensor<D>;
  return { value, standardError };
}

/** The tensors of the operator, and random signs for the basis and beside it. */
type Given = readonly [tensors: readonly Tensor[], first: Tensor, others: Tensor];

/** An orthonormal basis of the largest part of the operator, and random vectors beside it: (N, rank + count), a new tensor. */
async function sketchOf(operator: LinearOperator, first: Tensor, others: Tensor): Promise<Tensor> {
  if (first.shape[1] === 0) return await others.clone();
  using image: Tensor = await operator.matvec(first as never);
  using q: Tensor = kept(await qr(image as Numbers), 'q');
  using along = await times(q, others, { transposeA: true });
  using within = await times(q, along);
  using beside: Tensor = await others.sub(within);
  return await concat([q, beside], 1);
}
