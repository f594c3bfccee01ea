import { describe, expect, test } from 'vitest';
import type { DType } from '../dtype.js';
import { runCudaKernel, type Memory } from '../testing/cuda-emulator.test-support.js';
import { planCopy, planFill, type CopyProblem } from './plan-copy.js';
import { emitCopy } from './emit.js';

/** Runs the copy of a problem; gives its mode. */
function copy(problem: CopyProblem, from: Memory, to: Memory): string {
  const { plan, scalars, srcOffset, dstOffset } = planCopy(problem);
  runCudaKernel(emitCopy(plan, 'cuda'), {
    scalars,
    pointers: [from.subarray(srcOffset), to.subarray(dstOffset)],
  });
  return plan.mode;
}

/** Every index of a shape, last dimension fastest. */
function indicesOf(shape: readonly number[]): number[][] {
  return shape.reduce<number[][]>(
    (all, extent) => all.flatMap((i) => Array.from({ length: extent }, (_, x) => [...i, x])),
    [[]],
  );
}

const place = (index: readonly number[], strides: readonly number[]): number =>
  index.reduce((sum, i, axis) => sum + i * (strides[axis] as number), 0);

describe('copies', () => {
  test.each([
    ['linear', [1000], [1], [1]],
    ['strided', [5, 6, 7], [1, 5, 30], [84, 14, 2]],
    ['strided', [300], [2], [3]],
    ['tiled', [40, 67], [1, 40], [70, 1]],
    ['tiled', [3, 33, 35], [2000, 1, 50], [1200, 36, 1]],
  ])('%s of shape %j', (mode, shape, srcStrides, dstStrides) => {
    const room = (strides: readonly number[]): number =>
      place(
        shape.map((n) => n - 1),
        strides,
      ) + 1;
    const src = new Float32Array(room(srcStrides)).map((_, i) => i + 1);
    const dst = new Float32Array(room(dstStrides));
    const wanted = new Float32Array(dst.length);
    for (const i of indicesOf(shape)) wanted[place(i, dstStrides)] = src[place(i, srcStrides)]!;
    const problem = { from: 'float32', to: 'float32', shape, srcStrides, dstStrides } as const;
    expect(copy(problem, src, dst)).toBe(mode);
    expect(dst).toEqual(wanted);
  });

  test('of bytes at any address, in packs and one by one', () => {
    const problem = {
      from: 'uint8',
      to: 'uint8',
      shape: [4999],
      srcStrides: [1],
      dstStrides: [1],
    } as const;
    for (const [from, to] of [
      [0, 0],
      [16, 32],
      [3, 3],
      [0, 5],
    ] as const) {
      const src = new Uint8Array(5100).map((_, i) => i * 7).subarray(from, from + 4999);
      const dst = new Uint8Array(5100).subarray(to, to + 4999);
      copy(problem, src, dst);
      expect(dst).toEqual(Uint8Array.from(src));
    }
  });
});

describe('casts', () => {
  const cast = (from: DType, to: DType, src: Memory, dst: Memory): (number | bigint)[] => {
    copy({ from, to, shape: [src.length], srcStrides: [1], dstStrides: [1] }, src, dst);
    return [...dst];
  };

  test('round to float16 and bfloat16 to nearest even, and come back', () => {
    const values = [0, -0, 1, -2, 65504, 65536, 2 ** -24, 2 ** -25, 1 + 2 ** -11, Infinity, 1 / 3];
    const half = [0, 0x8000, 0x3c00, 0xc000, 0x7bff, 0x7c00, 1, 0, 0x3c00, 0x7c00, 0x3555];
    const src = Float32Array.from(values);
    const bits = new Uint16Array(src.length);
    expect(cast('float32', 'float16', src, bits)).toEqual(half);
    const back = cast('float16', 'float64', bits, new Float64Array(src.length));
    expect(back).toEqual([0, -0, 1, -2, 65504, Infinity, 2 ** -24, 0, 1, Infinity, 0.333251953125]);
    const brain = [
      0, 0x8000, 0x3f80, 0xc000, 0x4780, 0x4780, 0x3380, 0x3300, 0x3f80, 0x7f80, 0x3eab,
    ];
    expect(cast('float32', 'bfloat16', src, bits)).toEqual(brain);
  });

  test('between whole numbers, floating point and bool', () => {
    const whole = Int32Array.from([-3, 0, 7, 2 ** 30 + 1]);
    expect(cast('int32', 'float32', whole, new Float32Array(4))).toEqual([-3, 0, 7, 2 ** 30]);
    expect(cast('int32', 'bool', whole, new Uint8Array(4))).toEqual([1, 0, 1, 1]);
    const real = Float64Array.from([-3.7, 0.5, 7.9, -(2 ** 31)]);
    expect(cast('float64', 'int32', real, new Int32Array(4))).toEqual([-3, 0, 7, -(2 ** 31)]);
    expect(cast('float64', 'int64', real, new BigInt64Array(4))).toEqual([
      -3n,
      0n,
      7n,
      -(2n ** 31n),
    ]);
  });
});

describe('fills', () => {
  test.each([
    ['uint8', [1037], [1], new Uint8Array(1037)],
    ['float64', [6, 7], [9, 1], new Float64Array(52)],
    ['int64', [100], [1], new BigInt64Array(100)],
  ] as const)('%s of shape %j', (dtype, shape, strides, dst) => {
    const { plan, scalars } = planFill({ dtype, shape, strides });
    const bits = new Uint32Array(new Float64Array([-1.5]).buffer);
    const [lo = 0, hi = 0] = dtype === 'float64' ? bits : [0x12345678, 1];
    runCudaKernel(emitCopy(plan, 'cuda'), { scalars: { ...scalars, lo, hi }, pointers: [dst] });
    const value = { uint8: 0x78, float64: -1.5, int64: 0x112345678n }[dtype];
    const filled = new Set(indicesOf(shape).map((i) => place(i, strides)));
    dst.forEach((x: number | bigint, i: number) => {
      expect(x).toBe(filled.has(i) ? value : 0);
    });
  });
});
