import type { Reduction } from '@mercer/formula';
import { swapAxes, type KeptRanges, type Ranges } from '@mercer/kernels';
import { describeList, describeValue, refusePromise } from '@mercer/options';
import { LazyError } from './lazy-error.js';

/** Which rows of i meet which rows of j: those of both directions, or of a reduction over j alone. */
export type RangesOption = Ranges | KeptRanges;

/** The ranges of the kept side. @throws LazyError INVALID_ARGUMENT for what has not their arrays */
export function keptRanges(
  what: string,
  { axis }: Pick<Reduction, 'axis'>,
  ranges: RangesOption,
): KeptRanges {
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
