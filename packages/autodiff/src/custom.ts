import { describeValue } from '@mercer/options';
import { MercerError, type Pending, type Tensor } from '@mercer/tensor';
import {
  differentiable,
  flatArguments,
  flatLike,
  formatShape,
  nestedLike,
  pending,
  type KnownValue,
  type Shares,
} from '@mercer/tensor/operation';
import type { TensorFunction } from './differentiated-call.js';
import { checkFunction } from './grad.js';
import { isFloating, isPrimal } from './trace/recording.js';
import { vjp } from './vjp.js';

/**
 * A tensor as a constant: no derivative of any order goes through it.
 *
 * ```ts
 * import { grad, stopGradient } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const x = await tensor([3], { device: 'cpu' });
 * console.log(await (await grad((w: Tensor) => w.mul(stopGradient(w)))(x)).toNested()); // [ 3 ]
 * ```
 *
 * @param x a tensor or a pending one
 * @returns another handle for its elements
 */
export const stopGradient: StopGradient = differentiable(
  'stopGradient',
  ((x: Tensor) => x.view()) as unknown as StopGradient,
  'constant',
);

/** How {@link stopGradient} is called. */
export type StopGradient = <X extends Tensor | Pending<Tensor>>(x: X) => X;

/** What a rule knows of the call that it differentiates. */
export interface CustomCall<A extends readonly unknown[]> {
  readonly args: A;
  readonly value: Tensor;
}

/** A cotangent for each argument, for lists and records of tensors like them; undefined where it is 0, and for what is no tensor. */
export type Cotangents = readonly unknown[];

/**
 * A function with a derivative rule of its own, for functions whose operations have none, or a better one. The rule gives the cotangents of the arguments from that of the value; it is
 * written with operations on tensors, so that it is differentiated too, and may compute again what it needs.
 *
 * ```ts
 * import { customVjp, grad } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const log1pExp = customVjp(
 *   (x: Tensor) => x.exp().log1p(),
 *   (cotangent, { args: [x] }) => [x.sigmoid().mul(cotangent)], // no overflow
 * );
 * const x = await tensor(100, { device: 'cpu' });
 * console.log(await (await grad(log1pExp)(x)).item()); // 1
 * ```
 *
 * @param f gives one tensor, and is called with tensors or with traced values of an outer derivative
 * @param rule called with the cotangent, of the value's shape
 * @returns the function
 * @throws MercerError of what it returns: INVALID_ARGUMENT where the rule gives other than one cotangent for each argument, SHAPE_MISMATCH where one has not its argument's shape
 */
export function customVjp<A extends readonly unknown[]>(
  f: TensorFunction<A>,
  rule: (cotangent: Tensor, call: CustomCall<A>) => Cotangents | Promise<Cotangents>,
): (...args: A) => Pending<Tensor> {
  checkFunction('customVjp', f);
  checkFunction('customVjp: the rule', rule);
  const call = (...args: A): Pending<Tensor> => pending((async () => f(...args))());
  return differentiable<typeof call, A>('customVjp', call, {
    vjp: (g, { args, result }) => {
      const given = (async () => {
        const value = result as unknown as Tensor;
        const all = await rule(g as Tensor, { args, value });
        checkCount(all, args.length);
        return all;
      })();
      // who takes a share hears of it
      given.catch(() => undefined);
      const shares = flatArguments(args).map((one, at) => () => {
        const share = given.then(async (all) => {
          const own = flatLike(args, all)[at] as Tensor | Pending<Tensor> | undefined;
          return checkShape(await own, one, at);
        });
        return pending(share) as Pending<Tensor>;
      });
      return nestedLike(args, shares) as Shares;
    },
  });
}

function checkCount(all: unknown, count: number): void {
  if (Array.isArray(all) && all.length === count) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `customVjp: the rule gave ${Array.isArray(all) ? `${all.length} cotangents` : describeValue(all)} for ${count} arguments. Give an array with a cotangent for each, undefined where it is 0.`,
  );
}

function checkShape(share: Tensor | undefined, argument: unknown, at: number): Tensor | undefined {
  if (share === undefined) return undefined;
  const { shape } = argument as KnownValue;
  const given: unknown = share;
  if (typeof given !== 'object' || given === null || !('shape' in given)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `customVjp: the rule gave ${describeValue(given)} as cotangent ${at}. Give a tensor of the argument's shape, or undefined.`,
    );
  }
  if (share.shape.length === shape.length && share.shape.every((n, k) => n === shape[k]))
    return share;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `customVjp: the rule gave cotangent ${at} with shape ${formatShape(share.shape)}, and the argument has ${formatShape(shape)}. Give one of the argument's shape.`,
  );
}

/**
 * A function whose results between are not kept: its gradient calls it once more. It must be a function of its arguments alone, and give the same each time.
 *
 * ```ts
 * import { checkpoint, grad } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const layer = checkpoint((x: Tensor) => x.softmax().square().softmax());
 * const x = await tensor([1, 2], { device: 'cpu' });
 * const gradient = await grad((w: Tensor) => layer(w).slice(0))(x);
 * console.log(gradient.shape); // [ 2 ]
 * ```
 *
 * @param f gives one tensor. It is differentiated by all its arguments, lists and records of tensors among them
 */
export function checkpoint<A extends readonly unknown[]>(
  f: TensorFunction<A>,
): (...args: A) => Pending<Tensor> {
  checkFunction('checkpoint', f);
  const call = (...args: A): Pending<Tensor> => pending((async () => f(...args))());
  return differentiable<typeof call, A>('checkpoint', call, {
    vjp: (g, { args }) => {
      const flat = flatArguments(args);
      const places = flat.flatMap((one, at) => (isPrimal(one) && isFloating(one) ? [at] : []));
      const again = (variables: readonly unknown[]): ReturnType<typeof f> => {
        const whole = flat.map((one, at) => variables[places.indexOf(at)] ?? one);
        return f(...(nestedLike(args, whole) as unknown as A));
      };
      const gradients = async (): Promise<readonly Tensor[]> => {
        const call = await vjp(again)(places.map((at) => flat[at]));
        try {
          call.value.dispose();
          return (await call.pull(await g)) as readonly Tensor[];
        } finally {
          call.dispose();
        }
      };
      // once for all arguments
      let found: Promise<readonly Tensor[]> | undefined;
      const shares = flat.map((_, at) => () => {
        found ??= gradients();
        return pending(found.then((all) => all[places.indexOf(at)] as Tensor));
      });
      return nestedLike(args, shares) as Shares;
    },
  });
}
