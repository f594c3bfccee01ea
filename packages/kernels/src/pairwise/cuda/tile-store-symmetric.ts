import { cudaType } from '../../emit/cuda-literal.js';
import { indent, lines } from '../../emit/indent.js';
import type { TileConfig } from '../plan-types.js';
import { blockThreads, wide, type TileOperand } from './tile-operand.js';
import { stagePhase, storePhases } from './tile-store.js';

/** Lines of the staged tile and columns that one warp mirrors at a time: 8 x 4 elements. */
const LINES = 8;
const COLUMNS = 4;

/** How a tile of a symmetric output is stored. */
export interface SymmetricStore {
  readonly aligned: boolean;
  readonly combine: (x: string, y: string) => string;
  readonly finish: (value: string) => string;
}

/**
 * Writes the elements of a tile with row >= column, each to both of its places. The finished values
 * go back to shared memory, so that both places get the same bits, and are read along the rows of
 * tiles for the mirrored half, so that those writes are whole sectors too. Expects what `storeTile`
 * does, and besides `lead` (the tile's first row minus its first column), `mirror` (the mirrored
 * tile's first output).
 */
export function storeSymmetricTile(
  rows: TileOperand,
  columns: TileOperand,
  tile: TileConfig,
  sharedMemBytes: number,
  store: SymmetricStore,
): string {
  const type = cudaType(rows.dtype);
  const threads = String(blockThreads(tile));
  const phase = storePhases(rows, columns, tile, sharedMemBytes);
  const vector = store.aligned ? wide(rows.dtype) : 1;
  const perLine = String(columns.extent / vector);
  const names = ['x', 'y', 'z', 'w'].slice(0, vector);
  const blocksDown = String(phase.rows / LINES);
  const write =
    vector === 1
      ? `if (column < end) *to = *from = ${store.finish('*from')};`
      : lines(
          `if (column + ${vector} <= end) {`,
          `        ${type}${vector} v = *reinterpret_cast<const ${type}${vector}*>(from);`,
          `        ${names.map((n) => `v.${n} = ${store.finish(`v.${n}`)};`).join(' ')}`,
          `        *reinterpret_cast<${type}${vector}*>(from) = v;`,
          `        *reinterpret_cast<${type}${vector}*>(to) = v;`,
          '      } else {',
          '        #pragma unroll 1',
          `        for (int c = 0; column + c < end; ++c) to[c] = from[c] = ${store.finish('from[c]')};`,
          '      }',
        );
  return `${type}* const staged = reinterpret_cast<${type}*>(memory);
#pragma unroll
for (int phase = 0; phase < ${phase.phases}; ++phase) {
  __syncthreads();
${indent(stagePhase(rows, columns, tile, phase, store.combine))}
  __syncthreads();
  #pragma unroll 1
  for (int e = thread; e < ${phase.rows} * ${perLine}; e += ${threads}) {
    const int line = e / ${perLine}, row = phase * ${phase.rows} + line, column = e % ${perLine} * ${vector};
    const int end = min(columnsHere, lead + row + 1);
    if (row < rowsHere) {
      ${type}* const from = staged + line * ${phase.stride} + column;
      ${type}* const to = target + row * targetStride + column;
      ${write}
    }
  }
  __syncthreads();
  // the mirrored half: a warp takes ${COLUMNS} of its rows at a time, ${LINES} neighbouring elements of each
  #pragma unroll 1
  for (int e = thread; e < ${phase.rows * columns.extent}; e += ${threads}) {
    const int line = e / ${LINES * COLUMNS} % ${blocksDown} * ${LINES} + e % ${LINES}, row = phase * ${phase.rows} + line;
    const int column = e / ${LINES * COLUMNS} / ${blocksDown} * ${COLUMNS} + e / ${LINES} % ${COLUMNS};
    if (row < rowsHere && column < min(columnsHere, lead + row))
      mirror[column * targetStride + row] = staged[line * ${phase.stride} + column];
  }
}`;
}
