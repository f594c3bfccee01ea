import type { Value } from './primitive.js';

/**
 * A cotangent of a shape as that of what was broadcast to it: summed over the axes that were added or had extent 1.
 *
 * @param from the shape of `g`
 */
export function summedTo(g: Value, from: readonly number[], to: readonly number[]): Value {
  const lead = from.length - to.length;
  const axes = from.flatMap((extent, axis) =>
    axis < lead || (to[axis - lead] === 1 && extent !== 1) ? [axis] : [],
  );
  if (axes.length === 0) return g;
  if (axes.length === lead) return g.sum(axes);
  const sum = g.sum(axes, { keepDims: true });
  return lead > 0 ? sum.reshape(to) : sum;
}
