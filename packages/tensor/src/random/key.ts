import { describeValue } from '@mercer/options';
import { MercerError } from '../mercer-error.js';
import { BLOCK_WORDS, counterOf, philox, PURPOSE, type Counter, type PhiloxKey } from './philox.js';

/**
 * What random numbers are a function of. The same key gives the same numbers in every call, on every device; `split` and `foldIn` make others
 * of it.
 */
export class RandomKey implements PhiloxKey {
  /** The lower 32 bits. */
  readonly low: number;
  /** The upper 32 bits. */
  readonly high: number;

  /** @internal */
  constructor(low: number, high: number) {
    this.low = low >>> 0;
    this.high = high >>> 0;
    Object.freeze(this);
  }

  /** The 64 bits: `key(k.bits)` is the same key. */
  get bits(): bigint {
    return (BigInt(this.high) << 32n) | BigInt(this.low);
  }

  toString(): string {
    return `RandomKey(0x${this.bits.toString(16).padStart(16, '0')})`;
  }

  /** A text, since JSON has no numbers of 64 bits. */
  toJSON(): string {
    return this.bits.toString();
  }
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkKey(value: unknown, what: string): RandomKey {
  if (value instanceof RandomKey) return value;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the key is ${describeValue(value)}. Make one with random.key(seed), and others of it with random.split(key).`,
  );
}

/** 64 bits of a whole number. */
function bits64(value: unknown, name: string, what: string): bigint {
  const whole =
    typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : (value as bigint);
  if (typeof whole === 'bigint' && whole >= -(2n ** 63n) && whole < 2n ** 64n) {
    return BigInt.asUintN(64, whole);
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass a whole number of 64 bits; above 2^53 a bigint.`,
  );
}

/**
 * A key from a seed, whose 64 bits it has.
 *
 * ```ts
 * import { random } from '@mercer/tensor';
 *
 * console.log(String(random.key(7))); // RandomKey(0x0000000000000007)
 * ```
 *
 * @param seed a whole number of 64 bits, with a sign or without
 * @throws MercerError INVALID_ARGUMENT
 */
export function key(seed: number | bigint): RandomKey {
  const bits = bits64(seed, 'the seed', 'key');
  return new RandomKey(Number(bits & 0xffffffffn), Number(bits >> 32n));
}

/** Keys made of a key: the first two words of the blocks from a counter on. */
function derived(from: RandomKey, counter: Counter, count: number): RandomKey[] {
  const words = new Uint32Array(count * BLOCK_WORDS);
  philox(from, counter, words);
  return Array.from(
    { length: count },
    (_, k) => new RandomKey(words[k * BLOCK_WORDS] ?? 0, words[k * BLOCK_WORDS + 1] ?? 0),
  );
}

/** As many keys as make sense at once. */
const MOST_KEYS = 2 ** 24;

/**
 * Keys that are independent of each other and of what the key itself gives. The first ones do not depend on how many there are. Use a key for one
 * purpose, and split it before it is needed for two.
 *
 * ```ts
 * import { random } from '@mercer/tensor';
 *
 * const [weights, noise] = random.split(random.key(7));
 * console.log(weights !== noise); // true
 * ```
 *
 * @param n how many. Default: 2
 * @throws MercerError INVALID_ARGUMENT
 */
export function split(from: RandomKey, n?: 2): [RandomKey, RandomKey];
export function split(from: RandomKey, n: number): RandomKey[];
export function split(from: RandomKey, n = 2): RandomKey[] {
  checkKey(from, 'split');
  if (!Number.isSafeInteger(n) || n < 0 || n > MOST_KEYS) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `split: ${describeValue(n)} keys. Pass how many, from 0 to 2^24; foldIn(key, n) gives any one.`,
    );
  }
  return derived(from, counterOf(0, PURPOSE.split), n);
}

/**
 * The key of a number: one for each step of a loop, or each worker, without a list of them.
 *
 * ```ts
 * import { random } from '@mercer/tensor';
 *
 * const seed = random.key(7);
 * for (let step = 0; step < 3; step++) {
 *   const noise = await random.normal([2], { key: random.foldIn(seed, step), device: 'cpu' });
 *   console.log(noise.shape); // [ 2 ]
 * }
 * ```
 *
 * @param n a whole number of 64 bits
 * @throws MercerError INVALID_ARGUMENT
 */
export function foldIn(from: RandomKey, n: number | bigint): RandomKey {
  checkKey(from, 'foldIn');
  const bits = bits64(n, 'the number', 'foldIn');
  const words = [Number(bits & 0xffffffffn), Number(bits >> 32n)] as const;
  const [made] = derived(from, [...words, 0, PURPOSE.foldIn], 1);
  return made as RandomKey;
}
