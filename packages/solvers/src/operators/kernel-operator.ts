import { LazyTensor, lazyI, lazyJ, param } from '@mercer/lazy';
import { describeValue, type OptionNames } from '@mercer/options';
import type { KernelDescriptor, RowsAndOptions, RunKernelOptions } from '@mercer/pairwise';
import { KERNEL_MATRIX_OPTIONS, kernelFormula } from '@mercer/pairwise/operation';
import { full, isTensor, MercerError, type Tensor } from '@mercer/tensor';
import { isTraced, readOptions } from '@mercer/tensor/operation';
import { shifted } from './compose.js';
import {
  LAZY_OPERATOR_OPTIONS,
  lazyParts,
  productOptions,
  type LazyOperatorOptions,
} from './lazy-operator.js';
import { LinearOperator } from './linear-operator.js';
import type { OperatorDType } from './operator-types.js';

/** Options of `runKernel` that have to do with its result's memory, its launch or a tile of a larger matrix. */
type OfCalls =
  | 'out'
  | 'stream'
  | 'device'
  | 'align'
  | 'debug'
  | 'signal'
  | 'symmetric'
  | 'regularizationOffset'
  | 'onProgress';

type Without<O> = O extends unknown ? Omit<O, OfCalls> : never;

/** Options of {@link kernelOperator}: the parameters that the descriptor has, and those of products. */
export type KernelOperatorOptions<
  F extends KernelDescriptor = KernelDescriptor,
  D extends OperatorDType = OperatorDType,
> = Without<RunKernelOptions<F, D>> & LazyOperatorOptions;

const OPTIONS: OptionNames<KernelOperatorOptions> = {
  ...KERNEL_MATRIX_OPTIONS,
  ...LAZY_OPERATOR_OPTIONS,
};

/**
 * The matrix of `runKernel(descriptor, x, y, options)` as an operator: its products are reductions, and it is not stored. Without y it is that of x with itself, square.
 *
 * It is differentiated by x, y and the parameters that are tensors, and computes its diagonal and its rows. Parameters have one value each, `scale` may have one for each
 * feature. `regularization` is a multiple of the identity, and needs x alone. Conventions are those of `runKernel`: `epsilon` of 1e-5 for laplace and gaussian, and no
 * slope at distance 0 of a root. Those of `asOperator` are of its products.
 *
 * ```ts
 * import { kernels } from '@mercer/pairwise';
 * import { cg, kernelOperator } from '@mercer/solvers';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const x = await tensor([[0], [1], [2]], where);
 * using k = await kernelOperator(kernels.gaussian, x, { bandwidth: 1, regularization: 0.1 });
 * const { x: weights, converged } = await cg(k, await tensor([1, 2, 3], where));
 * console.log(k.shape, weights.shape, converged); // [ 3, 3 ] [ 3 ] true
 * ```
 *
 * @param x (M, K), float32 or float64; borrowed, as the parameters that are tensors. A second matrix y (N, K) may follow, borrowed too; default: x
 * @returns an operator (M, N), which owns tensors of the parameters that were numbers: the caller disposes it
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH
 */
export async function kernelOperator<
  F extends KernelDescriptor,
  D extends OperatorDType,
  T = unknown,
>(
  descriptor: F,
  x: Tensor<D>,
  ...rest: RowsAndOptions<Tensor<NoInfer<D>>, KernelOperatorOptions<F, NoInfer<D>>, T>
): Promise<LinearOperator<D>> {
  const what = 'kernelOperator';
  const [second, third] = rest as readonly unknown[] as readonly [unknown, unknown];
  const isRows = isTensor(second) || isTraced(second);
  if (!isRows && second !== undefined && third !== undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: y is ${describeValue(second)}. Pass a tensor, or leave it out: ${what}(descriptor, x, options).`,
    );
  }
  const y = isRows ? (second as Tensor) : undefined;
  const given = (isRows || second === undefined ? third : second) as
    KernelOperatorOptions | undefined;
  const [products, options] = productOptions(readOptions(what, given, OPTIONS));
  const { formula, parameters, shift } = kernelFormula(what, descriptor, x, y, options);
  const owned: Tensor[] = [];
  try {
    const inputs = [lazyI(x), lazyJ((y ?? x) as Tensor<D>)].flatMap((one) => one.inputs);
    /** One value may have any rank. */
    const ofRank = (one: Tensor, rank: 0 | 1): Tensor => {
      if (one.rank <= rank) return one;
      const flat = one.reshape(rank === 0 ? [] : [one.size]);
      if (isTensor(flat)) owned.push(flat);
      return flat;
    };
    for (const one of parameters) {
      if (typeof one === 'number') {
        const { dtype, device } = x;
        const made: Tensor = await full([1], one, { dtype, device });
        owned.push(made);
        inputs.push(...param(made as Tensor<D>).inputs);
      } else {
        inputs.push(...param(ofRank(one, 1) as Tensor<D>).inputs);
      }
    }
    const matrix = new LazyTensor<D>(what, { formula, inputs });
    const parts = lazyParts(what, matrix, products);
    if (shift === undefined) return new LinearOperator<D>({ ...parts, owned });
    const by = typeof shift === 'number' ? shift : ofRank(shift, 0);
    const plain = new LinearOperator<D>(parts);
    return new LinearOperator<D>({ ...shifted(plain, by as Tensor<D>), owned });
  } catch (error) {
    for (const one of owned) one.dispose();
    throw error;
  }
}
