import { describeValue, type OptionNames } from '@mercer/options';
import { full, MercerError, type Device, type SignalOption, type Tensor } from '@mercer/tensor';
import { formatShape, readOptions, SIGNAL_OPTION } from '@mercer/tensor/operation';
import { AutodiffError } from './autodiff-error.js';
import {
  pulled,
  taped,
  type ArgNums,
  type Differentiable,
  type TapedCall,
  type TensorFunction,
} from './differentiated-call.js';
import { orZeros } from './trace/handed.js';
import type { Seed } from './trace/reverse.js';
import type { Settled } from './tree.js';
import { heardInTraces } from './heard-in-traces.js';

/** Options of {@link grad} and {@link valueAndGrad}. Calls heed the signal in front of every operation of the function and of its derivative. */
export interface GradOptions<
  N extends ArgNums = ArgNums,
  X extends boolean = boolean,
> extends SignalOption {
  /** The argument by which the function is differentiated, or several. Default: 0. */
  readonly argnums?: N | undefined;
  /** Gives zeros for arguments on which the value does not depend, and for whole numbers. Default: false, which is an error. */
  readonly allowUnused?: boolean | undefined;
  /** The function gives `[value, aux]`: what is wanted beside the value, of which no derivative is taken. Default: false. */
  readonly hasAux?: X | undefined;
  /** Names the operation whose result or gradient is the first to have NaN. It reads every result, so it is slow. Default: false. */
  readonly detectNaN?: boolean | undefined;
}

const GRAD_OPTIONS: OptionNames<GradOptions> = {
  ...SIGNAL_OPTION,
  argnums: true,
  allowUnused: true,
  hasAux: true,
  detectNaN: true,
};

/** The gradients of a call: like the argument, or a list of them where argnums is one. Arguments with a default were given. */
export type GradientsOf<A extends readonly unknown[], N extends ArgNums> = N extends number
  ? Exclude<A[N], undefined>
  : { -readonly [K in keyof N]: N[K] extends number ? Exclude<A[N[K]], undefined> : never };

/** The value of a function with its gradients. */
export interface ValueAndGrad<G> {
  readonly value: Tensor;
  readonly grad: G;
}

/** What a function gives beside its value, with what its traced values stand for. */
export interface WithAux<X> {
  readonly aux: X;
}

/** A function that gives its value and something beside it. */
export type AuxFunction<A extends readonly unknown[], X> = (
  ...args: A
) =>
  readonly [value: Differentiable, aux: X] | PromiseLike<readonly [value: Differentiable, aux: X]>;

/**
 * The gradient of a function whose value has one element: a function of the same arguments that resolves to what is like the argument, with
 * the gradient in the place of each tensor.
 *
 * `f` is called with traced values in the place of the tensors of that argument. The same functions and methods work on them, their elements can be read, and
 * what has no derivative rule refuses them by name. Other arguments are given as they are.
 *
 * ```ts
 * import { grad } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const x = await tensor([1, 2, 3], { device: 'cpu' });
 * const gradient = await grad((w: Tensor<'float32'>) => w.square().sum())(x);
 * console.log(await gradient.toNested()); // [ 2, 4, 6 ]
 * ```
 *
 * @param f gives a tensor with one element, of any rank: a tensor, a result that is not awaited yet, or a promise of one. It may be asynchronous
 * @returns gradients of the shape and dtype of their variables, which the caller disposes
 * @throws MercerError NOT_SCALAR where the value has other than one element; INDEPENDENT where it does not depend on a variable; DTYPE_MISMATCH for a
 *   variable of whole numbers; NOT_DIFFERENTIABLE where an operation has no rule; ESCAPED for values of an earlier call; MODIFIED where a
 *   tensor that a rule reads was written; INVALID_ARGUMENT, DISPOSED; what `f` throws
 */
export function grad<A extends readonly unknown[], const N extends ArgNums = 0>(
  f: TensorFunction<A>,
  options?: GradOptions<N, false>,
): (...args: A) => Promise<GradientsOf<A, N>>;
export function grad<A extends readonly unknown[], X, const N extends ArgNums = 0>(
  f: AuxFunction<A, X>,
  options: GradOptions<N> & { readonly hasAux: true },
): (...args: A) => Promise<{ readonly grad: GradientsOf<A, N> } & WithAux<Settled<X>>>;
export function grad(
  f: (...args: never[]) => unknown,
  given?: GradOptions,
): (...args: readonly unknown[]) => Promise<unknown> {
  const options = gradOptions('grad', f, given);
  return heardInTraces(async (...args) => {
    const { value, ...rest } = await gradients('grad', f, args, options);
    value.dispose();
    return options.hasAux === true ? rest : rest.grad;
  });
}

/**
 * The value of a function together with its gradient: see {@link grad}.
 *
 * ```ts
 * import { valueAndGrad } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const x = await tensor([1, 2, 3], { device: 'cpu' });
 * const { value, grad } = await valueAndGrad((w: Tensor<'float32'>) => w.square().sum())(x);
 * console.log(await value.item(), await grad.toNested()); // 14 [ 2, 4, 6 ]
 * ```
 *
 * @returns `{ value, grad }`, whose tensors the caller disposes
 * @throws as {@link grad}
 */
