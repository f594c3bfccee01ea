import { MercerError, type DType, type Tensor } from '@mercer/tensor';
import {
  assertTensor,
  differentiable,
  formatShape,
  isKnownResult,
  isTraced,
  pendingOf,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';
import { owned } from '@mercer/autodiff/transform';
import { matmul, type MatmulOptions } from '@mercer/linalg';

/**
 * A function of a layer as one operation: transforms that ask for it by name see one call, all others what it is composed of. Its tensors are
 * there when it is called, and what it computes between is disposed.
 */
export function layerOperation<A extends readonly unknown[]>(
  name: string,
  call: (...args: A) => Value | Promise<Value>,
): (...args: GivenTensors<A>) => Value {
  const alone = owned(name, async (...args: A) => call(...args));
  const plain = (...args: A): Value => pendingOf(async () => alone(...args) as Promise<Tensor>);
  return differentiable<(...args: A) => Value, A>(name, plain, {
    composedOf: call,
    isTransparent: true,
  }) as unknown as (...args: GivenTensors<A>) => Value;
}

/**
 * A function of several layers' operations, one behind the other. What they compute between is disposed; inside transforms the trace does that.
 *
 * @param steps gives its results in an object, so that nothing waits for them
 * @param ended what the layer gives, of what the steps gave
 */
export function inSteps<A extends readonly unknown[], R extends object>(
  what: string,
  steps: (...args: A) => R,
  ended: (found: R) => Value,
): (...args: A) => Value {
  const run = owned(what, steps);
  return (...args) => {
    const found = run(...args) as R | Promise<R>;
    return found instanceof Promise
      ? pendingOf(async () => ended(await found) as Tensor)
      : ended(found);
  };
}

/** Arguments as callers have them: results before they are awaited among them. */
export type GivenTensors<A extends readonly unknown[]> = {
  readonly [K in keyof A]: KnownValue extends A[K] ? Exclude<A[K], KnownValue> | Value : A[K];
};

/** Matrix products of values that may be traced, which know no dtype. */
export const product = (a: Value, b: Value, options?: MatmulOptions<'float64'>): Value =>
  matmul(a as Tensor<'float64'>, b as Tensor<'float64'>, options);

/** Products of factors of 16 bits are exact in TF32; saying so gives their gradients it too. */
export const howOf = (a: KnownValue, b: KnownValue): Pick<MatmulOptions<'float64'>, 'precision'> =>
  isHalf(a) && isHalf(b) ? { precision: 'tf32' } : {};

/** Whether a value has 16 bits. */
export const isHalf = ({ dtype }: KnownValue): boolean =>
  dtype === 'float16' || dtype === 'bfloat16';

/** A tensor, or what stands for one inside transforms: a traced value, or an elementwise result that is not launched yet. @throws MercerError INVALID_ARGUMENT, DISPOSED */
export function checkTensor(x: unknown, what: string): asserts x is KnownValue {
  if (!isTraced(x) && !isKnownResult(x)) assertTensor(x, what);
}

export const labelOf = ({ dtype, shape }: KnownValue): string => `${dtype} ${formatShape(shape)}`;

/** @throws MercerError SHAPE_MISMATCH */
export function shapeError(message: string): MercerError {
  return new MercerError('SHAPE_MISMATCH', message);
}

/** Indices and labels. @throws MercerError DTYPE_MISMATCH */
export function checkWhole(x: KnownValue, what: string): void {
  if (WHOLE.includes(x.dtype)) return;
  throw new MercerError(
    'DTYPE_MISMATCH',
    `${what}: expected int32 or int64, got ${labelOf(x)}. cast('int32') makes them so, and argMax(1) numbers of one-hot rows.`,
  );
}

const WHOLE: readonly DType[] = ['int32', 'int64'];
