import type { Steps } from '@mercer/formula/plan';
import type { DType } from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import { checkShape, sizeOfShape } from '../checked-size.js';
import { tensor } from '../create.js';
import { inSlices } from '../in-slices.js';
import { MercerError } from '../mercer-error.js';
import { pendingCall, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import type { Tensor } from '../tensor.js';
import { drawn, RANDOM_OPTIONS, type RandomOptions } from './draw.js';
import { checkKey, type RandomKey } from './key.js';
import { counterOf, philox } from './philox.js';

/** Dtypes of whole numbers that are drawn. */
export type PlaceDType = 'int32' | 'int64';

const PERMUTATION_OPTIONS: OptionNames<RandomOptions<DType>> = RANDOM_OPTIONS;

/** Options of {@link choice}. */
export interface ChoiceOptions<D extends DType> extends RandomOptions<D> {
  /** Whether a number may come twice. Default: true. */
  readonly replace?: boolean | undefined;
}

const CHOICE_OPTIONS: OptionNames<ChoiceOptions<DType>> = { ...RANDOM_OPTIONS, replace: true };

/** Numbers that int32 has. */
const MOST = 2 ** 31;

function checkCount(n: unknown, what: string, least: number): number {
  if (typeof n === 'number' && Number.isSafeInteger(n) && n >= least && n <= MOST) return n;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: n is ${describeValue(n)}. Pass how many numbers there are, from ${least} to 2^31.`,
  );
}

function checkPlaceDType(dtype: unknown, what: string): PlaceDType {
  if (dtype === undefined || dtype === 'int32') return 'int32';
  if (dtype === 'int64') return dtype;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the dtype is ${describeValue(dtype)}. Use int32 or int64.`,
  );
}

/** Places that are visited in one step. */
const STEP = 8192;

/** Calls back with runs of places up to n. */
function* inRuns(n: number, visit: (from: number, to: number) => void): Steps<void> {
  for (let from = 0; from < n; from += STEP) {
    visit(from, Math.min(from + STEP, n));
    yield;
  }
}

/** Numbers of 32 bits with what belongs to each. */
interface Sorted {
  readonly values: Uint32Array;
  readonly places: Uint32Array;
}

/** Sorts by `bits` bits from `shift` on, leaving the order of what is equal. */
function* sortByDigit(from: Sorted, to: Sorted, shift: number, bits: number): Steps<void> {
  const mask = 2 ** bits - 1;
  const starts = new Uint32Array(2 ** bits + 1);
  const { values, places } = from;
  yield* inRuns(values.length, (first, end) => {
    for (let k = first; k < end; k++) {
      const next = (((values[k] ?? 0) >>> shift) & mask) + 1;
      starts[next] = (starts[next] ?? 0) + 1;
    }
  });
  for (let digit = 1; digit <= mask; digit++) {
    starts[digit] = (starts[digit] ?? 0) + (starts[digit - 1] ?? 0);
  }
  yield* inRuns(values.length, (first, end) => {
    for (let k = first; k < end; k++) {
      const value = values[k] ?? 0;
      const digit = (value >>> shift) & mask;
      const at = starts[digit] ?? 0;
      starts[digit] = at + 1;
      to.values[at] = value;
      to.places[at] = places[k] ?? 0;
    }
  });
}

/**
 * The numbers below n in the order of random numbers of 64 bits, one for each, and where two are equal in their own: sorted by one digit after the
 * other, the lowest first.
 */
function* shuffled(n: number, key: RandomKey): Steps<Uint32Array> {
  const words = new Uint32Array(Math.ceil(n / 2) * 4);
  for (let at = 0; at < words.length; at += STEP) {
    philox(key, counterOf(at / 4), words.subarray(at, at + STEP));
    yield;
  }
  // more buckets than elements are slower than more passes
  const bits = n > 2 ** 14 ? 16 : 8;
  let sorted = { values: new Uint32Array(n), places: new Uint32Array(n) };
  let other = { values: new Uint32Array(n), places: new Uint32Array(n) };
  const { places: all } = sorted;
  yield* inRuns(n, (first, end) => {
    for (let k = first; k < end; k++) all[k] = k;
  });
  // the first of both words is the upper one
  for (const word of [1, 0]) {
    const { values, places } = sorted;
    yield* inRuns(n, (first, end) => {
      for (let k = first; k < end; k++) values[k] = words[2 * (places[k] ?? 0) + word] ?? 0;
    });
    for (let shift = 0; shift < 32; shift += bits) {
      yield* sortByDigit(sorted, other, shift, bits);
      [sorted, other] = [other, sorted];
    }
  }
  return sorted.places;
}

