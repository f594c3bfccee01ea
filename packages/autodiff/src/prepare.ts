import { describeValue } from '@mercer/options';
import { isPending, isTensor, MercerError, type Tensor } from '@mercer/tensor';
import {
  assertNotPreparing,
  captured,
  formatShape,
  isDense,
  isTraced,
  notDifferentiable,
  type Replay,
} from '@mercer/tensor/operation';
import { RETURN_TENSORS } from './differentiated-call.js';
import { checkFunction } from './grad.js';
import { isRecord, isTree, leavesOf, replaced, type Leaf, type Settled } from './tree.js';

/** A function whose work was captured: see {@link prepare}. */
export interface Prepared<A extends readonly unknown[], R> extends Disposable {
  /**
   * Does the work again, with these arguments in the place of the example's.
   *
   * @returns new tensors, which the caller disposes
   * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT where an argument is not like the example's; DISPOSED
   */
  (...args: A): Settled<R>;
  /**
   * Does the work several times: what it gives takes the place of the first argument, the others stay. It is what `f` gives when it is called as often, in less time than as many
   * calls: nothing is copied but between two repetitions.
   *
   * @param count 1 or more
   * @returns what the last repetition gives
   * @throws MercerError INVALID_ARGUMENT where what `f` gives is not like its first argument, or for another count; UNSUPPORTED where `f` gives a part of its argument at another place; as a call
   */
  repeat(count: number, ...args: A): Settled<R>;
  /**
   * The same until the state rests, at most so many times. `f` leaves a state that rests as it is, so that the result is that of `repeat`: a device that repeats without
   * the host, a CPU or a GPU with CUDA 12.4, leaves out what is in vain.
   *
   * @param rests a member of what `f` gives, float64: the state rests where none of its elements is 0
   * @throws MercerError INVALID_ARGUMENT where there is no such member, or it is of another dtype; as `repeat`
   */
  repeatUntil(rests: string, count: number, ...args: A): Settled<R>;
  /** @internal Whether `repeatUntil` leaves out what is in vain; no host is in the loop then. @throws as that */
  repeatsAlone(rests: string): boolean;
  /** Ends repetitions that are enqueued already with the one under way, on a CPU: what they give is what was reached. For work that nobody waits for any more. */
  stop(): void;
  /** Returns the memory that the work is done in. Results stay. A function that is forgotten without it returns it when it is collected. */
  dispose(): void;
}

/**
 * Captures what a function does with tensors, to do it again with others: on a GPU as one CUDA graph, on the CPU as a list. A call then costs the copies of its
 * arguments and results, and one launch. Its results are those that the function gives, bit for bit.
 *
 * ```ts
 * import { prepare, valueAndGrad } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const loss = (w: Tensor<'float32'>) => w.square().sum();
 * using step = await prepare(valueAndGrad(loss), await tensor([1, 2, 3], where));
 * const { value, grad } = step(await tensor([4, 5, 6], where));
 * console.log(await value.item(), await grad.toNested()); // 77 [ 8, 10, 12 ]
 * ```
 *
 * @param f any function of tensors, such as `grad(loss)`, `jvp(f)` or a step of an optimiser. It is called twice, with copies of the example, the first time to compile its kernels. It
 *   gives a tensor, or objects and arrays of tensors, or undefined. What it branches on, and numbers that it makes, random ones too, stay those of the example. Tensors that it
 *   closes over are read and written anew by each call
 * @param example arguments of the shapes, dtypes and layouts of later calls, at least one of them with a tensor. Arguments without tensors stay as they are
 * @throws MercerError CAPTURED where `f` reads a value; UNSUPPORTED where it uses another stream or device, or a library that waits; NOT_CONTIGUOUS for an argument with
 *   gaps; INVALID_ARGUMENT, also where `f` writes its arguments; what `f` throws
 */
export async function prepare<A extends readonly unknown[], R>(
  f: (...args: A) => R,
  ...example: A
): Promise<Prepared<A, R>> {
  return (await prepared(f, example, false)).prepared;
}

