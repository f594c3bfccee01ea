import { types } from 'node:util';
import type { DType } from '@mercer/kernels';
import { own } from '@mercer/options';
import { attachTo } from './attach-to.js';
import type { Stream, WorkOptions } from './device.js';
import {
  atPlace,
  Hold,
  memoryAmong,
  placeInOrder,
  Turn,
  type OrderedMemory,
} from './call-order.js';
import type { TensorMethods } from './tensor-methods.js';
import { noteThere, thereOf } from './there.js';
import { handleOf, isTraced, promisesTraced } from './trace/traced-value.js';
import { countOfParts } from './views.js';

/** Methods of a tensor that return another view of it at once. */
type ViewName = 'slice' | 'transpose' | 'permute' | 'reshape' | 'flip' | 'broadcastTo' | 'view';

/** Methods of a tensor that return a promise. */
type PromisingName =
  | 'contiguous'
  | 'clone'
  | 'cast'
  | 'to'
  | 'copyFrom'
  | 'fill'
  | 'ready'
  | 'toTypedArray'
  | 'toNested'
  | 'item'
  | 'print'
  | keyof TensorMethods<DType>;

type ArgumentsOf<F> = F extends (...given: infer A extends readonly unknown[]) => unknown
  ? A
  : never;

/**
 * What operations return: a promise of a tensor that also has the tensor's methods, so that a result can be used before it is
 * awaited. Each method waits for the tensor and gives what the tensor's own method gives.
 *
 * An operation that fails rejects what is made of its result with the same error, so only the end of a chain has to be awaited. A
 * result stays usable any number of times. Its memory is returned by `dispose`, by the scope that tracks it, or when nobody holds it
 * any more.
 *
 * @example
 * ```ts
 * import { tensor } from '@mercer/tensor';
 *
 * const a = tensor([[1, 2], [3, 4]], { device: 'cpu' });
 * console.log(await a.transpose().toNested()); // [ [ 1, 3 ], [ 2, 4 ] ]
 * ```
 */
export type Pending<T> = Promise<T> &
  Pick<T, PromisingName & keyof T> & {
    readonly [K in ViewName & keyof T]: (...given: ArgumentsOf<T[K]>) => Pending<T>;
  } & {
    /** The parts are there at once, each pending. */
    readonly [K in 'split' & keyof T]: (...given: ArgumentsOf<T[K]>) => Pending<T>[];
  } & {
    /** Disposes the tensor as soon as it is there; does nothing where the operation fails. */
    dispose(): void;
    [Symbol.dispose](): void;
  };

/** What a method gives in the end: a tensor, which is pending again, or something else. */
type Gives = 'tensor' | 'value';

const METHODS: Readonly<
  Record<ViewName | Exclude<PromisingName, keyof TensorMethods<DType>>, Gives>
> = {
  slice: 'tensor',
  transpose: 'tensor',
  permute: 'tensor',
  reshape: 'tensor',
  flip: 'tensor',
  broadcastTo: 'tensor',
  view: 'tensor',
  contiguous: 'tensor',
  clone: 'tensor',
  cast: 'tensor',
  to: 'tensor',
  copyFrom: 'tensor',
  fill: 'tensor',
  ready: 'tensor',
  toTypedArray: 'value',
  toNested: 'value',
  item: 'value',
  print: 'value',
};

/**
 * Of promises that {@link pending} returns. Their `constructor` stays Promise, so that `await` and `Promise.resolve` take them as they
 * are, with no turn more than for a plain promise.
 */
export const pendingPrototype = Object.create(Promise.prototype, {
  dispose: { value: disposeWhenThere },
  [Symbol.dispose]: { value: disposeWhenThere },
  split: { value: splitWhenThere, configurable: true, writable: true },
}) as object;

/** Parts of a tensor that is not there yet. @throws MercerError INVALID_ARGUMENT where their number is not known */
function splitWhenThere(
  this: Promise<object>,
  sections: number | readonly number[],
  axis?: number,
): readonly Pending<object>[] {
  const count = countOfParts(sections);
  const sizes = typeof sections === 'number' ? sections : [...sections];
  const parts = this.then((tensor) => (tensor as Splits).split(sizes, axis));
  return Array.from({ length: count }, (_, at) => {
    const part = parts.then((all) => all[at] as object);
    // the parts fail together: whoever uses one of them hears of it
    part.catch(() => undefined);
    return isTraced(this) ? promisesTraced(pending(part)) : pending(part);
  });
}

