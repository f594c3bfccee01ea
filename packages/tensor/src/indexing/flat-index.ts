import { add, ge, lt, mul, select, variable } from '@mercer/formula';
import { checkAxis } from '../arithmetic/axes.js';
import { formatShape, sizeOfShape } from '../checked-size.js';
import { isRowMajor, rowMajorStrides } from '../layout.js';
import { addFormula } from '../map-kernel.js';
import { MercerError } from '../mercer-error.js';
import type { CallSteps, CallView } from '../operation/call-steps.js';
import { checkEntries, dtypeFor } from './indices.js';

/** The operations that take elements by index. */
export type Taking = 'take' | 'takeAlongAxis';

/** Elements that are taken, as rows by index: `table` has rows of `columns` elements, one of which each entry names. */
export interface TakenRows {
  readonly shape: readonly number[];
  readonly axis: number;
  /** Elements of the axis. */
  readonly extent: number;
  /** How many there are for the axes before it, along it, and, where each has an index of its own, behind it. */
  readonly entries: readonly [outer: number, along: number, places: number];
  /** The shape of the indices, once they are broadcast. */
  readonly spread: readonly number[];
  readonly rows: number;
  readonly columns: number;
}

/**
 * What `take` or `takeAlongAxis` takes of a tensor of a shape.
 *
 * @param axis undefined for all elements one behind the other
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH
 */
export function takenRows(
  what: Taking,
  x: readonly number[],
  indices: readonly number[],
  axis: number | undefined,
): TakenRows {
  if (axis !== undefined && x.length === 0) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: axis ${axis} of a tensor without axes. Call reshape([1]) first.`,
    );
  }
  const whole = axis === undefined ? [sizeOfShape(x)] : x;
  const at = axis === undefined ? 0 : checkAxis(what, axis, x.length, `shape ${formatShape(x)}`);
  const [before, behind] = [whole.slice(0, at), whole.slice(at + 1)];
  const extent = whole[at] ?? 0;
  const [outer, inner] = [sizeOfShape(before), sizeOfShape(behind)];
  if (what === 'take') {
    const count = sizeOfShape(indices);
    checkEntries(what, outer * count);
    return {
      shape: [...before, ...indices, ...behind],
      axis: at,
      extent,
      entries: [outer, count, 1],
      spread: indices,
      rows: outer * extent,
      columns: inner,
    };
  }
  const shape = x.with(at, indices[at] ?? 0);
  const fits =
    indices.length === x.length && indices.every((one, k) => one === shape[k] || one === 1);
  if (!fits) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: indices of shape ${formatShape(indices)} for shape ${formatShape(x)} along axis ${at}. They must have as many axes, and beside axis ${at} its extents or 1.`,
    );
  }
  checkEntries(what, sizeOfShape(shape));
  return {
    shape,
    axis: at,
    extent,
    entries: [outer, shape[at] ?? 0, inner],
    spread: shape,
    rows: outer * extent * inner,
    columns: 1,
  };
}

const index = variable('index');
const extent = variable('extent');
const places = variable('places');
const fromStart = select(lt(index, 0), add(index, extent), index);
const row = add(mul(variable('outer'), extent), fromStart);
const flat = add(mul(row, places), variable('place'));
/** -1, which is no row, for an index that names no element. */
const rowOf = select(ge(fromStart, 0), select(lt(fromStart, extent), flat, -1), -1);

/** Adds to a call the row of the table that each entry names, from the indices at a place of its inputs. */
export function addFlatIndex(steps: CallSteps, place: number, taken: TakenRows): CallView {
  const { entries, spread, rows } = taken;
  const given = steps.input(place);
  const lies =
    given.shape.every((one, axis) => one === spread[axis]) &&
    isRowMajor(given.shape, given.strides);
  const dense = lies ? given : steps.spreadCopy(given, spread);
  const own = sizeOfShape(spread) === sizeOfShape(entries) ? entries : entries.slice(1);
  const to = steps.scratchMemory({ shape: entries, dtype: dtypeFor(rows) });
  addFormula(steps, rowOf, {
    inputs: { index: { ...dense, shape: own, strides: rowMajorStrides(own) } },
    to,
    parameters: { extent: taken.extent, places: entries[2] },
    indices: { outer: 0, place: 2 },
    computesIn: 'float64',
  });
  return to;
}
