import { genred, type LazyAxis, type LazyDType } from '@mercer/lazy';
import { describeValue, type OptionNames } from '@mercer/options';
import { MercerError, type Pending, type Tensor } from '@mercer/tensor';
import {
  assertTensor,
  checkShardOptions,
  cutsRows,
  isTraced,
  readOptions,
  shardsOf,
} from '@mercer/tensor/operation';
import type { LazyOperatorOptions } from './operators/lazy-operator.js';
import { LinearOperator } from './operators/linear-operator.js';
import { checkDType } from './operators/make-operator.js';
import type { OperatorDType } from './operators/operator-types.js';
import { promised } from './promised.js';
import { solveShifted, type SolveSystemOptions } from './solve.js';

/** Options of {@link kernelSolve}. */
export interface KernelSolveOptions {
  /** The side that is summed over: 'j' or 1, or 'i' or 0, which is the default as in KeOps. The unknown is on it. */
  readonly axis?: LazyAxis | 0 | 1 | undefined;
}

const OPTIONS: OptionNames<KernelSolveOptions> = { axis: true };

/** A system in text, solved with a tensor for each alias: the right-hand side is in the place of the unknown. */
export type KernelSolve = <D extends OperatorDType>(
  args: readonly Tensor<D>[],
  options?: SolveSystemOptions<D>,
) => Pending<Tensor<D>>;

/**
 * Solves systems whose matrix is a formula in KeOps' language, as KeOps' KernelSolve: with `F(.., b)`, linear in b, the solution x of
 * `sum_j F(.., x_j) + alpha x = b`. The sum must be symmetric and positive definite in x. Components of b are one vector of unknowns, so that
 * the formula may mix them. The solution is differentiated by all tensors. Calls take the options of `solve`, among them `ranges`, whose pairs alone count, and `devices`,
 * with tensors in host memory or on any of them, and the solution on the first. `x0` and the preconditioner are of the vector of unknowns, (N D) for b of shape (N, D).
 *
 * ```ts
 * import { kernelSolve } from '@mercer/solvers';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const solve = kernelSolve('Exp(-SqDist(x, y)) * b', ['x = Vi(1)', 'y = Vj(1)', 'b = Vj(1)'], 'b', { axis: 'j' });
 * const points = await tensor([[0], [1]], where);
 * const x = await solve([points, points, await tensor([[1], [2]], where)], { alpha: 0.1 });
 * console.log((await x.toNested<number[][]>()).map((one) => one.map((n) => n.toFixed(3)))); // [ [ '0.339' ], [ '1.705' ] ]
 * ```
 *
 * @param formula a sum is taken of it
 * @param aliases as of `genred`
 * @param unknown the alias of b
 * @throws LazyError, MercerError INVALID_ARGUMENT; calls NotConvergedError, and as `cg`
 */
export function kernelSolve(
  formula: string,
  aliases: readonly string[],
  unknown: string,
  options?: KernelSolveOptions,
): KernelSolve {
  const what = 'kernelSolve';
  const { axis = 0 } = readOptions(what, options, OPTIONS);
  const reduction = genred(formula, aliases, { axis });
  const place = aliases.findIndex((one) => one.split('=')[0]?.trim() === unknown);
  if (place < 0) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the unknown is ${describeValue(unknown)}, and the aliases are ${aliases.join(', ')}. Pass the name of one.`,
    );
  }
  checkSide(what, aliases[place] as string, axis);
  const operatorOf = <D extends OperatorDType>(
    [rows, components]: readonly [number, number],
    b: Tensor<D>,
    others: readonly Tensor[],
    products: LazyOperatorOptions,
  ): LinearOperator<D> => {
    const size = rows * components;
    const [first] = checkShardOptions(what, shardsOf(products)) ?? [];
    const product = async (v: Tensor, given: readonly Tensor[]): Promise<Tensor> => {
      using unknowns = v.reshape([rows, components]);
      const args = given.toSpliced(place, 0, unknowns) as Tensor<LazyDType>[];
      using found = (await reduction(...args, products)) as Tensor;
      return found.reshape([size, 1]);
    };
    return new LinearOperator<D>({
      form: {
        shape: [size, size],
        dtype: b.dtype,
        device: first ?? b.device,
        isCapturable: !cutsRows(products),
      },
      parameters: others,
      rules: { matvec: product, rmatvec: product, diagonal: undefined },
    });
  };
  const solve = async <D extends OperatorDType>(
    args: readonly Tensor<D>[],
    given: SolveSystemOptions<D> | undefined,
  ): Promise<Tensor<D>> => {
    const b = checkArguments(what, args, aliases, place);
    const [rows = 0, components = 0] = b.shape;
    using dense = await b.contiguous();
    using flat = dense.reshape([rows * components]);
    const others = args.filter((_, at) => at !== place);
    const operator = (products: LazyOperatorOptions): LinearOperator<typeof b.dtype> =>
      operatorOf([rows, components], b, others, products);
    using x = await solveShifted(what, operator, flat, given);
    return x.reshape([rows, components]);
  };
  return (args, given) => promised(Array.isArray(args) ? args : [], () => solve(args, given));
}

/** @throws MercerError INVALID_ARGUMENT where the unknown is not summed over */
function checkSide(what: string, alias: string, axis: LazyAxis | 0 | 1): void {
  const side = /=\s*V([ij])\(/.exec(alias)?.[1];
  const summed = axis === 'j' || axis === 1 ? 'j' : 'i';
  if (side === undefined || side === summed) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the unknown is ${alias}, and the sum goes over ${summed}. Pass { axis: '${side}' }, or an unknown of the other side.`,
  );
}

/** The right-hand side. @throws MercerError */
function checkArguments<D extends OperatorDType>(
  what: string,
  args: readonly Tensor<D>[],
  aliases: readonly string[],
  place: number,
): Tensor<D> {
  const given: unknown = args;
  if (!Array.isArray(given) || given.length !== aliases.length) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the arguments are ${Array.isArray(given) ? `${given.length} tensors` : describeValue(given)}. Pass an array of ${aliases.length}, one for each of ${aliases.join(', ')}.`,
    );
  }
  for (const [at, one] of args.entries())
    if (!isTraced(one)) assertTensor(one, `${what}: ${aliases[at]}`);
  const b = args[place] as Tensor<D>;
  checkDType(what, b.dtype);
  if (b.rank === 2) return b;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: ${aliases[place]} is ${b.label}. Pass (rows, components), without a batch.`,
  );
}
