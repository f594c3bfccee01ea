import { describeValue } from '@mercer/options';
import { MercerError, zeros, type Pending, type Tensor } from '@mercer/tensor';
import {
  assertTensor,
  differentiable,
  flatArguments,
  flatLike,
  formatShape,
  mapArguments,
  nestedLike,
  pending,
  promisesTraced,
  zerosLike,
  type DerivativeRule,
  type KnownValue,
  type Shares,
  type Value,
} from '@mercer/tensor/operation';
import { pulled, taped, type Differentiable, type TensorFunction } from './differentiated-call.js';
import { checkFunction, checkNoOptions } from './grad.js';
import { cotangentsForExamples, forExamples } from './over-examples.js';
import { handedOut } from './trace/handed.js';
import { Owning, plainOf } from './trace/owning.js';
import type { Seed } from './trace/reverse.js';
import { isFloating, isPrimal } from './trace/values.js';

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
  ((x: unknown) => {
    assertTensor(x, 'stopGradient: x');
    return x.view();
  }) as unknown as StopGradient,
  'constant',
  undefined,
  'one call',
);

/** How {@link stopGradient} is called. */
export type StopGradient = <X extends Tensor | Pending<Tensor>>(x: X) => X;

/** What a rule knows of the call that it differentiates. */
export interface CustomCall<A extends readonly unknown[]> {
  readonly args: A;
  readonly value: Tensor;
}

/** A tangent for each argument, for trees of tensors like them. */
export type TangentsOf<A extends readonly unknown[]> = A;

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
 * @throws MercerError of what it returns: INVALID_ARGUMENT where the rule gives other than one cotangent for each argument, SHAPE_MISMATCH where one has not its argument's shape, DTYPE_MISMATCH for whole numbers
 */
export function customVjp<A extends readonly unknown[]>(
  f: TensorFunction<A>,
  rule: (cotangent: Tensor, call: CustomCall<A>) => Cotangents | Promise<Cotangents>,
  ...none: readonly never[]
): (...args: A) => Pending<Tensor> {
  checkFunction('customVjp', f);
  checkFunction('customVjp: the rule', rule);
  checkNoOptions('customVjp', none);
  const cotangents: CotangentRule<A> = async (g, args, value) => {
    const all = await rule(g, { args, value });
    checkCount(all, args.length);
    const flat = flatLike(args, all) as readonly (Tensor | Pending<Tensor> | undefined)[];
    return Promise.all(
      flatArguments(args).map(async (one, at) => checkShape(await flat[at], one, at)),
    );
  };
  return withCotangents(f, cotangents);
}

/** The cotangents of the flat arguments. */
type CotangentRule<A> = (
  cotangent: Tensor,
  args: A,
  value: Tensor,
) => Promise<readonly (Tensor | undefined)[]>;

/** A function with the rule of its cotangents. */
function withCotangents<A extends readonly unknown[]>(
  f: TensorFunction<A>,
  rule: CotangentRule<A>,
): (...args: A) => Pending<Tensor> {
  const what = 'customVjp';
  const call = calling(f);
  const derivative: DerivativeRule<A> = {
    checksLinear: true,
    vjp: (g, { args, result }) => {
      const given = rule(g as Tensor, args, result as unknown as Tensor);
      // who takes a share hears of it
      given.catch(() => undefined);
      const shares = flatArguments(args).map(
        (_, at) => () => pending(given.then((all) => all[at])) as Pending<Tensor>,
      );
      return nestedLike(args, shares) as Shares;
    },
  };
  return differentiable<typeof call, A>(what, call, derivative, (given) => {
    const { mapped, size } = given;
    const are = flatArguments(mapped) as readonly boolean[];
    const isShared = are.map((one) => !one);
    const ofExamples: CotangentRule<A> = async (g, args, value) => {
      const whole = { args: [g, value, ...args], mapped: [true, true, ...mapped], size };
      const all = await cotangentsForExamples(what, whole, isShared, async (one, result, ...own) =>
        rule(one as Tensor, own as unknown as A, result as Tensor),
      );
      return all as readonly (Tensor | undefined)[];
    };
    return withCotangents<A>(oneForExamples(what, f, mapped, size), ofExamples)(...given.args);
  });
}

