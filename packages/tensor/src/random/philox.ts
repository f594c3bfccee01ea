/*
 * Philox 4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): ten rounds of two 32 x 32 bit
 * products turn a counter of 128 bits and a key of 64 bits into 128 random bits. Whole numbers of 32 bits only, so that every device has the
 * same bits. Here for keys and permutations; numbers are drawn by native/kernels/random.h of cpu-runtime.
 */

/** A key of 64 bits. */
export interface PhiloxKey {
  readonly low: number;
  readonly high: number;
}

/** Words of 32 bits that one counter gives. */
export const BLOCK_WORDS = 4;

/** What blocks are for: the last word of their counters, so that keys that are derived share no bits with numbers that are drawn. */
export const PURPOSE = { numbers: 0, split: 1, foldIn: 2 } as const;

const MULTIPLIERS = [0xd2511f53, 0xcd9e8d57] as const;
const STEPS = [0x9e3779b9, 0xbb67ae85] as const;
const ROUNDS = 10;

/** 128 bits, the lowest word first. */
export type Counter = readonly [number, number, number, number];

/** The counter of block n, below 2^53. */
export const counterOf = (n: number, purpose: number = PURPOSE.numbers): Counter => [
  n >>> 0,
  Math.floor(n / 2 ** 32),
  0,
  purpose,
];

/** The blocks of a counter and of those behind it, of which the first two words count. */
export function philox({ low, high }: PhiloxKey, counter: Counter, out: Uint32Array): void {
  const [m0, m1] = MULTIPLIERS;
  const [step0, step1] = STEPS;
  // halves of the multipliers, whose products with halves fit in 32 bits
  const [low0, high0, low1, high1] = [m0 & 0xffff, m0 >>> 16, m1 & 0xffff, m1 >>> 16];
  let [n0, n1] = counter;
  for (let at = 0; at < out.length; at += BLOCK_WORDS) {
    let c0 = n0 | 0;
    let c1 = n1 | 0;
    let c2 = counter[2] | 0;
    let c3 = counter[3] | 0;
    let k0 = low | 0;
    let k1 = high | 0;
    for (let round = 0; round < ROUNDS; round++) {
      const upper0 = upperProduct(c0, low0, high0);
      const upper1 = upperProduct(c2, low1, high1);
      const lower0 = Math.imul(m0, c0);
      const lower1 = Math.imul(m1, c2);
      c0 = upper1 ^ c1 ^ k0;
      c2 = upper0 ^ c3 ^ k1;
      c1 = lower1;
      c3 = lower0;
      k0 = (k0 + step0) | 0;
      k1 = (k1 + step1) | 0;
    }
    out[at] = c0;
    out[at + 1] = c1;
    out[at + 2] = c2;
    out[at + 3] = c3;
    n0 = (n0 + 1) >>> 0;
    if (n0 === 0) n1 = (n1 + 1) >>> 0;
  }
}

/** The upper 32 bits of a product of 32 bits with a number whose halves are given. */
function upperProduct(a: number, low: number, high: number): number {
  const inner = a & 0xffff;
  const outer = a >>> 16;
  const carry = Math.imul(inner, low) >>> 16;
  const middle = (Math.imul(outer, low) + carry) | 0;
  const rest = (Math.imul(inner, high) + (middle & 0xffff)) | 0;
  return (Math.imul(outer, high) + (middle >>> 16) + (rest >>> 16)) | 0;
}
