import type { Reduction } from '@mercer/formula';
import { swapAxes, type KeptRanges, type Ranges, type RowRange } from '@mercer/kernels';
import { describeList, describeValue, refusePromise } from '@mercer/options';
import { isTensor, type Tensor } from '@mercer/tensor';
import type { CallRanges } from '@mercer/tensor/operation';
import { LazyError } from './lazy-error.js';

/** The ranges that are met: a list of them, or their table (ranges, 2) on the device. */
export type MetRanges = readonly RowRange[] | Tensor<'int64'>;

/** Which rows of i meet which rows of j: those of both directions, or of a reduction over j alone. */
export type RangesOption = Ranges<MetRanges> | KeptRanges<MetRanges>;

/** The ranges of the kept side. @throws LazyError INVALID_ARGUMENT for what has not their arrays */
export function keptRanges(
  what: string,
  { axis }: Pick<Reduction, 'axis'>,
  ranges: RangesOption,
): CallRanges {
  checkArrays(what, ranges, ['rangesI', 'slicesI', 'redrangesJ']);
  if (axis === 1) return ranges;
  if ('rangesJ' in ranges) {
    checkArrays(what, ranges, ['rangesJ', 'slicesJ', 'redrangesI']);
    return swapAxes(ranges);
  }
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: the ranges have no rangesJ, slicesJ and redrangesI, which a reduction over i needs. Make both directions with rangesFromMatrix.`,
  );
}

/** Whether ranges have these arrays: of pairs, but for slices. */
function checkArrays(what: string, ranges: unknown, names: readonly string[]): void {
  refusePromise(ranges, `${what}: ranges`);
  const given = Object(ranges) as Readonly<Record<string, unknown>>;
  for (const name of names) {
    const array = given[name];
    if (name.startsWith('red') && isTensor(array)) {
      checkTable(what, name, array);
      continue;
    }
    if (!Array.isArray(array) && !ArrayBuffer.isView(array)) {
      const names = Object.keys(given).map((one) => `'${one}'`);
      const has =
        Array.isArray(ranges) || names.length === 0 ? describeValue(ranges) : names.join(', ');
      throw new LazyError(
        'INVALID_ARGUMENT',
        `${what}: the ranges have no array '${name}', but ${has}. Pass { rangesI, slicesI, redrangesJ } and, for a reduction over i, rangesJ, slicesJ and redrangesI: rangesFromMatrix makes them.`,
      );
    }
    if (name.startsWith('slices')) continue;
    const pairs = Array.from(array as ArrayLike<unknown>);
    const place = pairs.findIndex((one) => (one as ArrayLike<unknown> | null)?.length !== 2);
    if (place < 0) continue;
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: ${name}[${place}] of the ranges is ${describeList(pairs[place])}. A range is two whole numbers, [start, end].`,
    );
  }
}

/** Whether a tensor is a table of ranges. */
function checkTable(what: string, name: string, { dtype, shape, disposed, label }: Tensor): void {
  if (dtype === 'int64' && shape.length === 2 && shape[1] === 2 && !disposed) return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: ${name} of the ranges is ${disposed ? 'a tensor that was disposed' : label}. A table of ranges is an int64 tensor (ranges, 2), such as fromMatrix makes.`,
  );
}