/** A function of one tensor's value for all examples. */
const oneForExamples =
  <A extends readonly unknown[]>(
    what: string,
    f: (...args: A) => unknown,
    mapped: readonly unknown[],
    size: number,
  ): TensorFunction<A> =>
  async (...args) => {
    const [value] = await forExamples(what, { args, mapped, size }, async (...own) => [
      await f(...(own as unknown as A)),
    ]);
    return value as Tensor;
  };

/** A user's function as a call, whose value may be traced where no argument is: it may use traced values of its own. */
const calling =
  <A extends readonly unknown[]>(f: TensorFunction<A>) =>
  (...args: A): Pending<Tensor> =>
    promisesTraced(pending((async () => f(...args))()));

function checkCount(all: unknown, count: number): void {
  if (Array.isArray(all) && all.length === count) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `customVjp: the rule gave ${Array.isArray(all) ? `${all.length} cotangents` : describeValue(all)} for ${count} arguments. Give an array with a cotangent for each, undefined where it is 0.`,
  );
}

function checkShape(share: Tensor | undefined, argument: unknown, at: number): Tensor | undefined {
  if (share === undefined) return undefined;
  if (!isPrimal(argument)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `customVjp: the rule gave cotangent ${at} for an argument that is ${describeValue(argument)}. Give undefined for what is no tensor.`,
    );
  }
  checkLike(`customVjp: the rule gave`, share, `cotangent ${at}`, argument, 'the argument');
  return share;
}

/** @throws MercerError INVALID_ARGUMENT for what is no tensor, DTYPE_MISMATCH for one of whole numbers, SHAPE_MISMATCH for one of another shape */
function checkLike(
  said: string,
  given: unknown,
  name: string,
  like: unknown,
  owner: string,
): asserts given is Tensor {
  if (!isPrimal(given)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${said} ${describeValue(given)} as ${name}. Give a tensor of ${owner}'s shape, or undefined.`,
    );
  }
  if (!isFloating(given)) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${said} ${name} in ${given.dtype}. Give a floating-point one.`,
    );
  }
  const { shape } = like as KnownValue;
  if (given.shape.length === shape.length && given.shape.every((n, k) => n === shape[k])) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${said} ${name} with shape ${formatShape(given.shape)}, and ${owner} has ${formatShape(shape)}. Give one of ${owner}'s shape.`,
  );
}

/**
 * A function with a rule of its own for tangents. The rule gives the tangent of the value from those of the arguments and is linear in them; gradients follow by turning it round.
 * It is written with operations on tensors, so that it is differentiated too.
 *
 * ```ts
 * import { customJvp, grad } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const log1pExp = customJvp(
 *   (x: Tensor) => x.exp().log1p(),
 *   ([tangent], { args: [x] }) => x.sigmoid().mul(tangent), // no overflow
 * );
 * const x = await tensor(100, { device: 'cpu' });
 * console.log(await (await grad(log1pExp)(x)).item()); // 1
 * ```
 *
 * @param f gives one tensor, and is called with tensors or with traced values of an outer derivative
 * @param rule called with a tangent for each argument, for lists and records of tensors like them: zeros where it has none, undefined for what is no floating-point tensor
 * @returns the function
 * @throws MercerError of what it returns: INVALID_ARGUMENT where the rule gives no tensor, SHAPE_MISMATCH where it has not the value's shape, DTYPE_MISMATCH for whole numbers
 */
