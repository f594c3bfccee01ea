import { describe, expect, it } from 'vitest';
import { device, random } from '../index.js';
import { memoryKept, NOTHING } from '../../test/memory-kept.mjs';
import { randomBits } from '../testing/random.test-support.js';
import { said } from '../testing/what-happens.test-support.js';
import { normalQuantile } from './normal-quantile.test-support.js';
import { philoxOracle } from './philox-oracle.test-support.js';
import { philox } from './philox.js';
import { randomSuite } from './random-suite.test-support.js';

const where = { device: 'cpu' } as const;
const { key, split, foldIn, uniform, normal, permutation, choice } = random;

describe('random numbers on the CPU', () => {
  randomSuite(() => device('cpu'));
});

describe('philox', () => {
  const ONES = 0xffffffff;

  /** A block of any counter. */
  function block(
    counter: readonly [number, number, number, number],
    k: readonly [number, number],
  ): string {
    const out = new Uint32Array(4);
    philox({ low: k[0], high: k[1] }, counter, out);
    return Array.from(out, (word) => word.toString(16).padStart(8, '0')).join(' ');
  }

  it('gives the known answers of its authors', () => {
    // kat_vectors of Random123: philox4x32 10
    expect(block([0, 0, 0, 0], [0, 0])).toBe('6627e8d5 e169c58d bc57ac4c 9b00dbd8');
    expect(block([ONES, ONES, ONES, ONES], [ONES, ONES])).toBe(
      '408f276d 41c83b0e a20bc7c6 6d5451fd',
    );
    const digits = [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344] as const;
    expect(block(digits, [0xa4093822, 0x299f31d0])).toBe('d16cfe09 94fdcceb 5001e420 24126ea1');
  });

  it('counts through the lower two words', () => {
    const out = new Uint32Array(8);
    philox({ low: 1, high: 2 }, [ONES, 5, 6, 7], out);
    const [a, b, c, d] = philoxOracle([0n, 6n, 6n, 7n], [1n, 2n]);
    expect(Array.from(out.subarray(4), BigInt)).toEqual([a, b, c, d]);
  });

  it('is what its authors write down, for any counter and key', () => {
    const next = randomBits(1);
    for (let k = 0; k < 500; k++) {
      const counter = [next(), next(), next(), next()] as const;
      const own = [next(), next()] as const;
      const [a, b, c, d] = counter.map(BigInt) as [bigint, bigint, bigint, bigint];
      const wanted = philoxOracle([a, b, c, d], [BigInt(own[0]), BigInt(own[1])]);
      expect(block(counter, own)).toBe(
        wanted.map((word) => word.toString(16).padStart(8, '0')).join(' '),
      );
    }
  });
});

describe('normalQuantile', () => {
  it('is within 2^-50 of the quantiles to 20 digits', () => {
    // by Newton's method on erfc with 40 digits, mpmath
    const known: readonly (readonly [number, number])[] = [
      [0.49999999999999994, 1.3914582123358834611e-16],
      [0.4375, 0.15731068461017069552],
      [0.25, 0.6744897501960817432],
      [0.08, 1.4050715603096325447],
      [0.0751, 1.4388253927525399824],
      [0.0749, 1.4402382675279636631],
      [0.03125, 1.8627318674216514555],
      [0.001, 3.0902323061678135354],
      [1e-6, 4.7534243088228989573],
      [1.1641532182693481e-10, 6.3379577545537892525],
      [1.4e-11, 6.6567230915181836356],
      [1.38e-11, 6.6588385028507655283],
      [1e-14, 7.6506280929352688166],
      [5.551115123125783e-17, 8.2923610758135955382],
    ];
    for (const [tail, quantile] of known) {
      expect(Math.abs(normalQuantile(tail) / quantile - 1)).toBeLessThan(2 ** -50);
    }
  });

  it('falls from each tail to the next', () => {
    let before = Infinity;
    for (let tail = 2 ** -54; tail < 0.5; tail *= 1.0009) {
      const quantile = normalQuantile(tail);
      expect(quantile).toBeLessThan(before);
      before = quantile;
    }
  });
});