interface Splits {
  split(sections: number | readonly number[], axis?: number): readonly object[];
}

function disposeWhenThere(this: Promise<Disposable>): void {
  this.then(
    (tensor) => {
      tensor[Symbol.dispose]();
    },
    () => undefined,
  );
}

for (const [name, gives] of Object.entries(METHODS)) addPendingMethod(name, gives);

/** Adds a method that waits for the tensor, and for arguments that are pending, and calls the tensor's own, which makes all its calls at once. */
function addPendingMethod(name: string, gives: Gives): void {
  const value = function (this: Promise<object>, ...given: readonly unknown[]): Promise<unknown> {
    const hasPlaces = [this, ...given].every(hasPlace);
    // lists, such as axes, as they are now
    given = given.map((one) => (Array.isArray(one) ? [...(one as unknown[])] : one));
    const there = gives === 'tensor' ? arrivedNow([this, ...given]) : undefined;
    if (there !== undefined) {
      const result = calledNow(name, there);
      return isTraced(this) || given.some(isTraced) ? promisesTraced(result) : result;
    }
    const result = afterArrival(
      [this, ...given],
      ([tensor, ...all]): unknown => {
        const own: unknown = Reflect.get(tensor as object, name);
        return Reflect.apply(own as () => unknown, tensor, all) as unknown;
      },
      true,
    );
    if (gives !== 'tensor') return result;
    if (isTraced(this) || given.some(isTraced)) return promisesTraced(pending(result));
    return hasPlaces ? pendingInPlace(result) : pending(result);
  };
  attachTo(pendingPrototype, { [name]: value });
}

/** A tensor's own method on what is there; what it throws rejects, as it does where somebody waits. */
function calledNow(name: string, [tensor, ...given]: readonly unknown[]): Promise<object> {
  return pendingOrThere(() => {
    const own: unknown = Reflect.get(tensor as object, name);
    return Reflect.apply(own as () => unknown, tensor, given);
  });
}

/** What a tensor is to be overwritten with; the tensor itself where that was computed into it, in the turn of the call. */
export async function contentFor(
  out: object,
  source: Pending<object>,
  options: WorkOptions,
  turn: Turn,
): Promise<object> {
  if (ActsAsPending.is(source) && (await source.computeInto(out, options, turn))) return out;
  return source;
}

/** The stream of a call's options, on which what is computed for it belongs too. */
function streamAmong(given: readonly unknown[]): Stream | undefined {
  const options = given.at(-1);
  if (typeof options !== 'object' || options === null || isPending(options)) return undefined;
  const { stream } = own(options as { readonly stream?: Stream }, 'stream');
  return stream;
}

/** Arguments with those that are pending waited for. Nothing is asked of the others, which may be anything. */
export async function arrived(
  given: readonly unknown[],
  note?: (memory: OrderedMemory) => void,
): Promise<readonly unknown[]> {
  const all = given.map(handleOf);
  const stream = streamAmong(given);
  await Promise.all(
    given.map(async (one, at) => {
      // before it is disposed, which happens when it is there
      const come = (tensor: unknown): void => {
        all[at] = handleOf(tensor);
        for (const memory of memoryAmong([tensor])) note?.(memory);
      };
      if (ActsAsPending.is(one)) {
        one.whenThere(come);
        await one.launch({ stream });
      } else if (isPending(one)) {
        come(await one);
      }
    }),
  );
  return all;
}

/** Hears of the failures of pending arguments: a call that is refused for another reason tells that one. What is there has not failed. */
export function heard(given: readonly unknown[]): void {
  for (const one of given) {
    if (isPending(one) && !ActsAsPending.is(one) && thereOf(one) === undefined)
      one.catch(() => undefined);
  }
}

