import { isTensor, zeros, type Tensor } from '@mercer/tensor';
import {
  isKnownResult,
  whenKnown,
  Traced,
  type KnownValue,
  type Trace,
  type TracedResult,
  type ValueForm,
} from '@mercer/tensor/operation';
import { isRecord } from '../tree.js';
import type { Owning } from './owning.js';
import type { Recording } from './recording.js';
import { isThenable } from './values.js';

/** In full where it is constant along axes. */
export function spread(value: KnownValue, shape: readonly number[]): KnownValue {
  const isWhole =
    value.shape.length === shape.length && value.shape.every((n, axis) => n === shape[axis]);
  return isWhole ? value : (value.broadcastTo(shape) as KnownValue);
}

/** What was found, in shape and dtype of what is wanted, launched and no longer the owner's. */
export async function released(
  found: readonly (KnownValue | undefined)[],
  forms: readonly ValueForm[],
  owner: Owning,
): Promise<(Tensor | undefined)[]> {
  return Promise.all(
    found.map(async (one, at) => {
      if (one === undefined) return undefined;
      const { shape, dtype } = forms[at] as ValueForm;
      const narrow = one.dtype === dtype ? one : one.cast(dtype);
      const whole = spread((await whenKnown(narrow)).made as KnownValue, shape);
      const { primal } = (await whenKnown(whole)).made as Traced | TracedResult;
      if (!isKnownResult(primal)) return owner.taken(primal);
      const tensor = await primal;
      owner.release(primal);
      return tensor;
    }),
  );
}

/** Gradients that share no memory, with one another or with anything else. */
export async function alone(
  given: readonly (Tensor | undefined)[],
): Promise<(Tensor | undefined)[]> {
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
