import { inspect, type InspectOptions } from 'node:util';
import type { LabelledView } from './operations.js';
import { nestedAtHand } from './readback.js';
import { sliceLayout } from './views.js';

/** Most entries that are shown along each of the last two axes, and along those in front of them. */
const SHOWN = 6;
const SHOWN_BATCH = 2;

/** The entries of each axis that are shown: its first ones. */
export function shownRanges(shape: readonly number[]): [start: number, stop: number][] {
  return shape.map((extent, axis) => [
    0,
    Math.min(extent, axis < shape.length - 2 ? SHOWN_BATCH : SHOWN),
  ]);
}

/** Those entries, where they lie in host memory and nothing that writes them is pending; undefined elsewhere. */
export function shownAtHand(tensor: LabelledView): unknown {
  const { storage, dtype, label, shape } = tensor;
  return nestedAtHand({ ...sliceLayout(tensor, shownRanges(shape)), storage, dtype, label });
}

/** Those entries as text, with how many more there are along each axis. */
export function shownText(
  nested: unknown,
  shape: readonly number[],
  options: InspectOptions = {},
): string {
  return inspect(withRest(nested, shape, 0), { ...options, depth: Infinity, maxArrayLength: null });
}

function withRest(nested: unknown, shape: readonly number[], axis: number): unknown {
  if (!Array.isArray(nested)) return nested;
  const rows = nested.map((row) => withRest(row, shape, axis + 1));
  const rest = (shape[axis] ?? 0) - nested.length;
  return rest === 0 ? rows : [...rows, { [inspect.custom]: () => `... ${rest} more` }];
}