/** A prepared function, and whether it is interpreted in part until its kernels are compiled: then another may be faster soon. */
export interface PreparedWarm<A extends readonly unknown[], R> {
  readonly prepared: Prepared<A, R>;
  readonly isProvisional: boolean;
}

/**
 * The same of a function that has just been called with arguments like the example's, on a CPU: it is called once, only to be captured. Kernels that are interpreted while
 * they are compiled are captured as they are.
 */
export async function prepareWarm<A extends readonly unknown[], R>(
  f: (...args: A) => R,
  ...example: A
): Promise<PreparedWarm<A, R>> {
  return prepared(f, example, true);
}

async function prepared<A extends readonly unknown[], R>(
  f: (...args: A) => R,
  example: A,
  isWarm: boolean,
): Promise<PreparedWarm<A, R>> {
  checkFunction('prepare', f);
  assertNotPreparing('prepare', 'captures work');
  const leaves = await exampleLeaves(example);
  const like = alikeOf(example, leaves);
  let result: unknown;
  const replay: Replay = await captured(
    async (given) => {
      const value = await f(...(rebuilt(like, given.values()) as readonly unknown[] as A));
      const found = await leavesOf(value, 'prepare: the value', RETURN_TENSORS, isUndefined);
      result = replaced(value, found.map(formOf));
      return found.map((one) => one.value);
    },
    leaves.map(({ value }) => value),
    isWarm,
  );
  const given = (args: A): readonly Tensor[] => {
    if (replay.disposed) {
      throw new MercerError(
        'DISPOSED',
        'a prepared function: it was disposed. Call it before dispose(), or prepare another.',
      );
    }
    const tensors: Tensor[] = [];
    checkCount(args.length, like.length);
    const add = (form: Form, one: unknown, path: string): void => {
      tensors.push(form.fitted(one, path));
    };
    for (const [at, one] of like.entries()) visitAlike(args[at], one, `argument ${at}`, add);
    return tensors;
  };
  const call = (...args: A): Settled<R> =>
    rebuilt(result, replay.call(given(args)).values()) as Settled<R>;
  let feedsBack = false;
  const feedBack = (): void => {
    if (feedsBack) return;
    replay.feedBack(feedback(result, like[0]));
    feedsBack = true;
  };
  const repeated = (rests: number | undefined, count: number, args: A): Settled<R> => {
    if (!(Number.isSafeInteger(count) && count > 0)) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `repeat: count is ${describeValue(count)}. Pass a whole number from 1 on.`,
      );
    }
    const tensors = given(args);
    feedBack();
    return rebuilt(result, replay.call(tensors, { times: count, rests }).values()) as Settled<R>;
  };
  const repeat = (count: number, ...args: A): Settled<R> => repeated(undefined, count, args);
  const repeatUntil = (rests: string, count: number, ...args: A): Settled<R> =>
    repeated(restsOf(result, rests), count, args);
  const repeatsAlone = (rests: string): boolean => {
    feedBack();
    return replay.repeatsAlone(restsOf(result, rests));
  };
  const stop = (): void => {
    replay.stop();
  };
  const dispose = (): void => {
    replay.dispose();
  };
  const more = { repeat, repeatUntil, repeatsAlone, stop, dispose, [Symbol.dispose]: dispose };
  return { prepared: Object.assign(call, more), isProvisional: replay.isProvisional };
}

const isUndefined = (value: unknown): boolean => value === undefined;

/** The tensors of the example. @throws MercerError */
async function exampleLeaves(example: readonly unknown[]): Promise<readonly Leaf[]> {
  const leaves: Leaf[] = [];
  for (const [at, one] of example.entries())
    if (holdsTensor(one)) leaves.push(...(await leavesOf(one, `prepare: argument ${at}`, PASS)));
  const [first] = leaves;
  if (first === undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      'prepare: no argument of the example has a tensor. Pass the arguments of a call, one of them with a tensor.',
    );
  }
  for (const { value, path } of leaves) {
    if (isTraced(value)) {
      throw notDifferentiable(path, 'since prepare() captures whole calls: prepare the derivative');
    }
    value.assertAlive();
    if (value.device !== first.value.device) throw otherDevice(path, value, first.value);
    if (isDense(value.shape, value.strides)) continue;
    throw new MercerError(
      'NOT_CONTIGUOUS',
      `${path} is a view with gaps, strides ${value.strides.join()}. Pass its contiguous().`,
    );
  }
  return leaves;
}