/** Whole numbers below 2^31 as a tensor. */
function placed<D extends PlaceDType>(
  data: Uint32Array,
  shape: readonly number[],
  dtype: PlaceDType,
  { device, stream, signal }: RandomOptions<D>,
): Pending<Tensor<D>> {
  const whole = new Int32Array(data.buffer, data.byteOffset, data.length);
  return tensor(whole, { shape, dtype: dtype as D, device, stream, signal });
}

/**
 * The numbers from 0 to n - 1 in random order: that of random numbers of 64 bits, one for each. A function of key and n alone, on every device. Made
 * on the host, in 0.1 to 0.3 microseconds each, in slices between which the event loop runs, and uploaded.
 *
 * ```ts
 * import { gatherRows, random, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([[1], [2], [3]], where);
 * const order = await random.permutation(3, { key: random.key(1), ...where });
 * console.log((await gatherRows(x, order)).shape); // [ 3, 1 ]
 * ```
 *
 * @param n from 0 to 2^31
 * @param options key; dtype 'int32' (default) or 'int64', device, stream, signal
 * @returns (n)
 * @throws MercerError INVALID_ARGUMENT, OUT_OF_MEMORY, NO_BACKEND; the signal's reason
 */
export function permutation<D extends PlaceDType = 'int32'>(
  n: number,
  options: RandomOptions<D>,
): Pending<Tensor<D>> {
  return pendingCall(async () => {
    const what = 'permutation';
    const given = readOptions(what, options, PERMUTATION_OPTIONS as OptionNames<RandomOptions<D>>);
    const dtype = checkPlaceDType(given.dtype, what);
    checkKey(given.key, what);
    checkCount(n, what, 0);
    const order = await inSlices(shuffled(n, given.key), given.signal);
    return placed(order, [n], dtype, given);
  });
}

/**
 * Numbers from 0 to n - 1, each as likely as any other: `floor(n u)` with u of 53 bits, so that none is more likely than another by more than n 2^-53 of
 * itself; with `replace: false` the first of a `permutation`, so that none comes twice. `gatherRows` takes the rows of a tensor that they name. A function of key, n
 * and shape alone, on every device; for a GPU they are drawn on the
 * CPU and copied.
 *
 * ```ts
 * import { gatherRows, random, tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([[1], [2], [3]], where);
 * const batch = await random.choice(3, [2], { key: random.key(1), replace: false, ...where });
 * console.log((await gatherRows(x, batch)).shape); // [ 2, 1 ]
 * ```
 *
 * @param n from 1 to 2^31; 0 where nothing is drawn
 * @param options key; replace (default true), dtype 'int32' (default) or 'int64', device, stream, signal
 * @returns row-major
 * @throws MercerError INVALID_ARGUMENT, OUT_OF_MEMORY, NO_BACKEND; the signal's reason
 */
export function choice<D extends PlaceDType = 'int32'>(
  n: number,
  shape: readonly number[],
  options: ChoiceOptions<D>,
): Pending<Tensor<D>> {
  return pendingCall(async () => {
    const what = 'choice';
    const read = readOptions(what, options, CHOICE_OPTIONS as OptionNames<ChoiceOptions<D>>);
    const { replace = true, ...given } = read;
    const dtype = checkPlaceDType(given.dtype, what);
    checkKey(given.key, what);
    const extents = checkShape(shape, what);
    const size = sizeOfShape(extents);
    checkCount(n, what, size === 0 ? 0 : 1);
    if (typeof replace !== 'boolean') {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `choice: replace is ${describeValue(replace)}. Pass true or false.`,
      );
    }
    if (!replace && size > n) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `choice: ${size} numbers of ${n}, none twice. Draw at most n of them, or with replace: true.`,
      );
    }
    if (!replace) {
      const order = await inSlices(shuffled(n, given.key), given.signal);
      return placed(order.slice(0, size), extents, dtype, given);
    }
    const drawing = { kind: 'uniform', bits: 53, shift: 0, scale: n } as const;
    return drawn(what, extents, given, dtype as D, drawing);
  });
}
