import { describe, expect, it } from 'vitest';
import { rawBinding } from './addon.js';
import { builtin } from './builtin.js';
import type { CpuLevel } from './compiler/compile-options.js';
import { cpu } from './cpu.js';

const code = (expected: string): unknown => expect.objectContaining({ code: expected });
const LEVELS: readonly CpuLevel[] = ['x86-64-v2', 'x86-64-v3', 'x86-64-v4'];
const own = LEVELS.indexOf(cpu.info().level);
const levels: readonly CpuLevel[] = own < 0 ? ['arm64'] : LEVELS.slice(0, own + 1);

/** Numbers of an element type and of dimensions as native/kernels/kernels.h has them. */
const [BITS32, RANK] = [10n, 1n];

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
