import { describe, expect, it } from 'vitest';
import { typedArraysEqual } from './typed-arrays-equal.mjs';

describe('typed arrays in toEqual', () => {
  it('are equal number by number, as Vitest has it', () => {
    expect(typedArraysEqual(new Float32Array([1, NaN, 0]), new Float32Array([1, NaN, 0]))).toBe(
      true,
    );
    expect(typedArraysEqual(new Float64Array([0]), new Float64Array([-0]))).toBe(false);
    expect(typedArraysEqual(new Int32Array([1, 2]), new Int32Array([1, 2, 3]))).toBe(false);
    expect(typedArraysEqual(new BigInt64Array([1n, 2n]), new BigInt64Array([1n, 2n]))).toBe(true);
    expect(typedArraysEqual(new BigInt64Array([1n, 2n]), new BigInt64Array([1n, 3n]))).toBe(false);
    expect(typedArraysEqual(new Float64Array(0), new Float64Array(0))).toBe(true);
  });

  it('NaNs of other bits are equal', () => {
    const bits = new Uint32Array([0x7fc00000, 0xffc00001]);
    const [a, b] = [new Float32Array(bits.buffer, 0, 1), new Float32Array(bits.buffer, 4, 1)];
    expect(typedArraysEqual(a, b)).toBe(true);
    expect(a).toEqual(b);
  });

  it('parts of one buffer are compared alone', () => {
    const all = new Float64Array([1, 2, 3, 1, 2, 4]);
    expect(typedArraysEqual(all.subarray(0, 2), all.subarray(3, 5))).toBe(true);
    expect(typedArraysEqual(all.subarray(0, 3), all.subarray(3, 6))).toBe(false);
  });

  it('other values are left to Vitest', () => {
    expect(typedArraysEqual([1], [1])).toBeUndefined();
    expect(typedArraysEqual(new Float32Array([1]), new Float64Array([1]))).toBeUndefined();
    expect(typedArraysEqual(Buffer.from([1]), new Uint8Array([1]))).toBeUndefined();
    expect(new Float32Array([1])).not.toEqual(new Float64Array([1]));
    expect({ x: [new Float32Array([1, 2])] }).toEqual({ x: [new Float32Array([1, 2])] });
    expect({ x: [new Float32Array([1, 2])] }).not.toEqual({ x: [new Float32Array([1, 3])] });
  });

  it('many elements take no memory', () => {
    const [a, b] = [new Float32Array(3e6).fill(1), new Float32Array(3e6).fill(1)];
    const before = process.memoryUsage().heapUsed;
    expect(a).toEqual(b);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(50e6);
  });
});
