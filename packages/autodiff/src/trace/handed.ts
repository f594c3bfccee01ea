import { isTensor, zeros, type Tensor } from '@mercer/tensor';
import {
  failed,
  isKnownResult,
  knownOrLater,
  Traced,
  type KnownValue,
  type Made,
  type Trace,
  type TracedResult,
  type ValueForm,
} from '@mercer/tensor/operation';
import { isRecord } from '../tree.js';
import type { Owning } from './owning.js';
import type { Recording } from './recording.js';
import { allOf, isThenable } from './values.js';

/** In full where it is constant along axes. */
export function spread(value: KnownValue, shape: readonly number[]): KnownValue {
  const isWhole =
    value.shape.length === shape.length && value.shape.every((n, axis) => n === shape[axis]);
  return isWhole ? value : (value.broadcastTo(shape) as KnownValue);
}

/** Tensors in some places. */
type GivenTensors = readonly (Tensor | undefined)[];

/** What was found, in shape and dtype of what is wanted, launched and no longer the owner's. */
export function released(
  found: readonly (KnownValue | undefined)[],
  forms: readonly ValueForm[],
  owner: Owning,
): GivenTensors | Promise<GivenTensors> {
  const given = found.map((one, at) => {
    if (one === undefined) return undefined;
    try {
      return releasedOne(one, forms[at] as ValueForm, owner);
    } catch (error) {
      // behind others, which are waited for
      return failed(error);
    }
  });
  return allOf<Tensor | undefined>(given);
}

/** The tensor itself where nothing has to be waited for. */
function releasedOne(
  one: KnownValue,
  { shape, dtype }: ValueForm,
  owner: Owning,
): Tensor | Promise<Tensor> {
  const launched = ({ made }: Made): Tensor | Promise<Tensor> => {
    const { primal } = made as Traced | TracedResult;
    if (!isKnownResult(primal)) return owner.taken(primal);
    const launch = primal.launch();
    const take = (tensor: Tensor): Tensor => {
      owner.release(primal);
      return tensor;
    };
    return primal.tensor === undefined ? launch.then(take) : take(primal.tensor);
  };
  const inFull = ({ made }: Made): Tensor | Promise<Tensor> => {
    const whole = knownOrLater(spread(made as KnownValue, shape));
    return whole instanceof Promise ? whole.then(launched) : launched(whole);
  };
  const narrow = knownOrLater(one.dtype === dtype ? one : one.cast(dtype));
  return narrow instanceof Promise ? narrow.then(inFull) : inFull(narrow);
}

/** Gradients that share no memory, with one another or with anything else. */
export function alone(given: GivenTensors): GivenTensors | Promise<GivenTensors> {
  if (given.every(isAlone)) return [...given];
  const taken = new Set<Tensor>();
  return Promise.all(
    given.map(async (one) => {
      if (!isTensor(one)) return one;
      if (one.isContiguous && !one.storage.isShared && !taken.has(one)) {
        taken.add(one);
        return one;
      }
      const copy = await one.clone();
      if (!taken.has(one)) one.dispose();
      return copy;
    }),
  );
}

const isAlone = (one: Tensor | undefined, at: number, all: GivenTensors): boolean =>
  one === undefined ||
  (isTensor(one) && one.isContiguous && !one.storage.isShared && all.indexOf(one) === at);

/** Another handle for what a value stands for. */
export const handleOf = (one: Tensor | Traced): Tensor =>
  one instanceof Traced ? (one.twin() as unknown as Tensor) : one.view();

/** What a value stands for, or another handle: the caller's when the trace ends. */
export function handedOut(value: Tensor | Traced, trace: Recording): Tensor {
  const isOwn = value instanceof Traced && value.trace === trace;
  return isOwn ? trace.taken(value.primal) : handleOf(value);
}

/**
 * Anything, with what the values of a trace in it stand for, awaited. Other objects than arrays and plain ones stay as they are.
 *
 * @param made gets the handles that the caller owns
 */
export async function untraced(value: unknown, trace: Trace, made: Tensor[]): Promise<unknown> {
  const one = isThenable(value) ? await value : value;
  if (one instanceof Traced) {
    if (one.trace !== trace) return one;
    one.assertAlive();
    const handle = handleOf(one.primal);
    made.push(handle);
    return handle;
  }
  if (Array.isArray(one)) return Promise.all(one.map(async (each) => untraced(each, trace, made)));
  if (!isRecord(one)) return one;
  const entries = Object.entries(one).map(
    async ([name, each]) => [name, await untraced(each, trace, made)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

/** A derivative, or zeros like the variable where there is none. */
export async function orZeros(one: Tensor | undefined, like: Tensor): Promise<Tensor> {
  if (one !== undefined) return one;
  const { shape, dtype, device } = like;
  return zeros(shape, { dtype, device });
}