describe('keys', () => {
  const bits = (keys: readonly { readonly bits: bigint }[]): bigint[] =>
    keys.map((one) => one.bits);

  it('have the bits of their seeds, and are the same again', () => {
    expect(key(0).bits).toBe(0n);
    expect(key(-1).bits).toBe(2n ** 64n - 1n);
    expect(key(2n ** 64n - 1n).bits).toBe(key(-1).bits);
    expect(key(2 ** 53 - 1).bits).toBe(2n ** 53n - 1n);
    expect(key(key(123).bits)).toEqual(key(123));
    expect(String(key(255))).toBe('RandomKey(0x00000000000000ff)');
    expect(JSON.stringify({ key: key(2n ** 60n) })).toBe('{"key":"1152921504606846976"}');
  });

  it('of a split and of numbers are the words of counters of their own', () => {
    const own = [5n, 7n] as const;
    const from = key((own[1] << 32n) | own[0]);
    const of = (a: bigint, b: bigint, third: bigint, last: bigint): bigint => {
      const [low, high] = philoxOracle([a, b, third, last], own);
      return (high << 32n) | low;
    };
    expect(bits(split(from))).toEqual([of(0n, 0n, 0n, 1n), of(1n, 0n, 0n, 1n)]);
    expect(split(from, 1000).at(-1)?.bits).toBe(of(999n, 0n, 0n, 1n));
    expect(bits(split(from, 3)).slice(0, 2)).toEqual(bits(split(from)));
    expect(split(from, 0)).toEqual([]);
    expect(foldIn(from, 3).bits).toBe(of(3n, 0n, 0n, 2n));
    expect(foldIn(from, -1).bits).toBe(of(2n ** 32n - 1n, 2n ** 32n - 1n, 0n, 2n));
    expect(foldIn(from, 2 ** 40).bits).toBe(of(0n, 256n, 0n, 2n));
  });

  it('that are made of one key differ from each other and from it', () => {
    const from = key(1);
    const all = [
      ...split(from, 1000),
      ...Array.from({ length: 1000 }, (_, n) => foldIn(from, n)),
      from,
      key(2),
    ];
    expect(new Set(bits(all)).size).toBe(all.length);
  });
});

