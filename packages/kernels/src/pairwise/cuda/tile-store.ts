import { dtypeBytes } from '../../dtype.js';
import { cudaType } from '../../emit/cuda-literal.js';
import { indent, lines } from '../../emit/indent.js';
import type { TileConfig } from '../plan-types.js';
import { blockThreads, group, placeInTile, wide, type TileOperand } from './tile-operand.js';

/** Where the tile goes: the output through the epilogue, or raw partial sums in the workspace. */
export interface TileStore {
  readonly aligned: boolean;
  readonly partial: boolean;
  /** How the sums of two slices of k become one. */
  readonly combine: (x: string, y: string) => string;
  /** The epilogue of a sum, as text. */
  readonly finish: (value: string) => string;
}

/** The way of a finished tile through shared memory, some rows at a time. */
export interface StorePhases {
  readonly phases: number;
  readonly rows: number;
  readonly stride: number;
}

/** Padding that puts the four rows of a warp's store into different banks. */
const PADDING = 8;

/** The phases that fit the shared memory of a kernel. */
export function storePhases(
  rows: TileOperand,
  columns: TileOperand,
  tile: TileConfig,
  sharedMemBytes: number,
): StorePhases {
  const stride = tile.tileColumns + PADDING;
  const least = group(rows);
  for (let perPhase = rows.perThread; perPhase > least; perPhase -= least) {
    const count = perPhase * rows.threads;
    const fits = count * stride * dtypeBytes(columns.dtype) <= sharedMemBytes;
    if (rows.perThread % perPhase === 0 && fits) {
      return { phases: rows.perThread / perPhase, rows: count, stride };
    }
  }
  return { phases: rows.perThread / least, rows: least * rows.threads, stride };
}

/** Bytes of shared memory that storing needs at least. */
export function storeBytes(rows: TileOperand, columns: TileOperand, tile: TileConfig): number {
  const { rows: count, stride } = storePhases(rows, columns, tile, 0);
  return count * stride * dtypeBytes(columns.dtype);
}

/**
 * Writes the tile: sums go to shared memory and come back row by row, so that the epilogue is one
 * short loop and the stores are wide and in order whatever the thread's tile looks like. Expects
 * `sum`, `target` (the tile's first output), `targetStride`, `threadRow`,
 * `threadColumn`, `rowsHere` and `columnsHere`.
 */
export function storeTile(
  rows: TileOperand,
  columns: TileOperand,
  tile: TileConfig,
  sharedMemBytes: number,
  store: TileStore,
): string {
  const type = cudaType(rows.dtype);
  const threads = blockThreads(tile);
  const plan = storePhases(rows, columns, tile, sharedMemBytes);
  const vector = store.aligned ? wide(rows.dtype) : 1;
  const perLine = columns.extent / vector;
  const value = (text: string): string => (store.partial ? text : store.finish(text));
  const names = ['x', 'y', 'z', 'w'].slice(0, vector);
  const write =
    vector === 1
      ? `if (column < columnsHere) *to = ${value('*from')};`
      : lines(
          `if (column + ${vector} <= columnsHere) {`,
          `        ${type}${vector} v = *reinterpret_cast<const ${type}${vector}*>(from);`,
          store.partial
            ? ''
            : `        ${names.map((n) => `v.${n} = ${store.finish(`v.${n}`)};`).join(' ')}`,
          `        *reinterpret_cast<${type}${vector}*>(to) = v;`,
          '      } else {',
          '        #pragma unroll 1',
          `        for (int c = 0; column + c < columnsHere; ++c) to[c] = ${value('from[c]')};`,
          '      }',
        );
  return `${type}* const staged = reinterpret_cast<${type}*>(memory);
#pragma unroll
for (int phase = 0; phase < ${plan.phases}; ++phase) {
  __syncthreads();
${indent(stagePhase(rows, columns, tile, plan, store.combine))}
  __syncthreads();
  #pragma unroll 1
  for (int e = thread; e < ${plan.rows * perLine}; e += ${threads}) {
    const int line = e / ${perLine}, row = phase * ${plan.rows} + line, column = e % ${perLine} * ${vector};
    if (row < rowsHere) {
      const ${type}* const from = staged + line * ${plan.stride} + column;
      ${type}* const to = target + row * targetStride + column;
      ${write}
    }
  }
}`;
}

/** The sums of one phase on their way to `staged` in shared memory, as text. */
export function stagePhase(
  rows: TileOperand,
  columns: TileOperand,
  tile: TileConfig,
  phase: StorePhases,
  combine: (x: string, y: string) => string,
): string {
  const type = cudaType(rows.dtype);
  const perPhase = rows.perThread / phase.phases;
  const put = (value: (place: string, own: string) => string): string => `#pragma unroll
for (int i = 0; i < ${perPhase}; ++i)
  #pragma unroll
  for (int j = 0; j < ${columns.perThread}; ++j) {
    ${type}& place = staged[(${placeInTile(rows, 'threadRow', 'i')}) * ${phase.stride} + ${placeInTile(columns, 'threadColumn', 'j')}];
    place = ${value('place', `sum[phase * ${perPhase} + i][j]`)};
  }`;
  // slices of k are combined one after the other, always in the same order
  return tile.slicesK === 1
    ? put((_, own) => own)
    : lines(
        'if (slice == 0) {',
        indent(put((_, own) => own)),
        '}',
        '#pragma unroll 1',
        `for (int turn = 1; turn < ${tile.slicesK}; ++turn) {`,
        '  __syncthreads();',
        '  if (slice == turn) {',
        indent(put(combine), 4),
        '  }',
        '}',
      );
}
