import { describeList, describeValue, type OptionNames } from '@mercer/options';
import { MercerError, type Tensor, type WorkOptions } from '@mercer/tensor';
import { assertTensor } from '@mercer/tensor/operation';
import type { LazyDType } from '../lazy-dtype.js';
import { LazyError } from '../lazy-error.js';

/** Names of {@link WorkOptions}. */
export const WORK_OPTION_NAMES: OptionNames<WorkOptions> = { stream: true, signal: true };

/** Points: a row of coordinates for each. */
export type Points = Tensor<LazyDType>;

/** @throws MercerError INVALID_ARGUMENT, DTYPE_MISMATCH, SHAPE_MISMATCH, DISPOSED */
export function checkPoints(what: string, name: string, x: unknown): asserts x is Points {
  assertTensor(x, `${what}: ${name}`);
  const { dtype, shape, label } = x;
  if (dtype !== 'float32' && dtype !== 'float64') {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: ${name} is ${label}. Points are float32 or float64; cast them.`,
    );
  }
  if (shape.length === 2 && shape[1] !== 0) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: ${name} is ${label}. Points are (N, D), a row of D >= 1 coordinates for each; reshape them to [N, 1] if they have one.`,
  );
}

/** @throws MercerError DTYPE_MISMATCH, SHAPE_MISMATCH, DISPOSED */
export function checkLabels(
  what: string,
  labels: unknown,
  rows: number | undefined,
): asserts labels is Tensor<'int32'> {
  assertTensor(labels, `${what}: the labels`);
  const { dtype, shape, label } = labels;
  if (dtype !== 'int32') {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: the labels are ${label}. Labels are int32; cast them.`,
    );
  }
  if (shape.length === 1 && (rows === undefined || shape[0] === rows)) return;
  const wanted = rows === undefined ? '(N)' : `[${rows}], one for each row`;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: the labels are ${label}. Their shape must be ${wanted}.`,
  );
}

/** @throws LazyError INVALID_ARGUMENT */
export function checkWhole(what: string, name: string, value: unknown, least: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= least) return value as number;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass a whole number from ${least} on.`,
  );
}

/** @throws LazyError INVALID_ARGUMENT */
export function checkPositive(what: string, name: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value < Infinity) return value;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeList(value)}. Pass a positive number.`,
  );
}

/** The least and the largest coordinates of points, by axis. @throws LazyError INVALID_ARGUMENT where they are not finite */
export async function boundsOf(
  what: string,
  name: string,
  x: Points,
  options: WorkOptions,
): Promise<{ readonly low: readonly number[]; readonly high: readonly number[] }> {
  using least = await x.min(0, options);
  using most = await x.max(0, options);
  const low = Array.from(await least.toTypedArray(options), Number);
  const high = Array.from(await most.toTypedArray(options), Number);
  const axis = low.findIndex((one, at) => !Number.isFinite(one) || !Number.isFinite(high[at]));
  if (axis < 0) return { low, high };
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: coordinate ${axis} of ${name} goes from ${low[axis]} to ${high[axis]}, and such points are in no cell. Leave rows out that are not finite.`,
  );
}