export function customJvp<A extends readonly unknown[]>(
  f: TensorFunction<A>,
  rule: (tangents: TangentsOf<A>, call: CustomCall<A>) => Differentiable,
  ...none: readonly never[]
): (...args: A) => Pending<Tensor> {
  checkFunction('customJvp', f);
  checkFunction('customJvp: the rule', rule);
  checkNoOptions('customJvp', none);
  return withTangents(f, async (tangents, args, value) => {
    const given = await rule(tangents as never, { args, value });
    checkLike('customJvp: the rule gave', given, 'tangent', value, 'the value');
    return given;
  });
}

/** The tangent of the value from those of the arguments. */
type TangentRule<A> = (tangents: readonly unknown[], args: A, value: Tensor) => Promise<Tensor>;

/** A function with the rule of its tangents. */
function withTangents<A extends readonly unknown[]>(
  f: TensorFunction<A>,
  tangentOf: TangentRule<A>,
): (...args: A) => Pending<Tensor> {
  const what = 'customJvp';
  const call = calling(f);
  const derivative: DerivativeRule<A> = {
    jvp: (tangents, { args, result }) => {
      const flat = flatArguments(args);
      const whole = flatArguments(tangents).map((one, at) => one ?? zeroTangent(flat[at]));
      return pending(tangentOf(nestedLike(args, whole), args, result as unknown as Tensor));
    },
    // the rule is linear in the tangents: what takes cotangents of it to those of tangents does so anywhere
    vjp: (g, { args, result }) =>
      sharedGradients(args, g, async (wide) => {
        const flat = flatArguments(args);
        const places = flat.flatMap((one, at) => (isVariable(one) ? [at] : []));
        const zeroOf = (at: number): Promise<Tensor> => {
          const { shape, device, dtype } = flat[at] as KnownValue;
          return zeros(shape, { device, dtype: dtype === 'float64' ? dtype : 'float32' });
        };
        const start = await Promise.all(places.map(zeroOf));
        const along = (...given: readonly unknown[]): Promise<Tensor> => {
          const tangents = flat.map((_, at) => given[places.indexOf(at)]);
          return tangentOf(nestedLike(args, tangents), args, result as unknown as Tensor);
        };
        try {
          return { places, found: await gradientsAlong(what, along, start, wide, 'tangents') };
        } finally {
          for (const one of start) one.dispose();
        }
      }),
  };
  return differentiable<typeof call, A>(what, call, derivative, (given) => {
    const { mapped, size } = given;
    const ofExamples: TangentRule<A> = (tangents, args, value) => {
      const count = args.length;
      const all = { args: [value, ...args, ...tangents], mapped: [true, ...mapped, ...mapped] };
      return oneForExamples(
        what,
        (one: unknown, ...both: readonly unknown[]) =>
          tangentOf(both.slice(count), both.slice(0, count) as unknown as A, one as Tensor),
        all.mapped,
        size,
      )(...(all.args as unknown as readonly [unknown, ...unknown[]])) as Promise<Tensor>;
    };
    return withTangents<A>(oneForExamples(what, f, mapped, size), ofExamples)(...given.args);
  });
}

/** Zeros like a variable; undefined for what has no tangent. */
const zeroTangent = (one: unknown): unknown =>
  isVariable(one) ? zerosLike(one as KnownValue) : undefined;

/** Whether an argument may have a derivative. */
const isVariable = (one: unknown): boolean => isPrimal(one) && isFloating(one);

/** The gradients of a function by all its arguments, for cotangents of its value's tensors; undefined where one has no influence. */
async function gradientsAlong(
  what: string,
  f: (...args: readonly unknown[]) => unknown,
  args: readonly unknown[],
  cotangent: unknown,
  linearIn?: string,
): Promise<readonly (Tensor | undefined)[]> {
  const argnums = args.map((_, at) => at);
  const given = (await Promise.all(flatArguments([cotangent]))) as readonly (Tensor | undefined)[];
  const call = await taped(what, f, args, { argnums, keeps: true, linearIn });
  try {
    for (const one of call.handles) one.dispose();
    const seeds = call.outputs.flatMap(({ source }, at): readonly Seed[] => {
      const one = given[at];
      return source === undefined || one === undefined ? [] : [{ source, cotangent: one }];
    });
    return await pulled(call, seeds, false);
  } finally {
    call.tape.dispose();
  }
}

