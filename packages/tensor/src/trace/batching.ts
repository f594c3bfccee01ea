import { checkAxes, checkAxis, type Axes } from '../arithmetic/axes.js';
import { expanded } from '../arithmetic/expanded.js';
import { formatShape } from '../checked-size.js';
import { flatArguments, nestedLike } from './arguments.js';
import type { BatchRule, KnownValue, Value } from './primitive.js';

/** The shape of one example. */
export const exampleShape = ({ shape }: KnownValue, isMapped: unknown): readonly number[] =>
  isMapped === true ? shape.slice(1) : shape;

/** A value whose examples have so many axes: others of extent 1 are put in front of theirs. What is not mapped broadcasts as it is. */
export function aligned(x: KnownValue, isMapped: unknown, rank: number): Value {
  const [size = 0, ...rest] = x.shape;
  if (isMapped !== true || rest.length >= rank) return x;
  return expanded(x, [size, ...new Array<number>(rank - rest.length).fill(1), ...rest]);
}

/** A value with the mapped axis, along which it is constant where it is not mapped. */
export const spreadOver = (x: KnownValue, isMapped: unknown, size: number): Value =>
  isMapped === true ? x : x.broadcastTo([size, ...x.shape]);

const isValue = (one: unknown): one is KnownValue =>
  typeof one === 'object' && one !== null && 'shape' in one && 'dtype' in one;

/**
 * An operation whose tensors have batch axes in front of their own, and broadcast there.
 *
 * @param own how many axes each of the tensors has of its own, in the order of the flat arguments; the last is that of those behind it
 */
export function inFront(...own: readonly number[]): BatchRule {
  return ({ args, mapped, call }) => {
    const flat = flatArguments(args);
    const isMapped = flatArguments(mapped);
    const places = flat.flatMap((one, at) => (isValue(one) ? [at] : []));
    const owns = places.map((_, at) => own[at] ?? own.at(-1) ?? 0);
    const batches = places.map(
      (place, at) =>
        exampleShape(flat[place] as KnownValue, isMapped[place]).length - (owns[at] ?? 0),
    );
    // of an example with too few axes the operation says so itself
    if (batches.some((one) => one < 0)) return undefined;
    const rank = Math.max(...batches);
    const given = [...flat];
    for (const [at, place] of places.entries())
      given[place] = aligned(flat[place] as KnownValue, isMapped[place], rank + (owns[at] ?? 0));
    return call(...(nestedLike(args, given) as never[]));
  };
}

/** An operation on elements, whose operands broadcast. */
export const byElements: BatchRule = inFront(0);

/** Axes of an example as those of all examples. */
export const shifted = (what: string, axes: Axes | undefined, shape: readonly number[]) =>
  checkAxes(what, axes, shape).map((axis) => axis + 1);

/**
 * An operation along an axis of its one tensor, which is the argument behind it.
 *
 * @param axis where none is given
 */
export const alongAxis =
  (what: string, axis: number): BatchRule<readonly [x: KnownValue, axis?: number]> =>
  ({ args: [x, given = axis, ...rest], call }) => {
    const shape = x.shape.slice(1);
    if (shape.length === 0) return undefined;
    const at = checkAxis(what, given, shape.length, `shape ${formatShape(shape)}`);
    return (call as (...given: readonly unknown[]) => unknown)(x, at + 1, ...rest);
  };

/** An operation, whatever its arguments are. */
export type AnyCall = (...given: readonly unknown[]) => Value;
