import { dtypeBytes } from '../../dtype.js';
import { stageElements, type StagedOperand } from '../../pair-tile/cuda/staged-operand.js';
import type { Layout, PairwiseDType } from '../problem.js';
import type { TileConfig } from '../plan-types.js';

/** One operand of the tiled kernel. */
export interface TileOperand extends StagedOperand {
  readonly name: 'rows' | 'columns';
  /** Rows (columns) of the operand in one tile, the threads along them, and each thread's share. */
  readonly extent: number;
  readonly threads: number;
  readonly perThread: number;
}

/** An operand as it lies in memory. */
interface OperandLayout {
  readonly name: 'rows' | 'columns';
  readonly layout: Layout;
  readonly aligned: boolean;
  readonly dtype: PairwiseDType;
}

/**
 * The operand of the given role under a tile configuration. Stages keep it by k, so that a thread reads neighbouring rows with one
 * instruction; an operand whose k is contiguous is turned. The padding of 16 bytes puts the elements that a warp copies of such an
 * operand, 8 steps of k of 4 rows, into different banks.
 */
export function tileOperand(role: OperandLayout, tile: TileConfig): TileOperand {
  const { name, layout, aligned, dtype } = role;
  const isRows = name === 'rows';
  const extent = isRows ? tile.tileRows : tile.tileColumns;
  const threads = isRows ? tile.threadRows : tile.threadColumns;
  const turned = layout === 'row';
  const [outer, inner] = turned ? [extent, tile.tileK] : [tile.tileK, extent];
  return {
    name,
    dtype,
    aligned,
    outer,
    inner,
    turned,
    innerIsK: turned,
    stride: extent + wide(dtype),
    extent,
    threads,
    perThread: extent / threads,
  };
}

/** Threads of a block. */
export function blockThreads(tile: TileConfig): number {
  return tile.threadRows * tile.threadColumns * tile.slicesK;
}

/** Elements in 16 bytes. */
export const wide = (dtype: PairwiseDType): number => 16 / dtypeBytes(dtype);

/** Bytes of shared memory that the stages of a tile take. */
export function stageBytes(tile: TileConfig, dtype: PairwiseDType): number {
  const role = { layout: 'column', aligned: true, dtype } as const;
  const operands = (['rows', 'columns'] as const).map((name) =>
    tileOperand({ ...role, name }, tile),
  );
  return tile.stages * stageElements(operands) * dtypeBytes(dtype);
}

/** Neighbouring elements of the operand that one thread reads at once. */
export function group(operand: TileOperand): number {
  const most = wide(operand.dtype);
  return operand.perThread % most === 0 ? most : 1;
}

/** Place in the tile of the thread's element `index`: text, from the thread's own coordinate. */
export function placeInTile(operand: TileOperand, coordinate: string, index: string): string {
  const g = group(operand);
  if (g === 1) return `${coordinate} + ${index} * ${operand.threads}`;
  const step = String(operand.threads * g);
  return `${coordinate} * ${g} + ${index} / ${g} * ${step} + ${index} % ${g}`;
}
