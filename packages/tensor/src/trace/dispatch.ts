import { isPending, pending, pendingOrThere } from '../pending.js';
import { thereOf } from '../there.js';
import { Unlaunched } from '../unlaunched.js';
import { Arguments, someArgument } from './arguments.js';
import { HeldArguments, type Made } from './held-arguments.js';
import type { Primitive } from './primitive.js';
import { Traced, TracedResult, type Trace } from './traced.js';
import { isTraced, promisesTraced } from './traced-value.js';

/**
 * A call of an operation with traced values among its arguments, recorded by the trace of the highest level; undefined where none is traced. With
 * arguments that are not there yet it is pending.
 *
 * @throws MercerError ESCAPED for values of a trace that has ended
 */
export function recorded(primitive: Primitive, args: readonly unknown[]): unknown {
  if (!someArgument(args, isTraced)) return undefined;
  const given = Arguments.of(args);
  const { flat } = given;
  let there: unknown[] | undefined;
  for (let at = 0; at < flat.length; at++) {
    const one = flat[at];
    const present = presentValue(one);
    if (present === UNKNOWN) return promisesTraced(pending(recordedLater(primitive, given)));
    if (!Object.is(present, one)) (there ??= [...flat])[at] = present;
  }
  if (there === undefined) return recordedKnown(primitive, given);
  const known = given.with(there);
  return promisesTraced(pendingOrThere(() => recordedKnown(primitive, known)));
}

/** The same of arguments that are there. What may have been traced is not always. */
const recordedKnown = (primitive: Primitive, given: Arguments): unknown => {
  const trace = traceOf(given.flat);
  return trace === undefined
    ? primitive.call(...(given.all as never[]))
    : trace.apply(primitive, given);
};

/** The same once all arguments are known. Its caller may dispose them behind the call. */
async function recordedLater(primitive: Primitive, given: Arguments): Promise<unknown> {
  const held = new HeldArguments(given.flat);
  try {
    const { all } = given.with(await held.known());
    // what may have been traced is not always
    return await (recorded(primitive, all) ?? primitive.call(...(all as never[])));
  } finally {
    held.release();
  }
}

/** As {@link recorded}, of arguments that are there, none of them a list or record. @throws MercerError ESCAPED */
export const recordedSingle = (primitive: Primitive, args: readonly unknown[]): unknown =>
  recordedKnown(primitive, Arguments.ofSingle(args));

/** In the place of a value of which nothing is known yet. */
const UNKNOWN = Symbol('not known yet');

/** An argument, or what it is a promise of where that is there. */
function presentValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Traced) return value;
  if (value instanceof Unlaunched) return value.isKnown ? value : UNKNOWN;
  return thereOf(value) ?? (isPending(value) ? UNKNOWN : value);
}

/** A value once its shape and dtype are known. */
export const whenKnown = async (value: unknown): Promise<Made> => {
  if (value instanceof Unlaunched) return value.made();
  return { made: isPending(value) ? (thereOf(value) ?? (await value)) : value };
};

/** The same where nothing has to be waited for; undefined elsewhere. */
export function knownNow(value: unknown): Made | undefined {
  if (value instanceof Unlaunched) {
    if (value.tensor !== undefined) return { made: value.tensor };
    return value.isKnown && !value.started ? { made: value } : undefined;
  }
  if (!isPending(value)) return { made: value };
  const made = thereOf(value);
  return made && { made };
}

/** A value whose shape and dtype are known; its promise where something has to be waited for. */
export const knownOrLater = (value: unknown): Made | Promise<Made> =>
  knownNow(value) ?? whenKnown(value);

function traceOf(flat: readonly unknown[]): Trace | undefined {
  let highest: Trace | undefined;
  for (const one of flat) {
    if (!(one instanceof Traced || one instanceof TracedResult)) continue;
    const { trace } = one;
    if (highest === undefined || trace.level > highest.level) highest = trace;
  }
  return highest;
}
