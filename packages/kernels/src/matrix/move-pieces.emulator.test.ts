import { expect, test } from 'vitest';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { emitAdvance, emitMovePieces, MOST_PIECES } from './move-pieces.js';

/** Words of a piece of each array; the others are left out. */
const WORDS = [4_001, 1, 6, 300];
const COUNT = 7;

test('piece after piece goes into the slot and back, as the counter says, and nothing else', () => {
  const arrays = WORDS.map((words, n) =>
    Int32Array.from({ length: words * COUNT }, (_, i) => (n + 1) * 1_000_000 + i),
  );
  const wanted = arrays.map((array) => array.slice());
  const offsets = WORDS.map((_, n) => WORDS.slice(0, n).reduce((sum, words) => sum + words + 3, 2));
  const room = Math.max(...offsets) + 300;
  const slot = new Int32Array(room + 5).fill(-1);
  const counter = Int32Array.of(1);
  const scalars = (back: number): Record<string, number> => {
    const all: Record<string, number> = { back };
    for (let n = 0; n < MOST_PIECES; n++) {
      all[`words${n}`] = WORDS[n] ?? 0;
      all[`offset${n}`] = offsets[n] ?? 0;
    }
    return all;
  };
  const pointers = [
    ...[counter, slot],
    ...Array.from({ length: MOST_PIECES }, (_, n) => arrays[n] ?? null),
  ];
  for (const z of [1, 4]) {
    expect(counter[0]).toBe(z);
    runCudaKernel(emitMovePieces(), { scalars: scalars(0), pointers });
    WORDS.forEach((words, n) => {
      const [at, piece] = [offsets[n]!, wanted[n]!.subarray(z * words, (z + 1) * words)];
      expect(slot.subarray(at, at + words)).toEqual(piece);
      expect([...slot.subarray(at + words, at + words + 3)].slice(0, 1)).toEqual([-1]);
      piece.forEach((value, i) => {
        slot[at + i] = piece[i] = value ^ 0x5555;
      });
    });
    runCudaKernel(emitMovePieces(), { scalars: scalars(1), pointers });
    expect(arrays).toEqual(wanted);
    runCudaKernel(emitAdvance(), { scalars: { step: 3 }, pointers: [counter] });
  }
});
