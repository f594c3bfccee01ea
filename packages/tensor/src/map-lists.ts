import type { DType } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import type { MapTensors } from './map-inputs.js';
import { MercerError } from './mercer-error.js';
import type { Pending } from './pending.js';
import { isTensor, type Tensor } from './tensor.js';

/** Tensors, or lists of them of one length, by the names that the formula knows them by. */
export type MapListTensors<I extends DType = DType> = Readonly<
  Record<string, Tensor<I> | readonly Tensor<I>[]>
>;

/** The same, in which results may stand before they are awaited. */
export type MapListInputs<I extends DType = DType> = Readonly<
  Record<string, Given<I> | readonly Given<I>[]>
>;

type Given<I extends DType> = Tensor<I> | Pending<Tensor<I>>;

/** Whether a map is of lists: one of each place of them, and of what is no list in all. */
export function hasLists(inputs: unknown): inputs is MapListTensors {
  if (typeof inputs !== 'object' || inputs === null || isTensor(inputs)) return false;
  for (const name of Object.keys(inputs)) {
    if (Array.isArray((inputs as MapListTensors)[name])) return true;
  }
  return false;
}

/** How long the lists are. @throws MercerError INVALID_ARGUMENT where they, or those that take results, are not of one length */
export function listLength(inputs: MapListTensors, out: unknown): number {
  const lists = Object.entries(inputs).filter(([, one]) => Array.isArray(one));
  const [[first, list] = ['', []]] = lists as [string, readonly Tensor[]][];
  const count = list.length;
  const check = (what: string, given: unknown): void => {
    if (Array.isArray(given) && given.length === count) return;
    const found = Array.isArray(given) ? `a list of ${given.length}` : describeValue(given);
    throw new MercerError(
      'INVALID_ARGUMENT',
      `map: ${what} is ${found} and input '${first}' is a list of ${count}. Pass a list with a tensor for each of these.`,
    );
  };
  for (const [name, one] of lists) check(`input '${name}'`, one);
  if (isByName(out)) {
    for (const [name, one] of Object.entries(out)) {
      if (one !== undefined) check(`out.${name}`, one);
    }
  } else if (out !== undefined) check('out', out);
  return count;
}

const isByName = (out: unknown): out is Readonly<Record<string, unknown>> =>
  typeof out === 'object' && out !== null && !Array.isArray(out) && !isTensor(out);

/** What stands at one place: what is no list does at every one. */
export const elementAt = (one: unknown, at: number): unknown =>
  Array.isArray(one) ? one[at] : one;

/** The inputs of one place of the lists. */
export const inputsAt = (inputs: MapListTensors, at: number): MapTensors =>
  recordAt(inputs, at) as MapTensors;

/** What takes the results of one place. */
export const outAt = (out: unknown, at: number): unknown =>
  isByName(out) ? recordAt(out, at) : elementAt(out, at);

const recordAt = (record: object, at: number): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).map(([name, one]) => [name, elementAt(one, at)]));