describe('drawn numbers', () => {
  const COUNT = 200_000;
  const values = async (
    draw: typeof uniform | typeof normal,
    own: ReturnType<typeof key>,
  ): Promise<Float64Array> => {
    using x = await draw([COUNT], { key: own, dtype: 'float64', ...where });
    return await x.toTypedArray();
  };
  const mean = (all: Iterable<number>): number => {
    let sum = 0;
    for (const one of all) sum += one;
    return sum / COUNT;
  };

  it('are spread as they should be', async () => {
    const u = (await values(uniform, key(1))).sort();
    // Kolmogorov and Smirnov: beyond 1.95 / sqrt(n) once in a thousand
    const distance = u.reduce((most, x, i) => Math.max(most, Math.abs(x - (i + 0.5) / COUNT)), 0);
    expect(distance).toBeLessThan(1.95 / Math.sqrt(COUNT));
    const z = await values(normal, key(1));
    const moments = [1, 2, 3, 4].map((p) => mean(z.map((x) => x ** p)));
    // standard errors of the moments are the roots of 1, 2, 15 and 96 over n
    for (const [k, [moment, variance]] of (
      [
        [0, 1],
        [1, 2],
        [0, 15],
        [3, 96],
      ] as const
    ).entries()) {
      expect(Math.abs((moments[k] ?? NaN) - moment)).toBeLessThan(4 * Math.sqrt(variance / COUNT));
    }
  });

  it('of split keys, of neighbouring seeds and one behind the other do not depend on each other', async () => {
    const [left, right] = split(key(1));
    const [a, b, c, d] = await Promise.all(
      [left, right, key(6), key(7)].map((own) => values(normal, own)),
    );
    const correlation = (x: Float64Array, y: Float64Array): number =>
      mean(x.map((one, i) => one * (y[i] ?? 0)));
    const none = 4 / Math.sqrt(COUNT);
    for (const [x, y] of [
      [a, b],
      [c, d],
      [a, a?.subarray(1)],
      [b, b?.subarray(4)],
    ] as const) {
      expect(Math.abs(correlation(x as Float64Array, y as Float64Array))).toBeLessThan(none);
    }
  });

  it('permutations have each number at each place as often', async () => {
    const counts = new Array<number>(16).fill(0);
    const rounds = 4000;
    for (const own of split(key(3), rounds)) {
      using x = await permutation(4, { key: own, ...where });
      for (const [place, n] of (await x.toTypedArray()).entries()) {
        counts[4 * place + n] = (counts[4 * place + n] ?? 0) + 1;
      }
    }
    for (const count of counts) expect(Math.abs(count - rounds / 4)).toBeLessThan(120);
  });

  it('leave the event loop turns while they are made', async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const x = await permutation(300_000, { key: key(1), ...where });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(3);
    x.dispose();
  });

  it('keep no memory but their results', async () => {
    const kept = await memoryKept(device('cpu'), async () => {
      for (let n = 0; n < 10; n++) {
        const options = { key: foldIn(key(1), n), ...where };
        (await uniform([100], options)).dispose();
        (await choice(5, [3], { ...options, replace: false })).dispose();
      }
    });
    expect(kept).toEqual(NOTHING);
  });

  it('are given up where a signal says so', async () => {
    const controller = new AbortController();
    const reason = new Error('no longer needed');
    const work = permutation(3_000_000, { key: key(1), signal: controller.signal, ...where });
    setTimeout(() => {
      controller.abort(reason);
    }, 5);
    await expect(work).rejects.toBe(reason);
  });

  it('are refused with values and a remedy', async () => {
    const own = { key: key(1), ...where };
    const cases: Readonly<Record<string, () => unknown>> = {
      'no seed': () => key(undefined as never),
      'half a seed': () => key(0.5),
      'a large seed': () => key(2 ** 60),
      'a seed beyond 64 bits': () => key(2n ** 64n),
      'a number for a key': () => split(1 as never),
      'half a key': () => split(key(1), 0.5),
      'a step that is none': () => foldIn(key(1), 'one' as never),
      'no key': () => uniform([1], where as never),
      'no options': () => uniform([1], undefined as never),
      'a seed for a key': () => normal([1], { ...where, key: 7 as never }),
      'whole numbers': () => uniform([1], { ...own, dtype: 'int32' as never }),
      'no shape': () => uniform(3 as never, own),
      'a negative extent': () => normal([-1], own),
      'high below low': () => uniform([1], { ...own, low: 2 }),
      'an infinite range': () => uniform([1], { ...own, low: -1e308, high: 1e308 }),
      'an infinite low': () => uniform([1], { ...own, low: -Infinity }),
      'a negative deviation': () => normal([1], { ...own, deviation: -1 }),
      'a mean that is NaN': () => normal([1], { ...own, mean: NaN }),
      'an option of the other': () => normal([1], { ...own, low: 1 } as never),
      'a permutation of half': () => permutation(0.5, own),
      'a permutation of floats': () => permutation(3, { ...own, dtype: 'float32' as never }),
      'a choice of none': () => choice(0, [1], own),
      'more than there are': () => choice(3, [2, 2], { ...own, replace: false }),
      'a replacement that is none': () => choice(3, [2], { ...own, replace: 1 as never }),
      'an array of choices': () => choice([1, 2] as never, [1], own),
    };
    const messages: Record<string, string> = {};
    for (const [name, work] of Object.entries(cases)) messages[name] = await said(work);
    expect(messages).toMatchInlineSnapshot(`
      {
        "a choice of none": "INVALID_ARGUMENT choice: n is 0. Pass how many numbers there are, from 1 to 2^31.",
        "a large seed": "INVALID_ARGUMENT key: the seed is 1152921504606847000. Pass a whole number of 64 bits; above 2^53 a bigint.",
        "a mean that is NaN": "INVALID_ARGUMENT normal: the mean is NaN. Pass a finite number.",
        "a negative deviation": "INVALID_ARGUMENT normal: the deviation is -1. Pass a standard deviation of 0 or more.",
        "a negative extent": "INVALID_ARGUMENT normal: extent -1 in shape [-1] is not a count. Use integers from 0 to 2^53 - 1.",
        "a number for a key": "INVALID_ARGUMENT split: the key is 1. Make one with random.key(seed), and others of it with random.split(key).",
        "a permutation of floats": "INVALID_ARGUMENT permutation: the dtype is "float32". Use int32 or int64.",
        "a permutation of half": "INVALID_ARGUMENT permutation: n is 0.5. Pass how many numbers there are, from 0 to 2^31.",
        "a replacement that is none": "INVALID_ARGUMENT choice: replace is 1. Pass true or false.",
        "a seed beyond 64 bits": "INVALID_ARGUMENT key: the seed is 18446744073709551616n. Pass a whole number of 64 bits; above 2^53 a bigint.",
        "a seed for a key": "INVALID_ARGUMENT normal: the key is 7. Make one with random.key(seed), and others of it with random.split(key).",
        "a step that is none": "INVALID_ARGUMENT foldIn: the number is "one". Pass a whole number of 64 bits; above 2^53 a bigint.",
        "an array of choices": "INVALID_ARGUMENT choice: n is an array of 2. Pass how many numbers there are, from 1 to 2^31.",
        "an infinite low": "INVALID_ARGUMENT uniform: low is -Infinity. Pass a finite number.",
        "an infinite range": "INVALID_ARGUMENT uniform: low is -1e+308 and high is 1e+308. Pass a high that is not below low, nor infinitely far from it.",
        "an option of the other": "INVALID_ARGUMENT normal: there is no option 'low'. The options are stream, device, dtype, signal, key, mean, deviation.",
        "half a key": "INVALID_ARGUMENT split: 0.5 keys. Pass how many, from 0 to 2^24; foldIn(key, n) gives any one.",
        "half a seed": "INVALID_ARGUMENT key: the seed is 0.5. Pass a whole number of 64 bits; above 2^53 a bigint.",
        "high below low": "INVALID_ARGUMENT uniform: low is 2 and high is 1. Pass a high that is not below low, nor infinitely far from it.",
        "more than there are": "INVALID_ARGUMENT choice: 4 numbers of 3, none twice. Draw at most n of them, or with replace: true.",
        "no key": "INVALID_ARGUMENT uniform: the key is undefined. Make one with random.key(seed), and others of it with random.split(key).",
        "no options": "INVALID_ARGUMENT uniform: the key is undefined. Make one with random.key(seed), and others of it with random.split(key).",
        "no seed": "INVALID_ARGUMENT key: the seed is undefined. Pass a whole number of 64 bits; above 2^53 a bigint.",
        "no shape": "INVALID_ARGUMENT uniform: the shape is 3. Pass an array of extents such as [3, 4].",
        "whole numbers": "INVALID_ARGUMENT uniform: the dtype is "int32". Use float64, float32, float16 or bfloat16; choice() draws whole numbers.",
      }
    `);
  });
});
