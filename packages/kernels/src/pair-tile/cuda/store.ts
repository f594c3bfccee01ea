import { dtypeBytes } from '../../dtype.js';
import { cudaType } from '../../emit/literals.js';
import { indent, lines } from '../../emit/text.js';
import { longestVector, vectorMembers } from './neighbours.js';
import {
  blockThreads,
  vectorWidth,
  placeInTile,
  type TileConfig,
  type TileOperand,
} from './tile-operand.js';

/** A finished tile, in the registers of its threads as `sum`. */
export interface FinishedTile {
  readonly rows: TileOperand;
  readonly columns: TileOperand;
  readonly tile: TileConfig;
}

/** Where the tile goes, and how. */
export interface TileStore {
  readonly aligned: boolean;
  /** Only the elements with row >= column are written, each to both of its places. */
  readonly mirrored: boolean;
  /** How the sums of two slices of k become one. */
  readonly combine: (x: string, y: string) => string;
  /** The epilogue of a sum, as text; without it raw sums are written. */
  readonly finish: ((value: string) => string) | undefined;
  /** Shared memory of the kernel. */
  readonly sharedMemBytes: number;
}

/** The way of a finished tile through shared memory, some rows at a time. */
interface StorePhases {
  readonly phases: number;
  readonly rows: number;
  readonly stride: number;
}

/** Padding that puts the four rows of a warp's store into different banks. */
const PADDING = 8;
/** Lines of the staged tile and columns that one warp mirrors at a time: 8 x 4 elements. */
const LINES = 8;
const COLUMNS = 4;

/** The phases that fit the shared memory of a kernel. */
function storePhases({ rows, columns, tile }: FinishedTile, sharedMemBytes: number): StorePhases {
  const stride = tile.tileColumns + PADDING;
  const least = vectorWidth(rows);
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
export function storeBytes(finished: FinishedTile): number {
  const { rows: count, stride } = storePhases(finished, 0);
  return count * stride * dtypeBytes(finished.columns.dtype);
}

/**
 * Writes the tile: sums go to shared memory and come back row by row, so that the epilogue is one short loop and the stores are of vectors and
 * in order whatever the thread's tile looks like. Expects `sum`, `target` (the tile's first output), `targetStride`, `threadRow`,
 * `threadColumn`, `rowsHere` and `columnsHere`.
 *
 * A mirrored tile's finished values go back to shared memory, so that both places get the same bits, and are read along the rows of
 * tiles for the mirrored half, so that those writes are whole sectors too. It expects besides `lead` (the tile's first row minus its
 * first column) and `mirror` (the mirrored tile's first output).
 */
export function storeTile(finished: FinishedTile, store: TileStore): string {
  const { rows, columns, tile } = finished;
  const { mirrored, finish } = store;
  const type = cudaType(rows.dtype);
  const threads = blockThreads(tile);
  const phase = storePhases(finished, store.sharedMemBytes);
  const vector = store.aligned ? longestVector(rows.dtype) : 1;
  const perLine = columns.extent / vector;
  const end = mirrored ? 'end' : 'columnsHere';
  const vectorType = `${type}${vector}`;
  const written = (from: string): string =>
    `${mirrored ? `${from} = ` : ''}${finish === undefined ? from : finish(from)}`;
  const write =
    vector === 1
      ? `if (column < ${end}) *to = ${written('*from')};`
      : lines(
          `if (column + ${vector} <= ${end}) {`,
          `        ${vectorType} v = *reinterpret_cast<const ${vectorType}*>(from);`,
          finish &&
            `        ${vectorMembers(vector)
              .map((n) => `v.${n} = ${finish(`v.${n}`)};`)
              .join(' ')}`,
          mirrored && `        *reinterpret_cast<${vectorType}*>(from) = v;`,
          `        *reinterpret_cast<${vectorType}*>(to) = v;`,
          '      } else {',
          '        #pragma unroll 1',
          `        for (int c = 0; column + c < ${end}; ++c) to[c] = ${written('from[c]')};`,
          '      }',
        );
  const elements = mirrored ? `${phase.rows} * ${perLine}` : String(phase.rows * perLine);
  return lines(
    `${type}* const staged = reinterpret_cast<${type}*>(memory);`,
    '#pragma unroll',
    `for (int phase = 0; phase < ${phase.phases}; ++phase) {`,
    '  __syncthreads();',
    indent(stagePhase(finished, phase, store.combine)),
    '  __syncthreads();',
    '  #pragma unroll 1',
    `  for (int e = thread; e < ${elements}; e += ${threads}) {`,
    `    const int line = e / ${perLine}, row = phase * ${phase.rows} + line, column = e % ${perLine} * ${vector};`,
    mirrored && '    const int end = min(columnsHere, lead + row + 1);',
    '    if (row < rowsHere) {',
    `      ${mirrored ? '' : 'const '}${type}* const from = staged + line * ${phase.stride} + column;`,
    `      ${type}* const to = target + row * targetStride + column;`,
    `      ${write}`,
    '    }',
    '  }',
    mirrored && mirrorText(phase, columns.extent, threads),
    '}',
  );
}

/** The mirrored half: a warp takes some of its rows at a time, some neighbouring elements of each. */
function mirrorText(phase: StorePhases, extent: number, threads: number): string {
  const blocksDown = phase.rows / LINES;
  return `  __syncthreads();
  // the mirrored half: a warp takes ${COLUMNS} of its rows at a time, ${LINES} neighbouring elements of each
  #pragma unroll 1
  for (int e = thread; e < ${phase.rows * extent}; e += ${threads}) {
    const int line = e / ${LINES * COLUMNS} % ${blocksDown} * ${LINES} + e % ${LINES}, row = phase * ${phase.rows} + line;
    const int column = e / ${LINES * COLUMNS} / ${blocksDown} * ${COLUMNS} + e / ${LINES} % ${COLUMNS};
    if (row < rowsHere && column < min(columnsHere, lead + row))
      mirror[column * targetStride + row] = staged[line * ${phase.stride} + column];
  }`;
}

/** The sums of one phase on their way to `staged` in shared memory, as text. */
function stagePhase(
  { rows, columns, tile }: FinishedTile,
  phase: StorePhases,
  combine: TileStore['combine'],
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
