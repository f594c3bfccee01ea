import type { Device, Scope, Stream, Tensor } from '@mercer/tensor';
import { assertNotPreparing, isOnlyCaptured } from '@mercer/tensor/operation';
import { OptimError } from '../optim-error.js';
import { NamedState } from '../optimiser-of.js';
import type { OptimiserState } from '../optimiser.js';
import { wholeOf, withParts } from '../state-parts.js';
import type { Frequency } from './options.js';

/** When what is expensive is computed anew, and when it takes effect. */
export interface Schedule {
  /** Whether it begins in a step, counted from 1. */
  begins(step: number): boolean;
  /** Steps after which it takes effect. */
  readonly delay: number;
}

/** Refreshes from `start` on, every `frequency` steps; none where they are calls. */
export const everySteps = (start: number, frequency: Frequency, delay: number): Schedule => ({
  begins: (step) => frequency !== 'manual' && step >= start && (step - start) % frequency === 0,
  delay,
});

/** What a refresh has computed. Its scope owns the tensors. */
export interface Refreshed<R> {
  readonly found: R;
  readonly scope: Scope;
}

/** What is under way for a state, or for the part of one that a rule of a group has. */
interface UnderWay {
  /** By the step in which it began. */
  readonly begun: Map<number, Promise<Refreshed<unknown>>>;
  /** The most failures in a row that a matrix had when the last refresh took effect. */
  most: Promise<number> | undefined;
  /** What {@link hasBecome} has found to be so. */
  has: boolean;
}

const known = new WeakMap<OptimiserState, UnderWay>();

function underWay(state: OptimiserState): UnderWay {
  let found = known.get(state);
  if (found === undefined) {
    found = { begun: new Map(), most: undefined, has: false };
    known.set(state, found);
    const whole = wholeOf(state);
    if (whole instanceof NamedState) whole.whenDisposed(() => void drop(state));
  }
  return found;
}

/** Gives back what has not taken effect, once it is computed. */
async function drop(state: OptimiserState): Promise<void> {
  const begun = [...(known.get(state)?.begun.values() ?? [])];
  known.delete(state);
  await Promise.all(begun.map(giveBack));
}

const giveBack = (refresh: Promise<Refreshed<unknown>>): Promise<void> =>
  refresh.then(
    ({ scope }) => scope.dispose(),
    () => undefined,
  );

/** Waits for all that is under way for a state and its parts, and gives it back: what is in the state is about to be replaced. */
export async function forget(state: OptimiserState): Promise<void> {
  await Promise.all(withParts(state).map(drop));
}

/** States of which work was captured that relies on what {@link hasBecome} has found. */
const goingOn = new WeakSet<OptimiserState>();

/** Whether work was captured that goes on from bases which a state or a part of it has: it would go on from others without a word. */
export const isGoneOnFrom = (state: OptimiserState): boolean =>
  withParts(state).some((one) => goingOn.has(one));

/** Whether something that stays so has become so in a state: looked at until it is. */
export async function hasBecome(
  state: OptimiserState,
  look: () => Promise<boolean>,
): Promise<boolean> {
  const now = underWay(state);
  if (now.has) {
    if (isOnlyCaptured()) goingOn.add(state);
    return true;
  }
  assertNotPreparing('the first refresh of a state', 'reads whether there are bases to go on from');
  now.has = await look();
  return now.has;
}

const streams = new WeakMap<Device, Stream>();

/** A device's stream for what is computed beside the steps; with no delay there is nothing beside, and it is the default stream. */
export function streamBeside(device: Device, delay: number): Stream {
  if (delay === 0) return device.defaultStream;
  let stream = streams.get(device);
  if (stream === undefined) streams.set(device, (stream = device.createStream()));
  return stream;
}

/** Begins a refresh in a step. It reads only tensors that nothing writes until it takes effect. */
export function begin<R>(
  state: OptimiserState,
  step: number,
  compute: () => Promise<Refreshed<R>>,
): void {
  const promise = compute();
  // whoever waits for it is told
  promise.catch(() => undefined);
  const { begun } = underWay(state);
  // of a step that threw and is taken again
  const before = begun.get(step);
  if (before !== undefined) void giveBack(before);
  begun.set(step, promise);
}

/**
 * What a refresh that began in a step has computed. One that is not under way, because the state was loaded since, is computed here: what it reads is part of the
 * state.
 */
export async function landed<R>(
  state: OptimiserState,
  step: number,
  compute: () => Promise<Refreshed<R>>,
): Promise<Refreshed<R>> {
  const { begun } = underWay(state);
  const promise = begun.get(step) as Promise<Refreshed<R>> | undefined;
  begun.delete(step);
  return await (promise ?? compute());
}

/** Failures in a row after which a step throws. */
export const MOST_FAILURES = 3;

/**
 * Notes how many failures in a row a matrix has had, of the one with most, for the next refresh to look at when it begins: nothing waits for the device.
 *
 * @param failures 0-d, and given away
 */
export function note(state: OptimiserState, failures: Tensor): void {
  const most = readOnce(failures);
  most.catch(() => undefined);
  underWay(state).most = most;
}

async function readOnce(number: Tensor): Promise<number> {
  using _number = number;
  return Number(await number.item());
}

/** @throws OptimError NO_PRECONDITIONER where a matrix of the last refreshes has failed too often in a row */
export async function checkFailures(state: OptimiserState, what: string): Promise<void> {
  const now = underWay(state);
  const { most } = now;
  now.most = undefined;
  if (most === undefined) return;
  const failures = await most;
  if (failures <= MOST_FAILURES) return;
  const which = [...state.tensors.keys()].filter((name) => /\/failures/.test(name));
  throw new OptimError(
    'NO_PRECONDITIONER',
    `${what}: a matrix had no root or basis ${failures} times in a row, and steps went on with an old one. Look for NaN or infinity in the factors; larger eps or damping, or roots in float64 where the optimiser has rootDType, help where they are too badly conditioned. Counts are in the state: ${which.slice(0, 3).join(', ')}${which.length > 3 ? ' and others' : ''}.`,
  );
}
