import { describe, expect, it } from 'vitest';
import { decodeLz4Frame } from './lz4-frame.js';

/** A frame with blocks of at most 64 KiB: each compressed, or as it is. */
function frameOf(
  ...blocks: readonly { bytes: readonly number[]; isPlain?: boolean }[]
): Uint8Array {
  const u32 = (value: number): number[] => [0, 8, 16, 24].map((shift) => (value >>> shift) & 255);
  return Uint8Array.from([
    ...u32(0x184d2204),
    ...[0x60, 0x40, 0], // version 1, blocks apart, and a checksum that is passed over
    ...blocks.flatMap(({ bytes, isPlain = false }) => [
      ...u32((bytes.length | (isPlain ? 0x80000000 : 0)) >>> 0),
      ...bytes,
    ]),
    ...u32(0),
  ]);
}

const text = (frame: Uint8Array): string => Buffer.from(decodeLz4Frame(frame)).toString();
const codes = (word: string): number[] => [...Buffer.from(word)];

describe('a frame of LZ4', () => {
  it('has literals, repetitions that may reach into themselves and back to other blocks, and plain blocks', () => {
    const plain = { bytes: codes('abc'), isPlain: true };
    // 1 literal, then 4 + 3 bytes from one back; then 2 literals
    const self = { bytes: [0x13, ...codes('x'), 1, 0, 0x20, ...codes('yz')] };
    // no literal, 4 bytes from 13 back, then 1 literal
    const back = { bytes: [0x00, 13, 0, 0x10, ...codes('!')] };
    expect(text(frameOf(plain, self, back))).toBe('abcxxxxxxxxyzabcx!');
    expect(text(frameOf())).toBe('');
  });

  it('has lengths of many bytes', () => {
    const word = 'q'.repeat(15 + 255 + 7);
    expect(text(frameOf({ bytes: [0xf0, 255, 7, ...codes(word)] }))).toBe(word);
    const long = frameOf({ bytes: [0x1f, ...codes('r'), 1, 0, 255, 1, 0x00] });
    expect(text(long)).toBe('r'.repeat(1 + 4 + 15 + 256));
  });

  it('is refused where it is cut off or damaged', () => {
    const whole = frameOf({ bytes: [0x13, ...codes('x'), 1, 0, 0x20, ...codes('yz')] });
    for (let length = 0; length < whole.length; length++) {
      expect(() => decodeLz4Frame(whole.subarray(0, length)), String(length)).toThrow(/damaged/);
    }
    const far = frameOf({ bytes: [0x13, ...codes('x'), 2, 0, 0x00] });
    expect(() => decodeLz4Frame(far)).toThrow(/damaged/);
    const zero = frameOf({ bytes: [0x13, ...codes('x'), 0, 0, 0x00] });
    expect(() => decodeLz4Frame(zero)).toThrow(/damaged/);
    const endless = frameOf({
      bytes: [0x1f, ...codes('x'), 1, 0, ...Array<number>(600).fill(255), 0, 0],
    });
    expect(() => decodeLz4Frame(endless)).toThrow(/damaged/);
  });
});
