import { dtypeBytes, type PairwiseDType } from '../../dtype.js';
import type { Layout } from '../../pairwise/problem.js';
import { longestVector } from './neighbours.js';
import type { PipelineOperand } from './pipeline.js';

/** Sizes of a register-tiled kernel. Rows run over the first operand, columns over the second. */
export interface TileConfig {
  readonly tileRows: number;
  readonly tileColumns: number;
  /** Steps of k that one stage in shared memory holds. */
  readonly tileK: number;
  readonly threadRows: number;
  readonly threadColumns: number;
  /** Groups of threadRows x threadColumns threads that take turns with the steps of k. */
  readonly slicesK: number;
  /** Stages in shared memory, loaded ahead asynchronously. */
  readonly stages: number;
  /** Steps of k that the text repeats. */
  readonly chunkK: number;
  /** Blocks of one multiprocessor that the register budget is cut for. */
  readonly blocksPerMultiprocessor: number;
}

/** One operand of a register-tiled kernel. */
export interface TileOperand extends PipelineOperand {
  readonly name: 'rows' | 'columns';
  /** Rows (columns) of the operand in one tile, the threads along them, and each thread's share. */
  readonly extent: number;
  readonly threads: number;
  readonly perThread: number;
}

/** How the operands lie in memory. */
interface TileLayouts {
  readonly dtype: PairwiseDType;
  readonly tile: TileConfig;
  readonly rowsLayout: Layout;
  readonly columnsLayout: Layout;
  readonly alignedRows: boolean;
  readonly alignedColumns: boolean;
}

/**
 * Both operands under a tile configuration. Stages keep them by k, so that a thread reads neighbouring rows with one
 * instruction; an operand whose k is contiguous is turned. The padding of 16 bytes puts the elements that a warp copies of such an
 * operand, 8 steps of k of 4 rows, into different banks.
 */
export function tileOperands({
  dtype,
  tile,
  ...layouts
}: TileLayouts): readonly [rows: TileOperand, columns: TileOperand] {
  const operand = (
    name: TileOperand['name'],
    one: 'row' | 'column',
    turned: boolean,
    aligned: boolean,
  ): TileOperand => {
    const isRows = name === 'rows';
    const extent = isRows ? tile.tileRows : tile.tileColumns;
    const threads = isRows ? tile.threadRows : tile.threadColumns;
    const [outer, inner] = turned ? [extent, tile.tileK] : [tile.tileK, extent];
    return {
      name,
      dtype,
      aligned,
      outer,
      inner,
      turned,
      extent,
      threads,
      innerIsK: turned,
      stride: extent + longestVector(dtype),
      perThread: extent / threads,
      base: `${name} + place.layer * ${one}Batch`,
      lineStride: `${one}Stride`,
      count: `${one}Count`,
      start: `place.${one}Start`,
    };
  };
  return [
    operand('rows', 'row', layouts.rowsLayout === 'row', layouts.alignedRows),
    operand('columns', 'column', layouts.columnsLayout === 'row', layouts.alignedColumns),
  ];
}

/** Threads of a block. */
export function blockThreads(tile: TileConfig): number {
  return tile.threadRows * tile.threadColumns * tile.slicesK;
}

/** Bytes of shared memory that the stages of a tile take, whatever the layouts. */
export function stageBytes(tile: TileConfig, dtype: PairwiseDType): number {
  const lines = tile.tileRows + tile.tileColumns + 2 * longestVector(dtype);
  return tile.stages * tile.tileK * lines * dtypeBytes(dtype);
}

/** Neighbouring elements of the operand that one thread reads at once. */
export function vectorWidth(operand: TileOperand): number {
  const most = longestVector(operand.dtype);
  return operand.perThread % most === 0 ? most : 1;
}

/** Place in the tile of the thread's element `index`: text, from the thread's own coordinate. */
export function placeInTile(operand: TileOperand, coordinate: string, index: string): string {
  const g = vectorWidth(operand);
  if (g === 1) return `${coordinate} + ${index} * ${operand.threads}`;
  return `${coordinate} * ${g} + ${index} / ${g} * ${operand.threads * g} + ${index} % ${g}`;
}
