import { describe, expect, it } from 'vitest';
import { gatherRows, random, tensor, type Device, type DType } from '../index.js';
import { castOracle } from '../testing/cast-oracle.test-support.js';
import { stored } from '../testing/host-values.test-support.js';
import { normalQuantile } from './normal-quantile.test-support.js';
import { wordsOracle } from './philox-oracle.test-support.js';

const SEEDS = [0n, 1n, -1n, 0x0123456789abcdefn] as const;
const SHAPES: readonly (readonly number[])[] = [[], [0], [1], [7], [3, 5], [2, 0, 4], [5000]];
const FLOATS = ['float64', 'float32', 'float16', 'bfloat16'] as const;

/** Bits of a number of [0, 1) for each dtype. */
const BITS = { float64: 53, float32: 24, float16: 11, bfloat16: 8 } as const;

/** The upper bits of the words of each element, as the documentation says. */
function bitsOf(seed: bigint, count: number, bits: number): readonly bigint[] {
  if (bits <= 32) return wordsOracle(seed, count).map((word) => word >> BigInt(32 - bits));
  const words = wordsOracle(seed, 2 * count);
  return Array.from({ length: count }, (_, i) => {
    const high = (words[2 * i] ?? 0n) >> 5n;
    const low = (words[2 * i + 1] ?? 0n) >> 6n;
    return high * 2n ** 26n + low;
  });
}

/**
 * The share of the standard normal distribution beyond z, by its series below 4 and its continued fraction above: to 2^-40 of itself.
 */
function tailOf(z: number): number {
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI);
  if (z < 2) {
    let term = z;
    let sum = z;
    for (let k = 1; k < 100; k++) sum += term *= (z * z) / (2 * k + 1);
    return 0.5 - density * sum;
  }
  let fraction = z;
  for (let k = 200; k > 0; k--) fraction = z + k / fraction;
  return density / fraction;
}