const PASS =
  'Pass a tensor, or arrays and objects of tensors, and numbers as arguments of their own';

/** Whether there is a tensor somewhere in it. */
function holdsTensor(one: unknown, seen = new Set<unknown>()): boolean {
  if (isTree(one)) return true;
  if (seen.has(one) || !(Array.isArray(one) || isRecord(one))) return false;
  seen.add(one);
  return Object.values(one).some((member) => holdsTensor(member, seen));
}

/** What the place of a tensor in a tree takes. */
class Form {
  /** With the strides of axes that are longer than 1: those of others mean nothing. */
  readonly tensor: Pick<Tensor, 'device' | 'dtype' | 'shape' | 'strides'>;
  /** Its number among the tensors of all arguments, or of the value. */
  readonly at: number;

  constructor({ device, dtype, shape, strides }: Tensor, at: number) {
    this.tensor = { device, dtype, shape, strides: strides.filter((_, axis) => shape[axis] !== 1) };
    this.at = at;
  }

  toString(): string {
    const { device, dtype, shape, strides } = this.tensor;
    return `${dtype} ${formatShape(shape)} of strides ${strides.join()} on ${device.id}`;
  }

  /** The tensor that a value is. @throws MercerError where it is not like this one */
  fitted(one: unknown, path: string): Tensor {
    const what = `a prepared function: ${path}`;
    if (isTraced(one)) {
      throw notDifferentiable(
        what,
        'a replay has no derivative: prepare the derivative of the function',
      );
    }
    if (!isTensor(one)) {
      const why = isPending(one) ? 'a tensor that is not there yet. Await it' : describeValue(one);
      throw unlike(what, 'a tensor', why);
    }
    const { device, dtype, shape, strides } = this.tensor;
    const found = one.strides.filter((_, axis) => shape[axis] !== 1);
    if (one.device !== device) throw otherDevice(what, one, this.tensor);
    if (one.dtype !== dtype) throw unlike(what, dtype, one.dtype, 'DTYPE_MISMATCH');
    if (String(one.shape) !== String(shape)) {
      throw unlike(what, formatShape(shape), formatShape(one.shape), 'SHAPE_MISMATCH');
    }
    if (String(found) !== String(strides)) {
      throw unlike(what, `strides ${strides.join()}`, `strides ${found.join()}`);
    }
    return one;
  }
}

const formOf = ({ value }: Leaf, at: number): Form => new Form(value, at);

/** The arguments with forms in the place of tensors. */
function alikeOf(example: readonly unknown[], leaves: readonly Leaf[]): readonly unknown[] {
  const forms = leaves.map(formOf).values();
  return example.map((one) => (holdsTensor(one) ? replaced(one, forms) : new Constant(one)));
}

/** An argument that is the same in every call. */
class Constant {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }

  /** @throws MercerError INVALID_ARGUMENT */
  assertSame(one: unknown, path: string): void {
    if (Object.is(one, this.value)) return;
    throw unlike(
      `a prepared function: ${path}`,
      describeValue(this.value),
      `${describeValue(one)}, and what is no tensor stays as it was captured`,
    );
  }
}

/** The tree with the next tensors in the place of its forms. */
function rebuilt(like: unknown, tensors: Iterator<Tensor>): unknown {
  if (like instanceof Form) return tensors.next().value;
  if (like instanceof Constant) return like.value;
  if (Array.isArray(like)) return like.map((one) => rebuilt(one, tensors));
  if (!isRecord(like)) return like;
  return Object.fromEntries(
    Object.entries(like).map(([name, one]) => [name, rebuilt(one, tensors)]),
  );
}

