import { describeValue } from '@mercer/options';
import { formatShape } from '../checked-size.js';
import { MercerError } from '../mercer-error.js';

/** One axis, counted from the end where it is negative, or several. */
export type Axes = number | readonly number[];

/** Axes of a shape counted from 0, in their order; all where none are named. @throws MercerError INVALID_ARGUMENT */
export function checkAxes(
  what: string,
  axes: Axes | undefined,
  shape: readonly number[],
): readonly number[] {
  const rank = shape.length;
  if (axes === undefined) return shape.map((_, axis) => axis);
  const given: unknown = typeof axes === 'number' ? [axes] : axes;
  if (!isList(given)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the axes are ${describeValue(axes)}. Pass an axis such as -1, an array of them, or nothing for all; options are behind them.`,
    );
  }
  const counted = given.map((axis) => (typeof axis === 'number' && axis < 0 ? axis + rank : axis));
  for (const [at, axis] of counted.entries()) {
    if (Number.isInteger(axis) && Number(axis) >= 0 && Number(axis) < rank) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      rank === 0
        ? `${what}: axis ${describeValue(given[at])} of a tensor without axes. Leave the axes out.`
        : `${what}: axis ${describeValue(given[at])} of shape ${formatShape(shape)}. Use ${-rank} to ${rank - 1}.`,
    );
  }
  if (new Set(counted).size < counted.length) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: axes [${given.join(', ')}] of shape ${formatShape(shape)} name one axis twice. Name each once.`,
    );
  }
  return (counted as number[]).sort((a, b) => a - b);
}

/** One axis counted from 0. @param of what has axes, for messages @throws MercerError INVALID_ARGUMENT */
export function checkAxis(what: string, axis: unknown, rank: number, of: string): number {
  const counted = typeof axis === 'number' && axis < 0 ? axis + rank : axis;
  if (Number.isInteger(counted) && Number(counted) >= 0 && Number(counted) < rank) {
    return Number(counted);
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: axis ${describeValue(axis)} of ${of}. Use ${-rank} to ${rank - 1}.`,
  );
}

/** The shape without axes, or with extents of 1 in their place. */
export function reducedShape(
  shape: readonly number[],
  axes: readonly number[],
  keepDims: boolean,
): readonly number[] {
  return keepDims
    ? shape.map((extent, axis) => (axes.includes(axis) ? 1 : extent))
    : shape.filter((_, axis) => !axes.includes(axis));
}

const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
