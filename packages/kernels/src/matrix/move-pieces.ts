import { lines } from '../emit/indent.js';
import type { CudaKernel } from '../emitted-kernel.js';
import type { KernelParam } from '../kernel-param.js';
import { int64, matrixKernel, pointer } from './matrix-kernel.js';

/** Pieces that one launch moves at most. */
export const MOST_PIECES = 8;

const THREADS = 256;
/** Bytes that a thread moves, so that a launch has a few hundred blocks at most for matrices of some thousand rows. */
const BYTES_OF_THREAD = 256;

const each = Array.from({ length: MOST_PIECES }, (_, i) => String(i));

/**
 * Copies piece z of each of several arrays to its place in a slot, or back; z is what `counter` holds when the kernel runs. Piece z
 * of array i is `words[i]` words of 4 bytes from `z * words[i]` on, its place in the slot is at word `offset[i]`.
 *
 * Scalars: back (0 into the slot, 1 out of it), `words0`, `offset0` and so on; an array that is left out has 0 words.
 */
export function emitMovePieces(): CudaKernel {
  const move = (i: string): string =>
    lines(
      `if (words${i} > 0) {`,
      `  int* const piece = array${i} + z * words${i};`,
      `  int* const place = slot + offset${i};`,
      `  for (i64 n = first; n < words${i}; n += step) {`,
      '    if (back != 0) piece[n] = place[n];',
      '    else place[n] = piece[n];',
      '  }',
      '}',
    );
  return matrixKernel({
    name: 'move pieces',
    entry: 'move_pieces',
    threads: THREADS,
    geometry: (scalars) => {
      const words = each.reduce((sum, i) => sum + (scalars[`words${i}`] ?? 0), 0);
      const blocks = Math.max(1, Math.ceil((4 * words) / (THREADS * BYTES_OF_THREAD)));
      return { grid: [blocks, 1, 1], block: [THREADS, 1, 1], sharedMemBytes: 0 };
    },
    params: [
      pointer('counter', 'int32', 'read'),
      pointer('slot', 'int32', 'readwrite'),
      ...each.map((i) => pointer(`array${i}`, 'int32', 'readwrite')),
      int64('back'),
      ...each.flatMap((i): KernelParam[] => [int64(`words${i}`), int64(`offset${i}`)]),
    ],
    body: lines(
      'const i64 z = counter[0];',
      `const i64 first = (i64)blockIdx.x * ${THREADS} + threadIdx.x, step = (i64)gridDim.x * ${THREADS};`,
      ...each.map(move),
    ),
  });
}

/** Adds `step` to the number in `counter`. */
export function emitAdvance(): CudaKernel {
  return matrixKernel({
    name: 'advance counter',
    entry: 'advance_counter',
    threads: 1,
    geometry: () => ({ grid: [1, 1, 1], block: [1, 1, 1], sharedMemBytes: 0 }),
    params: [pointer('counter', 'int32', 'readwrite'), int64('step')],
    body: 'counter[0] += (int)step;',
  });
}