/** The number of the result that tells whether a state rests. @throws MercerError INVALID_ARGUMENT */
function restsOf(value: unknown, name: string): number {
  const one = isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  if (one instanceof Form && one.tensor.dtype === 'float64') return one.at;
  const found = one instanceof Form ? one.toString() : describeValue(one);
  throw new MercerError(
    'INVALID_ARGUMENT',
    `repeatUntil: ${describeValue(name)} is ${found} in what the function gives. Name a member that is a float64 tensor.`,
  );
}

/** Which result takes the place of which input, where a value is like the first argument. @throws MercerError INVALID_ARGUMENT */
function feedback(value: unknown, first: unknown): readonly (readonly [number, number])[] {
  const pairs: [number, number][] = [];
  const pair = (to: Form, from: unknown, path: string): void => {
    if (!(from instanceof Form) || from.toString() !== to.toString()) {
      const given = from instanceof Form ? from.toString() : 'none';
      throw new MercerError(
        'INVALID_ARGUMENT',
        `repeat: ${path} is ${to.toString()} in the first argument, and ${given} in what the function gives. Repeat a function that gives what its first argument is.`,
      );
    }
    pairs.push([from.at, to.at]);
  };
  if (first instanceof Constant) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `repeat: the first argument is ${describeValue(first.value)}, and has no tensor whose place a result could take. Prepare a function whose first argument is what it gives.`,
    );
  }
  visitAlike(value, first, 'the value', pair);
  return pairs;
}

/** Visits the places of tensors in a tree that is like another. @throws MercerError where it is not */
function visitAlike(
  one: unknown,
  like: unknown,
  path: string,
  visit: (form: Form, one: unknown, path: string) => void,
): void {
  if (like instanceof Constant) {
    like.assertSame(one, path);
  } else if (like instanceof Form) {
    visit(like, one, path);
  } else if (Array.isArray(like)) {
    const given = Array.isArray(one) ? (one as readonly unknown[]) : undefined;
    if (given?.length !== like.length) throw otherTree(path, one, `a list of ${like.length}`);
    for (const [at, each] of like.entries()) visitAlike(given[at], each, `${path}[${at}]`, visit);
  } else if (isRecord(like)) {
    const names = Object.keys(like);
    const isAlike =
      isRecord(one) &&
      Object.keys(one).length === names.length &&
      names.every((name) => Object.hasOwn(one, name));
    if (!isAlike) throw otherTree(path, one, `an object of ${names.join(', ')}`);
    for (const name of names) visitAlike(one[name], like[name], `${path}.${name}`, visit);
  }
}

const unlike = (
  what: string,
  then: string,
  now: string,
  code: 'INVALID_ARGUMENT' | 'DTYPE_MISMATCH' | 'SHAPE_MISMATCH' = 'INVALID_ARGUMENT',
): MercerError =>
  new MercerError(
    code,
    `${what} was ${then} when it was prepared, and is ${now}. Pass what is like the example, or prepare another.`,
  );

const otherTree = (path: string, one: unknown, then: string): MercerError => {
  const names = isRecord(one) ? `an object of ${Object.keys(one).join(', ')}` : undefined;
  const now = Array.isArray(one) ? `a list of ${one.length}` : (names ?? describeValue(one));
  return unlike(`a prepared function: ${path}`, then, now);
};

const otherDevice = (
  what: string,
  { device }: Pick<Tensor, 'device'>,
  like: Pick<Tensor, 'device'>,
): MercerError =>
  new MercerError(
    'DEVICE_MISMATCH',
    `${what} lies on ${device.id}, and the work on ${like.device.id}. Move it with to('${like.device.id}').`,
  );

/** @throws MercerError INVALID_ARGUMENT */
function checkCount(count: number, wanted: number): void {
  if (count === wanted) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `a prepared function: ${count} arguments were given, and it was prepared with ${wanted}. Pass as many.`,
  );
}
