import { describe, expect, test } from 'vitest';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { emitTf32Split } from './emit-tf32-split.js';

/** Lines of numbers in a dense matrix, as parts of one. */
function split(x: Float32Array): { hi: Float32Array; lo: Float32Array } {
  const [hi, lo] = [new Float32Array(x.length), new Float32Array(x.length)];
  const scalars = { length: x.length, lines: 1, batch: 1, ldx: 0, batchStrideX: 0, ldo: x.length };
  runCudaKernel(emitTf32Split('parts'), { scalars, pointers: [x, hi, lo] });
  return { hi, lo };
}

const bitsOf = (x: number): number => new Uint32Array(Float32Array.of(x).buffer)[0] ?? 0;

/** Every exponent and sign with fractions that are even, ties, near ties and all ones. */
function everyExponent(): Float32Array {
  const fractions = [0, 1, 0xfff, 0x1000, 0x1001, 0x3000, 0x7fefff, 0x7ff000, 0x7fffff, 0x2a5a5a];
  const bits: number[] = [];
  for (let exponent = 0; exponent < 255; exponent++) {
    for (const fraction of fractions) {
      bits.push((exponent << 23) | fraction, ((exponent << 23) | fraction | 0x80000000) >>> 0);
    }
  }
  return new Float32Array(Uint32Array.from(bits).buffer);
}

describe('the parts of a number', () => {
  test('add up to it, the first one in TF32 and nearest to it, the second in 12 bits', () => {
    const x = everyExponent();
    const { hi, lo } = split(x);
    x.forEach((value, i) => {
      const [high = NaN, low = NaN] = [hi[i], lo[i]];
      expect([value, high + low === value, bitsOf(high) & 0x1fff]).toEqual([value, true, 0]);
      const exponent = Math.max(-126, Math.floor(Math.log2(Math.abs(value) || 2 ** -126)));
      const unit = 2 ** (exponent - 10);
      const cut = Math.abs(value) >= 2 ** 128 - 2 ** 116;
      expect(Math.abs(low)).toBeLessThanOrEqual(cut ? unit : unit / 2);
      // Cut to TF32, the second part loses less than a unit in the last place of the number.
      const kept = new Float32Array(Uint32Array.of(bitsOf(low) & 0xffffe000).buffer)[0] ?? NaN;
      if (Math.abs(value) >= 2 ** -100) {
        expect(Math.abs(low - kept)).toBeLessThanOrEqual((cut ? 4 : 1) * 2 ** (exponent - 23));
      }
    });
  });

  test('of what is not finite are 0, until they are put back', () => {
    const x = Float32Array.of(Infinity, 1.5, -Infinity, NaN, -0);
    const { hi, lo } = split(x);
    expect([...hi]).toEqual([0, 1.5, 0, 0, -0]);
    expect([...lo]).toEqual([0, 0, 0, 0, 0]);
    const scalars = { length: 5, lines: 1, batch: 1, ldx: 0, batchStrideX: 0, ldo: 5 };
    runCudaKernel(emitTf32Split('specials'), { scalars, pointers: [x, hi] });
    expect([...hi]).toEqual([Infinity, 1.5, -Infinity, NaN, -0]);
  });

  test('of strided batches lie line after line', () => {
    const [batch, lines, length, ldx, batchStrideX, ldo] = [3, 5, 300, 301, 1600, 304];
    const x = new Float32Array(batch * batchStrideX).map((_, i) => 1 + i / 4096);
    const [hi, lo] = [0, 0].map(() => new Float32Array(batch * lines * ldo).fill(7));
    const scalars = { batch, lines, length, ldx, batchStrideX, ldo };
    const at = { x, hi: hi as Float32Array, lo: lo as Float32Array };
    runCudaKernel(emitTf32Split('parts'), { scalars, pointers: [at.x, at.hi, at.lo] });
    for (let row = 0; row < batch * lines; row++) {
      const from = Math.floor(row / lines) * batchStrideX + (row % lines) * ldx;
      for (let i = 0; i < ldo; i++) {
        const sum = (at.hi[row * ldo + i] ?? NaN) + (at.lo[row * ldo + i] ?? NaN);
        if (sum !== (i < length ? x[from + i] : 14)) expect([row, i, sum]).toBe(x[from + i]);
      }
    }
    expect(at.hi.some((high, i) => high !== 7 && at.lo[i] !== 0)).toBe(true);
  });
});
