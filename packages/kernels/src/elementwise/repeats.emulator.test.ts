import { expect, test } from 'vitest';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { emitRepeats } from './repeats.js';

const kernel = emitRepeats();
const DECLARATION = /extern "C" __device__ void cudaGraphSetConditional\([^)]*\);/;

/** What the kernel says, and how many repetitions are left then: the driver's function is a store here. */
function decided(rests: readonly number[] | null, left: number): readonly [boolean, number] {
  const source = kernel.source.replace(
    DECLARATION,
    '#define cudaGraphSetConditional(decision, value) (void)(left[1] = (int)(value))',
  );
  expect(source).not.toBe(kernel.source);
  const numbers = Int32Array.of(left, -1);
  runCudaKernel(
    { ...kernel, source },
    {
      scalars: { decision: 0, count: rests?.length ?? 0 },
      pointers: [rests && Float64Array.from(rests), numbers],
    },
  );
  return [numbers[1] === 1, numbers[0]!];
}

test('work is repeated while repetitions are left', () => {
  expect(decided(null, 3)).toEqual([true, 2]);
  expect(decided(null, 2)).toEqual([true, 1]);
  expect(decided(null, 1)).toEqual([false, 0]);
});

test('and while one of the numbers is 0, whichever thread has it', () => {
  const many = Array.from({ length: 70 }, (_, i) => i + 1);
  expect(decided([0], 9)).toEqual([true, 8]);
  expect(decided([1], 9)).toEqual([false, 8]);
  expect(decided(many, 9)).toEqual([false, 8]);
  for (const place of [0, 31, 33, 69]) {
    expect(decided(many.with(place, 0), 9)).toEqual([true, 8]);
    expect(decided(many.with(place, 0), 1)).toEqual([false, 0]);
  }
});
