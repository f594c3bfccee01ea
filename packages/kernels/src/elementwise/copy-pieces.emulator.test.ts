import { expect, test } from 'vitest';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { emitAdvance } from '../matrix/add.js';
import { emitCopyPieces, MOST_PIECES, pieceScalars, type PieceSize } from './copy-pieces.js';

const kernel = emitCopyPieces();

const numbers = (bytes: number, seed: number): Uint8Array =>
  Uint8Array.from({ length: bytes }, (_, i) => (7 * i + 31 * seed) % 251);

const padded = (pieces: readonly Uint8Array[]): (Uint8Array | null)[] =>
  Array.from({ length: MOST_PIECES }, (_, n) => pieces[n] ?? null);

function run(
  counter: Int32Array | null,
  from: readonly Uint8Array[],
  to: readonly Uint8Array[],
  sizes: readonly PieceSize[],
): void {
  const pointers = [counter, ...padded(from), ...padded(to)];
  runCudaKernel(kernel, { scalars: pieceScalars(sizes), pointers });
}

test('pieces of every length and alignment are copied, and nothing behind them', () => {
  const sizes = [32, 0, 4, 1, 3, 40_000, 40_004, 70_001, 16];
  const from = sizes.map((bytes, n) => numbers(bytes + 8, n).subarray(n === 8 ? 1 : 0));
  const to = sizes.map((bytes) => new Uint8Array(bytes + 8).fill(255));
  run(
    null,
    from,
    to,
    sizes.map((bytes) => ({ bytes })),
  );
  for (const [n, bytes] of sizes.entries()) {
    expect(to[n]!.subarray(0, bytes)).toEqual(from[n]!.subarray(0, bytes));
    expect([...to[n]!.subarray(bytes)]).toEqual(new Array(8).fill(255));
  }
});

test('as many pieces as a launch takes, each to its own place', () => {
  const from = Array.from({ length: MOST_PIECES }, (_, n) => numbers(16 + n, n));
  const to = from.map(({ length }) => new Uint8Array(length));
  run(
    null,
    from,
    to,
    from.map(({ length }) => ({ bytes: length })),
  );
  expect(to).toEqual(from);
});

test('piece after piece goes into a slot and back, as the counter says, and nothing else', () => {
  const lengths = [16_004, 4, 24, 1200];
  const count = 7;
  const arrays = lengths.map((bytes, n) => numbers(bytes * count, n));
  const wanted = arrays.map((array) => array.slice());
  const slots = lengths.map((bytes) => new Uint8Array(bytes + 4).fill(255));
  const counter = Int32Array.of(1);
  for (const z of [1, 4]) {
    expect(counter[0]).toBe(z);
    run(
      counter,
      arrays,
      slots,
      lengths.map((bytes) => ({ bytes, fromStep: bytes })),
    );
    for (const [n, bytes] of lengths.entries()) {
      const piece = wanted[n]!.subarray(z * bytes, (z + 1) * bytes);
      const slot = slots[n]!;
      expect(slot.subarray(0, bytes)).toEqual(piece);
      expect([...slot.subarray(bytes)]).toEqual([255, 255, 255, 255]);
      for (let i = 0; i < bytes; i++) slot[i] = piece[i] = piece[i]! ^ 0x55;
    }
    run(
      counter,
      slots,
      arrays,
      lengths.map((bytes) => ({ bytes, toStep: bytes })),
    );
    expect(arrays).toEqual(wanted);
    runCudaKernel(emitAdvance(), { scalars: { step: 3 }, pointers: [counter] });
  }
});
