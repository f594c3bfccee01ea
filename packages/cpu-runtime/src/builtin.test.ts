import { describe, expect, it } from 'vitest';
import { rawBinding } from './addon.js';
import { builtin } from './builtin.js';
import type { CpuLevel } from './compiler/compile-options.js';
import { cpu } from './cpu.js';

const code = (expected: string): unknown => expect.objectContaining({ code: expected });
const LEVELS: readonly CpuLevel[] = ['x86-64-v2', 'x86-64-v3', 'x86-64-v4'];
const own = LEVELS.indexOf(cpu.info().level);
const levels: readonly CpuLevel[] = own < 0 ? [cpu.info().level] : LEVELS.slice(0, own + 1);

/** Numbers of an element type and of dimensions as native/kernels/kernels.h has them. */
const [BITS32, RANK] = [10n, 1n];

/** Types and kinds of random numbers. */
const [FLOAT64, FLOAT32, FLOAT16, INT32] = [0n, 1n, 2n, 5n];
const [UNIFORM, NORMAL] = [0n, 1n];

/** The bytes of random numbers that a level draws. */
async function drawn(
  level: CpuLevel,
  { count, kind, bits, type }: { count: number; kind: bigint; bits: number; type: bigint },
  { key = 0n, shift = 0, scale = 1 } = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const out = cpu.allocate(8 * count);
  const words = new BigUint64Array(9);
  words.set([out.address, BigInt(count), key % 2n ** 32n, key / 2n ** 32n]);
  new Float64Array(words.buffer).set([shift, scale], 4);
  words.set([kind, BigInt(bits), type], 6);
  const stream = cpu.createStream();
  const geometry = { tasks: Math.ceil(count / 4096), chunk: 1, scratchBytes: 0 };
  const fn = builtin('random', { level });
  expect(fn.paramBytes).toBe(words.byteLength);
  fn.launch(geometry, stream, new Uint8Array(words.buffer), [out]);
  await stream.whenDone();
  return Uint8Array.from(new Uint8Array(out.arrayBuffer, out.byteOffset, 8 * count));
}

describe('random numbers', () => {
  it.each(levels)("are the known answers of Philox's authors on %s", async (level) => {
    // 32 bits of each word, as a multiple of 2^-32
    const known = { count: 4, kind: UNIFORM, bits: 32, type: FLOAT64 };
    const bytes = await drawn(level, known, { scale: 2 ** 32 });
    expect(Array.from(new Float64Array(bytes.buffer), (word) => word.toString(16))).toEqual([
      '6627e8d5',
      'e169c58d',
      'bc57ac4c',
      '9b00dbd8',
    ]);
  });

  it('have the same bits on processors that fuse products and sums, and on those that do not', async () => {
    const given = { key: 0x7_dead_beefn, shift: 0.1, scale: 1000.3 };
    for (const type of [FLOAT64, FLOAT32, FLOAT16, INT32]) {
      for (const [kind, bits] of [
        [UNIFORM, 53],
        [UNIFORM, 24],
        [UNIFORM, 11],
        [NORMAL, 53],
        [NORMAL, 32],
      ] as const) {
        for (const count of [1, 255, 257, 10_001]) {
          const [first, ...others] = await Promise.all(
            levels.map((level) => drawn(level, { count, kind, bits, type }, given)),
          );
          for (const one of others)
            expect(Buffer.compare(one, first ?? one), `${kind} ${bits} ${type}`).toBe(0);
          if (count > 1000)
            expect(new Set(new BigUint64Array(first?.buffer ?? [])).size).toBeGreaterThan(600);
        }
      }
    }
  });
});

describe('a built-in function', () => {
  it.each(levels)('runs with the instructions of %s, and opens no LAPACK', async (level) => {
    const fn = builtin('fill', { level });
    const [count, stride] = [70_000, 2];
    const out = cpu.allocate(4 * count * stride);
    const words = new BigUint64Array(4 + 8 + 8);
    words.set([out.address, 0xdeadbeefn, BITS32, RANK, BigInt(count)]);
    words[12] = BigInt(stride);
    expect(fn.paramBytes).toBe(words.byteLength);
    const stream = cpu.createStream();
    const geometry = { tasks: Math.ceil(count / 32768), chunk: 1, scratchBytes: 0 };
    fn.launch(geometry, stream, new Uint8Array(words.buffer), [out]);
    await stream.whenDone();
    const filled = new Uint32Array(out.arrayBuffer, out.byteOffset, count * stride);
    expect(filled.every((value, i) => value === (i % stride === 0 ? 0xdeadbeef : 0))).toBe(true);
    expect(rawBinding().lapackInfo()).toBeUndefined();
  });

  it('is refused for a name that there is not, other parameters, and instructions that the processor lacks', () => {
    expect(() => builtin('fill_everything')).toThrow(code('SYMBOL_NOT_FOUND'));
    const stream = cpu.createStream();
    expect(() => {
      builtin('fill').launch({ tasks: 1, chunk: 1, scratchBytes: 0 }, stream, new Uint8Array(8));
    }).toThrow(code('INVALID_ARGUMENT'));
    const foreign = own < 0 ? 'x86-64-v4' : LEVELS[own + 1];
    if (foreign !== undefined) {
      expect(() => builtin('fill', { level: foreign })).toThrow(code('UNSUPPORTED_CPU'));
    }
    expect(() => builtin('fill', { levels: 'x86-64-v2' } as never)).toThrow(
      code('INVALID_ARGUMENT'),
    );
  });
});
