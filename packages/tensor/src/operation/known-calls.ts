import type { Device } from '../device.js';
import { RecentMap } from '../recent-map.js';
import { isTensor, isUsable, layoutNumber, type Tensor } from '../tensor.js';
import type { CallTensors } from './known-call.js';

/** What tells calls apart: a number where the layouts of their tensors do. */
export type CallKey = string | number;

/** The calls of an operation that are remembered: on each device as many as it remembers kernels, those that were made last. */
export class KnownCalls<T> {
  // Devices live as long as the process, and are few.
  readonly #calls: { readonly device: Device; readonly byKey: RecentMap<CallKey, T> }[] = [];

  get(device: Device, key: CallKey): T | undefined {
    return this.#of(device)?.get(key);
  }

  set(device: Device, key: CallKey, call: T): void {
    let byKey = this.#of(device);
    if (byKey === undefined) {
      byKey = new RecentMap<CallKey, T>(() => device.kernelLimit);
      this.#calls.push({ device, byKey });
    }
    byKey.set(key, call);
  }

  #of(device: Device): RecentMap<CallKey, T> | undefined {
    for (const one of this.#calls) if (one.device === device) return one.byKey;
    return undefined;
  }
}

/** Up to so many inputs are searched one after the other: of more it is remembered where they stand. */
const FEW = 16;

/** Beginnings of lists of numbers that are remembered. Lists that are forgotten get other numbers: calls are checked once more then. */
const REMEMBERED = 2 ** 15;

/** The lists of numbers with one beginning. */
interface Branch {
  readonly number: number;
  readonly next: Map<number, Branch>;
}

let root: Branch = { number: 0, next: new Map() };
let newest = 0;
let remembered = 0;

/**
 * A number for all that checks and plans of a call read of its tensors: devices, dtypes, shapes, strides, the alignment of the first element, and
 * which inputs and outputs are one tensor.
 * Undefined where one is no tensor, or disposed, which the checks then say.
 */
export function layoutKey({ inputs, outs }: CallTensors): number | undefined {
  const firsts = inputs.length > FEW ? firstPlaces(inputs) : undefined;
  const placeOf = (one: Tensor): number =>
    firsts === undefined ? inputs.indexOf(one) : (firsts.get(one) ?? -1);
  if (remembered > REMEMBERED) {
    root = { number: 0, next: new Map() };
    remembered = 0;
  }
  let at = root;
  for (let place = 0; place < inputs.length; place++) {
    const one = inputs[place];
    if (!isTensor(one) || !isUsable(one)) return undefined;
    const first = placeOf(one);
    at = behind(at, first < place ? sameAs(first) : layoutNumber(one));
  }
  for (const one of outs) {
    if (one === undefined) {
      at = behind(at, NONE);
      continue;
    }
    if (!isTensor(one) || !isUsable(one)) return undefined;
    const input = placeOf(one);
    at = behind(at, input < 0 ? layoutNumber(one) : sameAs(input));
  }
  return at.number;
}

/** Layouts have numbers from 1 on. */
const NONE = 0;
const sameAs = (place: number): number => -1 - place;

function behind(at: Branch, number: number): Branch {
  let next = at.next.get(number);
  if (next === undefined) {
    next = { number: ++newest, next: new Map() };
    at.next.set(number, next);
    remembered++;
  }
  return next;
}

function firstPlaces(inputs: readonly Tensor[]): ReadonlyMap<Tensor, number> {
  const firsts = new Map<Tensor, number>();
  for (const [place, one] of inputs.entries()) if (!firsts.has(one)) firsts.set(one, place);
  return firsts;
}
