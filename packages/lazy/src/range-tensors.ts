import type { Reduction } from '@mercer/formula';
import { planRanges, swapAxes, type KeptRanges, type Ranges } from '@mercer/kernels';
import { describeList } from '@mercer/options';
import { tensor, type Tensor, type WorkOptions } from '@mercer/tensor';
import { keptRows, type CallShape, type LoadedReduction, type RangeArguments } from './call.js';
import { LazyError, translated } from './lazy-error.js';
import type { Pass } from './passes.js';

/** Which rows of i meet which rows of j: those of both directions, or of a reduction over j alone. */
export type RangesOption = Ranges | KeptRanges;

/**
 * The ranges of a call on its device; the tensors are pushed to `made`, whose owner disposes them.
 *
 * @throws LazyError for ranges that do not fit the rows
 */
export async function rangeTensors(
  what: string,
  reduction: Pick<Reduction, 'axis'>,
  { plan }: Pick<LoadedReduction, 'plan'>,
  shape: CallShape,
  ranges: RangesOption,
  { stream, signal }: WorkOptions,
  made: Tensor[],
): Promise<RangeArguments> {
  const kept = keptRows(reduction, shape);
  const reduced = reduction.axis === 1 ? shape.rowsJ : shape.rowsI;
  const ofKept = keptRanges(what, reduction, ranges);
  const { tasks, spans, taskCount } = translated(what, () =>
    planRanges(plan, ofKept, kept, reduced),
  );
  const upload = async (data: BigInt64Array): Promise<Tensor> => {
    const placed = await tensor(data, { device: shape.device, stream, signal });
    made.push(placed);
    return placed;
  };
  return { tasks: await upload(tasks), spans: await upload(spans), taskCount };
}

/** The ranges of every pass of a call, nothing for each where there are none; as `rangeTensors`. */
export async function passRanges(
  what: string,
  reduction: Pick<Reduction, 'axis'>,
  passes: readonly Pass[],
  shape: CallShape,
  { ranges, ...options }: WorkOptions & { readonly ranges?: RangesOption | undefined },
  made: Tensor[],
): Promise<readonly (RangeArguments | undefined)[]> {
  const found: (RangeArguments | undefined)[] = [];
  for (const { loaded } of passes) {
    found.push(
      ranges && (await rangeTensors(what, reduction, loaded, shape, ranges, options, made)),
    );
  }
  return found;
}

/** The ranges of the kept side. @throws LazyError INVALID_ARGUMENT for what has not their arrays */
function keptRanges(
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
  const given = Object(ranges) as Readonly<Record<string, unknown>>;
  for (const name of names) {
    const array = given[name];
    if (!Array.isArray(array) && !ArrayBuffer.isView(array)) {
      const has = Array.isArray(ranges) ? 'a list' : `'${Object.keys(given).join("', '")}'`;
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