/** The arguments with the tensors of those that are pending, where all of these are there, or are launched at once; else undefined. */
export function arrivedNow(given: readonly unknown[]): readonly unknown[] | undefined {
  const stream = streamAmong(given);
  const all: unknown[] = [];
  for (const one of given) {
    const tensor = isPending(one) ? launchedNow(one, stream) : one;
    if (tensor === undefined && one !== undefined) return undefined;
    all.push(tensor);
  }
  return all;
}

/** The tensor of a pending one, where it is there, or is launched at once. */
function launchedNow(one: object, stream: Stream | undefined): object | undefined {
  if (!ActsAsPending.is(one)) return thereOf(one);
  // an error goes to those who wait for it
  if (one.tensor === undefined) one.launch({ stream }).catch(() => undefined);
  return one.tensor;
}

/** A call with arguments that may be pending: made now where all are there, else once they are, at the place that it has now. Later calls that write what it reads wait for it. */
export const whenArrived = <T>(
  given: readonly unknown[],
  call: (all: readonly unknown[]) => Promise<T>,
): Promise<T> => arrivedFirst(given, call, true);

/** The same for what makes calls one after another, each in a place of its own. */
export const callsWhenArrived = <T>(
  given: readonly unknown[],
  calls: (all: readonly unknown[]) => Promise<T>,
): Promise<T> => arrivedFirst(given, calls, false);

function arrivedFirst<T>(
  given: readonly unknown[],
  call: (all: readonly unknown[]) => Promise<T>,
  isOneCall: boolean,
): Promise<T> {
  if (!given.some(isPending)) return call(given.map(handleOf));
  const there = arrivedNow(given);
  if (there !== undefined) return promiseOf(() => call(there.map(handleOf)));
  return afterArrival(given, call, isOneCall);
}

/**
 * A call once its pending arguments are there, at the place that it has now. What it reads and writes is its own until then: its caller may dispose what
 * it reads, pending or not, and later calls that write it wait for this one.
 *
 * @param isOneCall whether it makes all its calls in this place. Later calls wait for no other one: those that it makes itself would wait for them
 */
export function afterArrival<T>(
  given: readonly unknown[],
  call: (all: readonly unknown[]) => T | Promise<T>,
  isOneCall: boolean,
): Promise<T> {
  const place = placeInOrder();
  const reads = memoryAmong(given);
  // a turn waits for calls with an earlier place alone, and nobody knows those of functions that make calls one after another
  const turn =
    isOneCall && given.every(hasPlace)
      ? new Turn(reads, memoryAmong(outputsAmong(given)), place)
      : undefined;
  const held = new Hold(turn === undefined ? reads : []);
  const run = <R>(work: () => R): R =>
    turn === undefined ? held.run(() => atPlace(place, work)) : turn.run(work);
  const note = (memory: OrderedMemory): void => {
    if (turn === undefined) held.add(memory);
    else turn.reads(memory);
  };
  return arrived(given, note)
    .then((all) => run(() => call(all)))
    .finally(() => {
      turn?.end();
      held.release();
    });
}

/** The tensors that the options of a call say it writes. */
function outputsAmong(given: readonly unknown[]): readonly unknown[] {
  const options = given.at(-1);
  if (typeof options !== 'object' || options === null || isPending(options)) return [];
  const { out } = own(options as { readonly out?: unknown }, 'out');
  const isNested = typeof out === 'object' && out !== null && memoryAmong([out]).length === 0;
  return isNested ? Object.values(out) : [out];
}

/** What is no promise of its own but behaves as a pending tensor extends this. */
export abstract class ActsAsPending {
  readonly #isPending = true;

  /** Asks nothing of the value, which may be anything. */
  static is(value: unknown): value is ActsAsPending {
    return typeof value === 'object' && value !== null && #isPending in value && value.#isPending;
  }

  /** The tensor, once it is there. */
  abstract readonly tensor: object | undefined;

  /** Calls back with the tensor as soon as it is there. */
  abstract whenThere(take: (tensor: object) => void): void;

  /** The tensor, its work enqueued on the stream. */
  abstract launch(options: { readonly stream?: Stream | undefined }): Promise<object>;

