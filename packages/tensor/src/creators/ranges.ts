import type { DType } from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import { checkDType } from '../check-argument.js';
import { FULL_OPTIONS, tensor, type FullOptions } from '../create.js';
import { MercerError } from '../mercer-error.js';
import { pendingCall, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import type { Tensor } from '../tensor.js';
import { newStorageArray } from '../typed-arrays.js';

/** Options of {@link linspace}. */
export interface LinspaceOptions<D extends DType> extends FullOptions<D> {
  /** Whether `stop` is the last element. Default: true. */
  readonly endpoint?: boolean | undefined;
}

const LINSPACE_OPTIONS: OptionNames<LinspaceOptions<DType>> = { ...FULL_OPTIONS, endpoint: true };

/** The elements start + i step, in float64, as a tensor. */
function uploaded<D extends DType>(
  elements: { readonly start: number; readonly step: number; readonly count: number },
  { dtype = 'float32' as D, device, stream, signal }: FullOptions<D>,
  what: string,
  last?: number,
): Pending<Tensor<D>> {
  checkDType(dtype, what);
  const { start, step, count } = elements;
  const data = newStorageArray('float64', count);
  for (let i = 0; i < count; i++) data[i] = start + i * step;
  if (last !== undefined && count > 1) data[count - 1] = last;
  return tensor(data, { dtype, device, stream, signal });
}

function checkNumber(value: unknown, name: string, what: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass a finite number.`,
  );
}

/** As many elements as an array of the host can have. */
const MOST_ELEMENTS = 2 ** 32;

/**
 * Numbers from `start` (default 0) up to `stop`, without it, `step` (default 1) apart: `start + i step` for each i below
 * `ceil((stop - start) / step)`, computed in float64 on every device and converted once, as `cast` does.
 *
 * ```ts
 * import { arange } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * console.log(await arange(3, where).toNested()); // [ 0, 1, 2 ]
 * console.log(await arange(2, 0, -0.5, where).toNested()); // [ 2, 1.5, 1, 0.5 ]
 * ```
 *
 * @param options dtype (default 'float32'), device, stream, signal
 * @returns (count), none where `stop` does not lie behind `start`
 * @throws MercerError INVALID_ARGUMENT, OUT_OF_MEMORY, NO_BACKEND; the signal's reason
 */
export function arange<D extends DType = 'float32'>(
  stop: number,
  options?: FullOptions<D>,
): Pending<Tensor<D>>;
export function arange<D extends DType = 'float32'>(
  start: number,
  stop: number,
  options?: FullOptions<D>,
): Pending<Tensor<D>>;
export function arange<D extends DType = 'float32'>(
  start: number,
  stop: number,
  step: number,
  options?: FullOptions<D>,
): Pending<Tensor<D>>;
export function arange(...given: readonly unknown[]): Pending<Tensor> {
  return pendingCall(async () => {
    const [first] = given;
    if (typeof first !== 'number') checkNumber(first, 'the first number', 'arange');
    const notNumber = given.findIndex((one) => typeof one !== 'number');
    const count = Math.min(notNumber < 0 ? given.length : notNumber, 3);
    const numbers = given.slice(0, count);
    if (numbers.length === 1) numbers.unshift(0);
    const options = readOptions('arange', given[count] as FullOptions<DType>, FULL_OPTIONS);
    const start = checkNumber(numbers[0], 'the start', 'arange');
    const stop = checkNumber(numbers[1], 'the stop', 'arange');
    const step = checkNumber(numbers.length > 2 ? numbers[2] : 1, 'the step', 'arange');
    if (step === 0) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `arange: the step from ${start} to ${stop} is 0. Pass another, or linspace() for a number of elements.`,
      );
    }
    const elements = Math.max(0, Math.ceil((stop - start) / step));
    if (elements > MOST_ELEMENTS) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `arange: ${elements} elements from ${start} to ${stop} in steps of ${step}. Use at most 2^32.`,
      );
    }
    return uploaded({ start, step, count: elements }, options, 'arange');
  });
}

/**
 * `count` numbers at equal distances, from `start` to `stop`: `start + i step` with `step = (stop - start) / (count - 1)`, computed in float64 on
 * every device and converted once, as `cast` does. The last is `stop` itself. With `endpoint: false` it is left out, and
 * `step = (stop - start) / count`.
 *
 * ```ts
 * import { linspace } from '@mercer/tensor';
 *
 * console.log(await linspace(0, 1, 5, { device: 'cpu' }).toNested()); // [ 0, 0.25, 0.5, 0.75, 1 ]
 * ```
 *
 * @param count 0 or more; of one element it is `start`
 * @param options endpoint (default true), dtype (default 'float32'), device, stream, signal
 * @returns (count)
 * @throws MercerError INVALID_ARGUMENT, OUT_OF_MEMORY, NO_BACKEND; the signal's reason
 */
export function linspace<D extends DType = 'float32'>(
  start: number,
  stop: number,
  count: number,
  options?: LinspaceOptions<D>,
): Pending<Tensor<D>> {
  return pendingCall(async () => {
    const { endpoint = true, ...given } = readOptions('linspace', options, LINSPACE_OPTIONS);
    checkNumber(start, 'the start', 'linspace');
    checkNumber(stop, 'the stop', 'linspace');
    if (!Number.isInteger(count) || count < 0 || count > MOST_ELEMENTS) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `linspace: the count is ${describeValue(count)}. Pass how many numbers from ${start} to ${stop}, from 0 to 2^32.`,
      );
    }
    if (typeof endpoint !== 'boolean') {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `linspace: endpoint is ${describeValue(endpoint)}. Pass true or false.`,
      );
    }
    const steps = Math.max(1, endpoint ? count - 1 : count);
    const range = stop - start;
    // a range beyond the largest number has a step that is not
    const step = Number.isFinite(range) ? range / steps : stop / steps - start / steps;
    return uploaded({ start, step, count }, given, 'linspace', endpoint ? stop : undefined);
  });
}
