import type { Steps } from '@mercer/formula';
import type { DType } from '@mercer/kernels';
import { describeValue } from '@mercer/options';
import { checkShape, sizeOfShape } from '../checked-size.js';
import { FULL_OPTIONS, tensor, type FullOptions } from '../create.js';
import { inSlices } from '../in-slices.js';
import { MercerError } from '../mercer-error.js';
import type { Tensor } from '../tensor.js';
import { checkKey, type RandomKey } from './key.js';
import { BLOCK_WORDS, counterOf, philox } from './philox.js';

/** Dtypes of numbers that are drawn. */
export type RandomDType = 'float64' | 'float32' | 'float16' | 'bfloat16';

/** Options of functions of {@link random}. */
export interface RandomOptions<D extends DType> extends FullOptions<D> {
  /** What the numbers are a function of: `random.key(seed)`, or one made of it. */
  readonly key: RandomKey;
}

/** Names of {@link RandomOptions}. */
export const RANDOM_OPTIONS = { ...FULL_OPTIONS, key: true } as const;

/** Words of a step: some tens of microseconds. */
const STEP_WORDS = 4096;

/** A number from one word, or from two. */
export interface Drawing {
  readonly words: 1 | 2;
  readonly number: (word: number, next: number) => number;
}

/** As many numbers as there are places: element i is made of words i, or 2i and 2i + 1, of the key's blocks. */
export function* drawInto(
  out: { [i: number]: number; readonly length: number },
  key: RandomKey,
  { words, number }: Drawing,
): Steps<void> {
  const block = new Uint32Array(STEP_WORDS);
  const { length } = out;
  const each = STEP_WORDS / words;
  for (let first = 0; first < length; first += each) {
    const count = Math.min(each, length - first);
    const needed = Math.ceil((count * words) / BLOCK_WORDS) * BLOCK_WORDS;
    philox(key, counterOf((first * words) / BLOCK_WORDS), block.subarray(0, needed));
    for (let k = 0; k < count; k++) {
      const at = k * words;
      out[first + k] = number(block[at] ?? 0, block[at + 1] ?? 0);
    }
    yield;
  }
}

/** As many elements as an array of the host can have. */
const MOST_ELEMENTS = 2 ** 32;

/** A tensor of numbers that are drawn. @throws as `tensor` does, the signal's reason */
export async function drawn<D extends RandomDType>(
  what: string,
  shape: readonly number[],
  { key, dtype = 'float32' as D, device, stream, signal }: RandomOptions<D>,
  drawing: Drawing,
): Promise<Tensor<D>> {
  checkKey(key, what);
  const extents = checkShape(shape, what);
  const size = sizeOfShape(extents);
  if (size > MOST_ELEMENTS) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${size} numbers at once. Draw at most 2^32, each part with a key of its own.`,
    );
  }
  const data = dtype === 'float32' ? new Float32Array(size) : new Float64Array(size);
  await inSlices(drawInto(data, key, drawing), signal);
  return tensor(data, { shape: extents, dtype, device, stream, signal });
}

/** @throws MercerError INVALID_ARGUMENT for dtypes of whole numbers */
export function checkRandomDType(dtype: unknown, what: string): RandomDType {
  if (dtype === undefined || dtype === 'float32') return 'float32';
  if (dtype === 'float64' || dtype === 'float16' || dtype === 'bfloat16') return dtype;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the dtype is ${describeValue(dtype)}. Use float64, float32, float16 or bfloat16; choice() draws whole numbers.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkFinite(value: unknown, name: string, what: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass a finite number.`,
  );
}