  /** Computes it into a tensor in a turn, where that is what it gives; false, with nothing done, where it is not. */
  abstract computeInto(out: object, options: WorkOptions, turn: Turn): Promise<boolean>;

  /** See `hasPlace`. */
  abstract readonly hasPlace: boolean;
}

/** The promise itself, with the methods of its tensor. */
export function pending<T>(promise: Promise<T>): Pending<T> {
  if (isPending(promise)) return promise as Pending<T>;
  return Object.setPrototypeOf(promise, pendingPrototype) as Pending<T>;
}

/** Of calls that have their place among others: see `hasPlace`. */
const inPlacePrototype = Object.create(pendingPrototype) as object;

/** The same of one call, or of calls that all have their place: see `hasPlace`. */
export function pendingInPlace<T>(promise: Promise<T>): Pending<T> {
  return Object.setPrototypeOf(promise, inPlacePrototype) as Pending<T>;
}

/** What a call promises that makes all of its own calls in its place: see `hasPlace`. It has one where what it was given has. */
export function pendingAfter<T>(given: readonly unknown[], promise: Promise<T>): Pending<T> {
  return given.every(hasPlace) ? pendingInPlace(promise) : pending(promise);
}

/** A pending tensor that is there, or a traced value: operations on it wait for nothing. */
export function pendingThere<T extends object>(value: T): Pending<T> {
  const promise = pendingInPlace(Promise.resolve(value));
  noteThere(promise, value);
  return isTraced(value) ? promisesTraced(promise) : promise;
}

/** What a call gives at once, or promises, as a pending tensor; what it throws rejects. */
export function pendingOrThere(make: () => unknown): Pending<object> {
  try {
    const made = make();
    if (isPending(made)) return made;
    if (made instanceof Promise) return pending(made as Promise<object>);
    return isSingle(made) ? pendingThere(made) : pending(Promise.resolve(made as object));
  } catch (error) {
    return pending(failed(error));
  }
}

/** Whether it is a tensor or stands for one, and no list or record of them. */
const isSingle = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && 'dtype' in value && 'shape' in value;

/**
 * Whether the calls that make a value have all been made, so that whoever waits for it waits for no call that is made later. Not so of
 * functions that make calls one after another.
 */
export function hasPlace(value: unknown): boolean {
  if (ActsAsPending.is(value)) return value.hasPlace;
  return !isPending(value) || Object.getPrototypeOf(value) === inPlacePrototype;
}

/** The promise of what a function does at once: of what it gives or promises, or of the error that it throws. */
export function promiseOf<T>(make: () => T | Promise<T>): Promise<T> {
  try {
    const made = make();
    return made instanceof Promise ? made : Promise.resolve(made);
  } catch (error) {
    return failed(error);
  }
}

/** The result of one call that a function makes at once: see `hasPlace`. One that is pending stays as it is. */
export function pendingCall<T extends object>(make: () => T | Promise<T>): Pending<T> {
  try {
    const made = make();
    if (made instanceof Promise && isPending(made)) return made as Pending<T>;
    // what is not launched is there when it is
    const isThere = !(made instanceof Promise || ActsAsPending.is(made));
    return isThere ? pendingThere(made) : pendingInPlace(Promise.resolve(made));
  } catch (error) {
    return pendingInPlace(failed(error));
  }
}

/** The same as a pending tensor. */
export function pendingOf<T>(make: () => T | Promise<T>): Pending<T> {
  return pending(promiseOf(make));
}

// eslint-disable-next-line @typescript-eslint/require-await -- a rejection with whatever was thrown
export async function failed(error: unknown): Promise<never> {
  throw error;
}

/** A function that gives the promises of another one as pending ones. */
export function givesPending<A extends readonly unknown[], T>(
  make: (...given: A) => Promise<T>,
): (...given: A) => Pending<T> {
  return (...given) => pending(make(...given));
}

/** True for what {@link pending} returned. */
export function isPending(value: unknown): value is Pending<object> {
  if (ActsAsPending.is(value)) return true;
  // A Proxy of a promise is none, so nothing is asked of it.
  if (!types.isPromise(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === inPlacePrototype || prototype === pendingPrototype;
}