/** Shares that are computed together, once: gradients of the flat arguments at some places. */
function sharedGradients(
  args: readonly unknown[],
  cotangent: unknown,
  compute: (cotangent: unknown) => Promise<{
    readonly places: readonly number[];
    readonly found: readonly (Tensor | undefined)[];
  }>,
): Shares {
  let all: ReturnType<typeof compute> | undefined;
  const shares = flatArguments(args).map((_, at) => () => {
    all ??= (async () => compute(await cotangent))();
    return pending(all.then(({ places, found }) => found[places.indexOf(at)])) as Value;
  });
  return nestedLike(args, shares) as Shares;
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
 * @param f gives one tensor, and is called with traced values. It is differentiated by all its arguments, lists and records of tensors among them
 */
export function checkpoint<A extends readonly unknown[]>(
  f: TensorFunction<A>,
  ...none: readonly never[]
): (...args: A) => Pending<Tensor> {
  const what = 'checkpoint';
  checkFunction(what, f);
  checkNoOptions(what, none);
  const run = async (...args: A): Promise<Tensor> => {
    const trace = new Owning(what);
    const wrapped = (one: unknown): unknown => (isPrimal(one) ? trace.wrap(one) : one);
    try {
      const value = await f(...(mapArguments(args, wrapped) as unknown as A));
      await trace.close();
      return isPrimal(value) ? handedOut(value, trace) : value;
    } finally {
      await trace.close();
      trace.dispose();
    }
  };
  return recomputed(what, run) as (...args: A) => Pending<Tensor>;
}

/** The same for a function that gives a tensor or a list of tensors. */
export function recomputed<A extends readonly unknown[], R>(
  what: string,
  f: (...args: A) => R,
): (...args: A) => Promise<Awaited<R>> {
  const run = async (...args: A): Promise<Awaited<R>> => await f(...args);
  const call = (...args: A): Promise<Awaited<R>> => promisesTraced(pending(run(...args) as never));
  const derivative: DerivativeRule<A> = {
    vjp: (g, { args }) =>
      sharedGradients(args, g, async (given) => {
        const own = flatArguments(args);
        const places = own.flatMap((one, at) => (isVariable(one) ? [at] : []));
        const all = [...own, ...(await Promise.all(flatArguments([given])))];
        const { owner, values } = (await plainOf(all)) ?? { owner: undefined, values: all };
        const flat = values.slice(0, own.length);
        const again = (...variables: readonly unknown[]): unknown => {
          const whole = flat.map((one, at) => variables[places.indexOf(at)] ?? one);
          return f(...(nestedLike(args, whole) as unknown as A));
        };
        const variables = places.map((at) => flat[at]);
        const found = await gradientsAlong(what, again, variables, values.slice(flat.length));
        const owned = (one: Tensor | undefined) =>
          one === undefined || owner === undefined ? one : (owner.wrap(owner.own(one)) as Tensor);
        return { places, found: found.map(owned) };
      }),
  };
  return differentiable<typeof call, A>(what, call, derivative, ({ args, mapped, size }) => {
    const ofExamples = async (...all: A): Promise<unknown> => {
      const shape: { isList?: boolean } = {};
      const found = await forExamples(what, { args: all, mapped, size }, async (...own) => {
        const given: unknown = await f(...(own as unknown as A));
        shape.isList = Array.isArray(given);
        return Array.isArray(given) ? (given as readonly unknown[]) : [given];
      });
      return shape.isList === true ? found : found[0];
    };
    return recomputed<A, Promise<unknown>>(what, ofExamples)(...args);
  });
}