export function valueAndGrad<A extends readonly unknown[], const N extends ArgNums = 0>(
  f: TensorFunction<A>,
  options?: GradOptions<N, false>,
): (...args: A) => Promise<ValueAndGrad<GradientsOf<A, N>>>;
export function valueAndGrad<A extends readonly unknown[], X, const N extends ArgNums = 0>(
  f: AuxFunction<A, X>,
  options: GradOptions<N> & { readonly hasAux: true },
): (...args: A) => Promise<ValueAndGrad<GradientsOf<A, N>> & WithAux<Settled<X>>>;
export function valueAndGrad(
  f: (...args: never[]) => unknown,
  given?: GradOptions,
): (...args: readonly unknown[]) => Promise<unknown> {
  const options = gradOptions('valueAndGrad', f, given);
  return heardInTraces(async (...args) => gradients('valueAndGrad', f, args, options));
}

function gradOptions(what: string, f: unknown, given: GradOptions | undefined): GradOptions {
  checkFunction(what, f);
  const options = readOptions(what, given, GRAD_OPTIONS);
  checkBooleans(what, options, ['allowUnused', 'hasAux', 'detectNaN']);
  return options;
}

/**
 * The gradient whose tangents are second derivatives. A variable without influence has zeros, as constants have, but where elements were read: what is computed of these has second
 * derivatives that nobody sees.
 */
export function gradientWithin<X>(
  what: string,
  f: TensorFunction<readonly [X]>,
  options: SignalOption,
): (x: X) => Promise<X> {
  return heardInTraces(async (x) => {
    const { value, grad } = await gradients(what, f, [x], options, 'zeros unless read');
    value.dispose();
    return grad as X;
  });
}

/** What variables without influence have. */
type Unused = 'error' | 'zeros' | 'zeros unless read';

async function gradients(
  what: string,
  f: (...args: never[]) => unknown,
  args: readonly unknown[],
  options: GradOptions,
  unused: Unused = options.allowUnused === true ? 'zeros' : 'error',
): Promise<ValueAndGrad<unknown> & Partial<WithAux<unknown>>> {
  const call = await taped(what, f, args, options);
  const value = call.value as Tensor;
  try {
    const grad = await gradientsOf(what, call, value, unused);
    return { value, grad, ...(options.hasAux === true && { aux: call.aux }) };
  } catch (error) {
    for (const one of call.handles) one.dispose();
    throw error;
  } finally {
    call.tape.dispose();
  }
}

async function gradientsOf(
  what: string,
  call: TapedCall,
  value: Tensor,
  unused: Unused,
): Promise<unknown> {
  const { tape, leaves } = call;
  const source = call.outputs[0]?.source;
  if (value.size !== 1) {
    throw new AutodiffError(
      'NOT_SCALAR',
      `${what}: the function gave ${value.dtype} ${formatShape(value.shape)}, and a gradient is of a value with one element. Reduce it, as with sum(), or use vjp() and choose the cotangent.`,
    );
  }
  let seeds: readonly Seed[] = [];
  if (source !== undefined) {
    const one = seedOf(value);
    seeds = [{ source, cotangent: one instanceof Promise ? await one : one }];
  }
  const found = await pulled(call, seeds, false);
  const first = leaves.find((_, at) => found[at] === undefined);
  if (first !== undefined && unused !== 'zeros' && (unused === 'error' || tape.wasRead)) {
    for (const one of found) one?.dispose();
    throw unused === 'error'
      ? independent(first.path, tape.wasRead)
      : independent(first.path, true, 'or leave it out of the argument');
  }
  if (first === undefined) return call.rebuilt(found);
  const all = await Promise.all(leaves.map(async (leaf, at) => orZeros(found[at], leaf.value)));
  return call.rebuilt(all);
}

export function independent(
  path: string,
  wasRead: boolean,
  remedy = 'name other arguments with argnums, or pass { allowUnused: true } for zeros',
): AutodiffError {
  const why = wasRead
    ? 'Elements were read inside the function, and what is computed of numbers has no gradient: compute with tensors'
    : 'Use the variable';
  return new AutodiffError(
    'INDEPENDENT',
    `${path}: the value does not depend on it. ${why}, ${remedy}.`,
  );
}

/** One, in each dtype, for the start of gradients: nobody else gets it. */
const ones = new WeakMap<
  Device,
  Partial<Record<'float32' | 'float64', Tensor | Promise<Tensor>>>
>();

function seedOf({ device, dtype }: Tensor): Tensor | Promise<Tensor> {
  const wide = dtype === 'float64' ? dtype : 'float32';
  let known = ones.get(device);
  if (known === undefined) ones.set(device, (known = {}));
  return (known[wide] ??= full([], 1, { dtype: wide, device }).then((one) => (known[wide] = one)));
}

/** @throws MercerError INVALID_ARGUMENT for an option that is neither true nor false */
export function checkBooleans<O extends object>(
  what: string,
  options: O,
  names: readonly (keyof O & string)[],
): void {
  for (const name of names) {
    const value: unknown = options[name];
    if (value === undefined || typeof value === 'boolean') continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${name} is ${describeValue(value)}. Pass true or false.`,
    );
  }
}

/** Of a function that takes no options: what stands where others have them. @throws MercerError INVALID_ARGUMENT */
export function checkNoOptions(what: string, more: readonly unknown[]): void {
  const given = more.find((one) => one !== undefined);
  if (given === undefined) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the last argument is ${describeValue(given)}, and ${what} takes no options. Leave it out; close over what else the function reads.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkFunction(what: string, f: unknown): void {
  if (typeof f === 'function') return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: expected a function, got ${describeValue(f)}. Pass a function of tensors; what it gives is called with the arguments.`,
  );
}
