import type { OptionNames } from '@mercer/options';
import { intercepted, type InterceptedCall } from '@mercer/autodiff/transform';
import type { Settled } from '@mercer/autodiff';
import { readOptions, type KnownValue, type Value } from '@mercer/tensor/operation';
import type { DType } from '@mercer/tensor';
import { checkChoice } from '../checks.js';
import { isHalf } from '../layers/layer-operation.js';
import { checkLoss } from '../statistics/observed.js';

/** Options of {@link autocast}. */
export interface AutocastOptions {
  /** What factors of products are rounded to. Default: 'bfloat16'. */
  readonly dtype?: 'bfloat16' | 'float16' | undefined;
}

const OPTIONS: OptionNames<AutocastOptions> = { dtype: true };

/** How many of the first arguments of an operation are factors. */
const FACTORS: Readonly<Record<string, number>> = { matmul: 2, linear: 2, conv1d: 2, conv2d: 2 };

/**
 * A function whose matrix products have factors of 16 bits: those of `matmul`, `einsum`, linear layers and convolutions. Factors of float32 are rounded, sums are float32, and so are the
 * results; biases, reductions, norms, attention's softmax and losses stay as they are, as does float64. On a GPU products take the tensor cores, gradients among them, whose cotangents are rounded to TF32.
 *
 * Products count of which an argument is a tensor of the function's arguments, or is computed of them. Put it inside a gradient: `valueAndGrad(autocast(loss))`. Parameters stay in float32, and so do
 * their gradients. With float16 gradients may underflow: see `lossScale`.
 *
 * ```ts
 * import { matmul } from '@mercer/linalg';
 * import { autocast } from '@mercer/optim';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[1.001]], { device: 'cpu' });
 * const square = autocast((a: Tensor<'float32'>) => matmul(a, a));
 * console.log(await (await square(x)).toNested()); // [ [ 1 ] ]: bfloat16 has 8 bits
 * ```
 *
 * @param f gives tensors, in objects and arrays too, and may be asynchronous
 * @throws MercerError INVALID_ARGUMENT; what `f` throws
 */
export function autocast<A extends readonly unknown[], R>(
  f: (...args: A) => R | PromiseLike<R>,
  options?: AutocastOptions,
): (...args: A) => Promise<Settled<R>> {
  const what = 'autocast';
  checkLoss(what, f);
  const { dtype = 'bfloat16' } = readOptions(what, options, OPTIONS);
  checkChoice(dtype, what, 'dtype', ['bfloat16', 'float16']);
  const rounded = (one: unknown): unknown => (isFloat32(one) ? (one as Value).cast(dtype) : one);
  const computes = ({ name, args, call }: InterceptedCall): unknown => {
    if (name === 'einsum') {
      const [text, factors, given] = args as readonly [string, readonly Value[], object?];
      // einsum takes no 16 bits; in TF32 the rounded factors are as they are
      const back = factors.map((one) => (isFloat32(one) ? one.cast(dtype).cast('float32') : one));
      return call(text, back, factors.every(isFloat32) ? { precision: 'tf32', ...given } : given);
    }
    const count = FACTORS[name];
    if (count === undefined) return call(...args);
    const own = args.map((one, at) => (at < count ? rounded(one) : one));
    if (name !== 'matmul' || !args.slice(0, count).every(isNarrow)) return call(...own);
    const [a, b, given] = own as unknown as readonly [unknown, unknown, object?];
    return call(a, b, { precision: 'tf32', ...given });
  };
  const whole = Object.keys(FACTORS);
  return intercepted(what, f, { computes, whole }, () => undefined);
}

const dtypeOf = (one: unknown): DType => (one as KnownValue).dtype;
const isFloat32 = (one: unknown): boolean => dtypeOf(one) === 'float32';
const isNarrow = (one: unknown): boolean => isFloat32(one) || isHalf(one as KnownValue);
