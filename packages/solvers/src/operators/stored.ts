import { describeValue, type OptionNames } from '@mercer/options';
import { dtypeBytes, MercerError, type Tensor } from '@mercer/tensor';
import { availableBytes, readOptions } from '@mercer/tensor/operation';
import { assertOperator, LinearOperator } from './linear-operator.js';
import { denseOperator } from './matrices.js';
import type { OperatorDType } from './operator-types.js';

/** Options of {@link storedOperator}. */
export interface StoredOptions {
  /** Bytes that the matrix may take; default: a quarter of what is free on the operator's device, as computing it may take three times as much beside it. */
  readonly memory?: number | undefined;
}

const OPTIONS: OptionNames<StoredOptions> = { memory: true };

/**
 * An operator whose matrix is stored where it fits, and the operator itself where it does not. A stored matrix is read in each product and
 * not computed again: of many products with few vectors that is less work. It is the matrix of the tensors as they are now; its solutions are differentiated
 * through the products of the operator itself, by the same tensors.
 *
 * ```ts
 * import { lazyI, lazyJ } from '@mercer/lazy';
 * import { storedOperator } from '@mercer/solvers';
 * import { tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[0], [1]], { device: 'cpu' });
 * const kernel = lazyI(x).sub(lazyJ(x)).abs().asOperator();
 * using stored = await storedOperator(kernel);
 * console.log(stored === kernel, await (await stored.dense()).toNested()); // false [ [ 0, 1 ], [ 1, 0 ] ]
 * console.log((await storedOperator(kernel, { memory: 15 })) === kernel); // true
 * ```
 *
 * @returns what `dispose()` frees the matrix of; the tensors of the operator stay borrowed
 * @throws MercerError INVALID_ARGUMENT
 */
export async function storedOperator<D extends OperatorDType>(
  operator: LinearOperator<D>,
  options?: StoredOptions,
): Promise<LinearOperator<D>> {
  const what = 'storedOperator';
  assertOperator(operator, `${what}: the operator`);
  const { shape, dtype, device, parameters } = operator;
  const given = readOptions<StoredOptions>(what, options, OPTIONS);
  const { memory = availableBytes(device) / 4 } = given;
  if (!(typeof memory === 'number' && memory >= 0)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: memory is ${describeValue(memory)}. Pass a number of bytes that is not negative.`,
    );
  }
  if (shape[0] * shape[1] * dtypeBytes(dtype) > memory) return operator;
  const matrix = await operator.dense();
  const stored = denseOperator(matrix);
  /** The matrix, where the tensors are those that it was computed from. */
  const of = (tensors: readonly Tensor[]): LinearOperator<D> =>
    tensors.every((one, at) => one === parameters[at]) ? stored : operator.withParameters(tensors);
  return new LinearOperator<D>({
    form: {
      shape,
      dtype,
      device,
      isCapturable: operator.isCapturable,
      isForeign: operator.isForeign,
    },
    parameters,
    owned: [matrix],
    rules: {
      matvec: (v, tensors) => of(tensors).matvec(v as Tensor<D>),
      rmatvec: (v, tensors) => of(tensors).rmatvec(v as Tensor<D>),
      diagonal: (tensors) => of(tensors).diagonal(),
      rows: (indices, tensors) => of(tensors).rows(indices),
      dense: (tensors) => of(tensors).dense(),
    },
  });
}