/** Random numbers on a device, against whole numbers of any size. */
export function randomSuite(where: () => Device): void {
  const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

  describe.each(FLOATS)('of %s', (dtype) => {
    it('uniform numbers have the upper bits of the words of their key', async () => {
      for (const seed of SEEDS) {
        for (const shape of SHAPES) {
          for (const [low, high] of [
            [0, 1],
            [-2, 5],
            [3, 3],
            [0, 1e-3],
          ] as const) {
            const key = random.key(seed);
            using x = await random.uniform(shape, { key, low, high, dtype, device: where() });
            expect(x.dtype).toBe(dtype);
            expect(x.shape).toEqual(shape);
            const bits = BITS[dtype];
            const expected = bitsOf(seed, sizeOf(shape), bits).map((one) =>
              castOracle(low + (high - low) * (Number(one) / 2 ** bits), dtype),
            );
            expect(await stored(x)).toEqual(expected);
          }
        }
      }
    });

    it('normal numbers have as much beyond them as the words of their key say', async () => {
      for (const seed of SEEDS) {
        using x = await random.normal([4000], { key: random.key(seed), dtype, device: where() });
        const found = Array.from(await x.toTypedArray(), Number);
        const isDouble = dtype === 'float64';
        const words = wordsOracle(seed, isDouble ? 8000 : 4000);
        const bits = isDouble ? 53 : 32;
        const precision = 2 ** -(isDouble ? 40 : BITS[dtype]);
        let worst = 0;
        for (const [i, z] of found.entries()) {
          const all = isDouble
            ? ((words[2 * i] ?? 0n) << 21n) | ((words[2 * i + 1] ?? 0n) >> 11n)
            : (words[i] ?? 0n);
          const half = 2n ** BigInt(bits - 1);
          const share = (Number(all % half) + 0.5) / 2 ** bits;
          expect(z < 0).toBe(all >= half);
          const size = Math.abs(z);
          // a rounding of z changes what is beyond it by the density
          const density = Math.exp((-size * size) / 2) / Math.sqrt(2 * Math.PI);
          const allowed = precision * (share + size * density);
          worst = Math.max(worst, Math.abs(tailOf(size) - share) / allowed);
        }
        expect(worst).toBeLessThan(1);
      }
    });

    it('normal numbers are made of exactly rounded steps', async () => {
      const isDouble = dtype === 'float64';
      for (const [seed, mean, deviation] of [
        [0n, 0, 1],
        [-1n, 0.1, 3],
        [5n, -100, 0.7],
      ] as const) {
        const options = { key: random.key(seed), mean, deviation, dtype, device: where() };
        using x = await random.normal([10_001], options);
        const words = wordsOracle(seed, isDouble ? 20_002 : 10_001);
        const expected = Array.from({ length: 10_001 }, (_, i) => {
          const all = isDouble
            ? ((words[2 * i] ?? 0n) << 21n) | ((words[2 * i + 1] ?? 0n) >> 11n)
            : (words[i] ?? 0n);
          const half = isDouble ? 2n ** 52n : 2n ** 31n;
          // both are exact
          const share = Number(2n * (all % half) + 1n) / Number(4n * half);
          const z = normalQuantile(share);
          return castOracle(mean + deviation * (all < half ? z : -z), dtype);
        });
        expect(await stored(x)).toEqual(expected);
      }
    });

    it('normal numbers are scaled in float64 and rounded once', async () => {
      const options = { key: random.key(3), device: where() };
      const kind: DType = dtype === 'float64' ? 'float64' : 'float32';
      // the very numbers, of which float32 has only a rounding
      using standard = await random.normal([500], { ...options, dtype: kind });
      using x = await random.normal([500], { ...options, dtype, mean: 1000, deviation: 0.25 });
      const z = Array.from(await standard.toTypedArray(), Number);
      const found = Array.from(await x.toTypedArray(), Number);
      const unit = { float64: 2 ** -43, float32: 2 ** -14, float16: 0.5, bfloat16: 4 }[dtype];
      for (const [i, one] of found.entries()) {
        const exact = 1000 + 0.25 * (z[i] ?? NaN);
        expect(Math.abs(one - exact)).toBeLessThanOrEqual(unit / 2 + 2 ** -24);
      }
    });
  });

  it('longer results begin with shorter ones', async () => {
    const options = { key: random.key(5), device: where() };
    for (const draw of [random.uniform, random.normal]) {
      using short = await draw([1001], options);
      using long = await draw([9, 1000], options);
      using start = long.reshape([9000]).slice([0, 1001]);
      expect(await stored(start)).toEqual(await stored(short));
    }
  });

  it('permutations are in the order of the numbers of 64 bits', async () => {
    for (const n of [0, 1, 2, 3, 10, 1000, 20_000]) {
      for (const dtype of ['int32', 'int64'] as const) {
        using x = await random.permutation(n, { key: random.key(9), dtype, device: where() });
        const words = wordsOracle(9n, 2 * n);
        const keys = Array.from(
          { length: n },
          (_, i) => ((words[2 * i] ?? 0n) << 32n) | (words[2 * i + 1] ?? 0n),
        );
        const order = keys.map((_, i) => i);
        order.sort((a, b) => ((keys[a] ?? 0n) < (keys[b] ?? 0n) ? -1 : 1));
        expect(x.dtype).toBe(dtype);
        expect(Array.from<number | bigint, number>(await x.toTypedArray(), Number)).toEqual(order);
      }
    }
  });

  it('choices are floor(n u), or the first of a permutation', async () => {
    const device = where();
    for (const n of [1, 2, 6, 1000, 2 ** 31]) {
      using x = await random.choice(n, [20, 30], { key: random.key(4), device });
      const bits = bitsOf(4n, 600, 53);
      expect(x.shape).toEqual([20, 30]);
      expect(Array.from(await x.toTypedArray())).toEqual(
        bits.map((one) => Number((one * BigInt(n)) / 2n ** 53n)),
      );
    }
    const key = random.key(8);
    using some = await random.choice(50, [4, 5], { key, replace: false, device, dtype: 'int64' });
    using all = await random.permutation(50, { key, device, dtype: 'int64' });
    expect(Array.from(await some.toTypedArray())).toEqual(
      Array.from(await all.toTypedArray()).slice(0, 20),
    );
    using nothing = await random.choice(0, [0, 3], { key, device });
    expect(nothing.shape).toEqual([0, 3]);
  });

  it('can be used before they are awaited', async () => {
    const device = where();
    const key = random.key(2);
    const noise = random.normal([100, 100], { key, device }).mul(0);
    expect(await noise.add(1).sum().item()).toBe(1e4);
    const x = await tensor([[1], [2], [3]], { device });
    const order = await random.permutation(3, { key, device });
    expect(await gatherRows(x, order).sum().item()).toBe(6);
  });
}
