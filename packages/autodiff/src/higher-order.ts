import { describeValue } from '@mercer/options';
import {
  eye,
  isTensor,
  MercerError,
  stack,
  zeros,
  type DType,
  type Pending,
  type SignalOption,
  type Tensor,
} from '@mercer/tensor';
import { givesPending, isTraced, readOptions, SIGNAL_OPTION } from '@mercer/tensor/operation';
import type { TensorFunction } from './differentiated-call.js';
import { checkFunction, gradientWithin } from './grad.js';
import { pushed } from './jvp.js';
import { leavesOf } from './tree.js';
import { vjp } from './vjp.js';
import { heardInTraces } from './heard-in-traces.js';

/**
 * The product of a function's Hessian with a direction, by a tangent of its gradient: the Hessian is never stored.
 *
 * ```ts
 * import { hvp } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const cubes = (w: Tensor<'float32'>) => w.pow(3).sum();
 * const product = await hvp(cubes)(await tensor([1, 2], where), await tensor([1, 1], where));
 * console.log(await product.toNested()); // [ 6, 12 ]
 * ```
 *
 * @param f gives a tensor with one element
 * @param options `signal` is heeded in front of every operation
 * @returns like the argument
 * @throws as {@link grad} and {@link jvp}; INDEPENDENT where the value does not depend on the argument and `f` read elements
 */
export function hvp<X>(
  f: TensorFunction<readonly [X]>,
  options?: SignalOption,
): (x: X, direction: X) => Promise<X> {
  checkFunction('hvp', f);
  const given = readOptions('hvp', options, SIGNAL_OPTION);
  const gradient = gradientWithin('hvp', f, given);
  return heardInTraces(async (x, direction) => {
    if (direction === undefined) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        'hvp: the direction is undefined. Pass a direction like the argument.',
      );
    }
    const { value, tangent } = await pushed('hvp', gradient, [x], [direction], given);
    await disposed(value);
    return tangent;
  });
}

/** A function of one tensor that gives one. */
export type TensorToTensor<D extends DType = DType> = TensorFunction<readonly [x: Tensor<D>]>;

/**
 * All derivatives of a function of one tensor: of shape `(...value, ...argument)` and of the argument's dtype. By rows, backwards, where the value has fewer elements than the argument, else by
 * columns, forwards; one pass each.
 *
 * ```ts
 * import { jacobian } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const x = await tensor([1, 2], { device: 'cpu' });
 * const matrix = await jacobian((w: Tensor) => w.mul(w.sum()))(x);
 * console.log(await matrix.toNested()); // [ [ 4, 1 ], [ 2, 5 ] ]
 * ```
 *
 * @param options `signal` is heeded in front of every operation
 * @throws as {@link vjp} and {@link jvp}
 */
export function jacobian<D extends DType>(
  f: TensorToTensor<D>,
  options?: SignalOption,
): (x: Tensor<D>) => Pending<Tensor<D>> {
  checkFunction('jacobian', f);
  const given = readOptions('jacobian', options, SIGNAL_OPTION);
  const call = heardInTraces(async (...args: readonly [Tensor<D>]) => {
    const x = onlyTensor<D>('jacobian', args);
    const { value, pull, dispose } = await vjp(f, given)(x);
    try {
      if (value.size >= x.size) {
        const all = await columns('jacobian', f, x, value.shape, given);
        if (all.dtype === x.dtype) return all as Tensor<D>;
        using other = all;
        return await other.cast(x.dtype);
      }
      const rows = await along(value, pull);
      return (await joined(rows, 0, [...value.shape, ...x.shape], x)) as Tensor<D>;
    } finally {
      dispose();
      value.dispose();
    }
  });
  return givesPending(call);
}

/**
 * All second derivatives of a function whose value has one element: of shape `(...argument, ...argument)`, by tangents of its gradient.
 *
 * ```ts
 * import { hessian } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const x = await tensor([1, 2], { device: 'cpu' });
 * const matrix = await hessian((w: Tensor) => w.pow(3).sum())(x);
 * console.log(await matrix.toNested()); // [ [ 6, 0 ], [ 0, 12 ] ]
 * ```
 *
 * @param options `signal` is heeded in front of every operation
 * @throws as {@link grad} and {@link jvp}; INDEPENDENT where the value does not depend on the argument and `f` read elements
 */
export function hessian<D extends DType>(
  f: TensorToTensor<D>,
  options?: SignalOption,
): (x: Tensor<D>) => Pending<Tensor<D>> {
  checkFunction('hessian', f);
  const given = readOptions('hessian', options, SIGNAL_OPTION);
  const gradient = gradientWithin('hessian', f, given);
  const call = heardInTraces(async (...args: readonly [Tensor<D>]) => {
    const x = onlyTensor<D>('hessian', args);
    return (await columns('hessian', gradient, x, x.shape, given)) as Tensor<D>;
  });
  return givesPending(call);
}

/** @throws MercerError INVALID_ARGUMENT for other arguments than one tensor */
function onlyTensor<D extends DType>(what: string, args: readonly unknown[]): Tensor<D> {
  const [x] = args;
  if (args.length === 1 && (isTensor(x) || isTraced(x))) return x as Tensor<D>;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the arguments are ${args.map(describeValue).join(', ')}. Pass one tensor; close over what else the function reads, and join several variables into one.`,
  );
}

async function columns<D extends DType>(
  what: string,
  f: TensorToTensor<D>,
  x: Tensor<D>,
  shape: readonly number[],
  options: SignalOption,
): Promise<Tensor> {
  const all = await along(x, async (direction) => {
    const { value, tangent } = await pushed(
      what,
      f as (x: Tensor<D>) => Promise<Tensor>,
      [x],
      [direction],
      options,
    );
    value.dispose();
    return tangent;
  });
  return joined(all, -1, [...shape, ...x.shape], x);
}

/** What a function gives for each element's direction. */
async function along<D extends DType>(
  { size, shape, dtype, device }: Tensor<D>,
  take: (direction: Tensor<D>) => Promise<Tensor>,
): Promise<readonly Tensor[]> {
  using directions = await eye(size, { dtype, device });
  const all: Tensor[] = [];
  try {
    for (let k = 0; k < size; k++) {
      using row = directions.slice(k);
      using direction = row.reshape(shape);
      all.push(await take(direction));
    }
    return all;
  } catch (error) {
    for (const one of all) one.dispose();
    throw error;
  }
}

async function joined(
  parts: readonly Tensor[],
  axis: number,
  shape: readonly number[],
  { dtype, device }: Tensor,
): Promise<Tensor> {
  if (parts.length === 0) return zeros(shape, { dtype, device });
  try {
    using all = await stack(parts, axis);
    return all.reshape(shape);
  } finally {
    for (const one of parts) one.dispose();
  }
}

/** Disposes the tensors of a tree. */
async function disposed(tree: unknown): Promise<void> {
  for (const { value } of await leavesOf(tree, 'the gradient')) value.dispose();
}
