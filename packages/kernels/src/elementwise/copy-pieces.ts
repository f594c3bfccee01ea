import { lines } from '../emit/text.js';
import type { CudaKernel } from '../emitted-kernel.js';
import { int64, pointer, type KernelParam } from '../kernel-param.js';
import { matrixKernel } from '../matrix/matrix-kernel.js';

/** Pieces that one launch copies at most. */
export const MOST_PIECES = 32;

const THREADS = 256;
/** Bytes that a thread copies of the largest piece, and the blocks of a piece at most: the rest is looped over. */
const BYTES_OF_THREAD = 64;
const MOST_BLOCKS = 1024;

const each = Array.from({ length: MOST_PIECES }, (_, i) => `${i}`);

const params: readonly KernelParam[] = [
  pointer('counter', 'int32', 'read'),
  ...each.map((i) => pointer(`from${i}`, 'byte', 'read')),
  ...each.map((i) => pointer(`to${i}`, 'byte', 'write')),
  ...['pieces', ...each.flatMap((i) => [`bytes${i}`, `fromStep${i}`, `toStep${i}`])].map(int64),
];

/** One piece by elements of a type that divides its addresses and its length. */
const copyBy = (type: string): string =>
  `for (i64 n = first; n < bytes / (i64)sizeof(${type}); n += step) ((${type}*)to)[n] = ((const ${type}*)from)[n];`;

/**
 * Copies several pieces of memory in one launch. With a counter, which may be address 0, piece i is `z * fromStep[i]` bytes behind its first
 * place and goes `z * toStep[i]` bytes behind its target, where z is what the counter holds when the kernel runs.
 *
 * Scalars: pieces, `bytes0`, `fromStep0`, `toStep0` and so on; a piece that is left out has 0 bytes.
 */
export function emitCopyPieces(): CudaKernel {
  return matrixKernel({
    name: 'copy pieces',
    entry: 'copy_pieces',
    params,
    elements: Object.fromEntries(
      each.flatMap((i) => [`from${i}`, `to${i}`].map((name) => [name, 'char'])),
    ),
    threads: THREADS,
    body: lines(
      'const char* from = nullptr;',
      'char* to = nullptr;',
      'i64 bytes = 0, fromStep = 0, toStep = 0;',
      'switch (blockIdx.y) {',
      ...each.map(
        (i) =>
          `  case ${i}: from = from${i}, to = to${i}, bytes = bytes${i}, fromStep = fromStep${i}, toStep = toStep${i}; break;`,
      ),
      '}',
      'if (counter != nullptr) {',
      '  const i64 z = counter[0];',
      '  from += z * fromStep, to += z * toStep;',
      '}',
      `const i64 first = (i64)blockIdx.x * ${THREADS} + threadIdx.x, step = (i64)gridDim.x * ${THREADS};`,
      'const i64 all = (i64)from | (i64)to | bytes;',
      `if (all % 16 == 0) ${copyBy('int4')}`,
      `else if (all % 4 == 0) ${copyBy('int')}`,
      `else ${copyBy('char')}`,
    ),
    grid: (scalars) => {
      const longest = Math.max(0, ...each.map((i) => scalars[`bytes${i}`] ?? 0));
      const blocks = Math.ceil(longest / (THREADS * BYTES_OF_THREAD));
      return [Math.min(blocks, MOST_BLOCKS), longest === 0 ? 0 : (scalars['pieces'] ?? 0), 1];
    },
  });
}

/** A piece as {@link emitCopyPieces} takes it. */
export interface PieceSize {
  readonly bytes: number;
  /** Default 0, as `toStep`. */
  readonly fromStep?: number;
  readonly toStep?: number;
}

/** The scalars of a launch. */
export function pieceScalars(sizes: readonly PieceSize[]): Readonly<Record<string, number>> {
  const scalars: Record<string, number> = { pieces: sizes.length };
  each.forEach((i, at) => {
    const { bytes = 0, fromStep = 0, toStep = 0 } = sizes[at] ?? {};
    scalars[`bytes${i}`] = bytes;
    scalars[`fromStep${i}`] = fromStep;
    scalars[`toStep${i}`] = toStep;
  });
  return scalars;
}
