import { isPending, pending } from '../pending.js';
import { Unlaunched } from '../unlaunched.js';
import { flatArguments, nestedLike, someArgument } from './arguments.js';
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
  const flat = flatArguments(args);
  if (flat.some(isUnknown)) {
    const call = async (): Promise<unknown> => {
      const known = nestedLike(
        args,
        await Promise.all(flat.map(whenKnown)).then((all) => all.map(({ made }) => made)),
      );
      // what may have been traced is not always
      return recorded(primitive, known) ?? primitive.call(...(known as never[]));
    };
    return promisesTraced(pending(call()));
  }
  return traceOf(flat).apply(primitive, args);
}

/** Nothing is known of what it will be. */
const isUnknown = (value: unknown): boolean =>
  isPending(value) && !(value instanceof Unlaunched && value.isKnown);

/** A value once its shape and dtype are known, in an object, so that a promise of it launches nothing. */
export const whenKnown = async (value: unknown): Promise<{ readonly made: unknown }> => {
  if (value instanceof Unlaunched) return value.made();
  return { made: isPending(value) ? await value : value };
};

function traceOf(flat: readonly unknown[]): Trace {
  let highest: Trace | undefined;
  for (const one of flat) {
    if (!(one instanceof Traced || one instanceof TracedResult)) continue;
    const { trace } = one;
    if (highest === undefined || trace.level > highest.level) highest = trace;
  }
  if (highest === undefined) throw new Error('one of the arguments is traced');
  return highest;
}
