import { columnBlocks, type ColumnBlock } from '../column-blocks.js';
import { CUDA_SIDE, type CudaPairTilePlan } from '../plan-types.js';

/** Threads beside each other that have the columns of a row: some of the last have none. */
export const columnThreads = ({ columns }: Pick<CudaPairTilePlan, 'columns'>): number =>
  Math.ceil(columnBlocks({ columns }) / CUDA_SIDE) * CUDA_SIDE;

/** Threads that have columns of one reduction. */
export const threadsOf = (one: ColumnBlock): number => columnThreads({ columns: [one] });

const firstName = ({ columns, counter }: ColumnBlock): string =>
  columns === 1 ? 'columnThread' : counter.replace('column', 'firstColumn');

/** The declarations of the first columns of thread `columnThread`; its columns lie 16 apart, so that neighbours read side by side. */
export const columnsOfThread = ({ columns }: Pick<CudaPairTilePlan, 'columns'>): string =>
  columns
    .filter((one) => one.columns > 1)
    .map(
      (one) =>
        `const int ${firstName(one)} = columnThread / ${CUDA_SIDE} * ${CUDA_SIDE * one.block} + columnThread % ${CUDA_SIDE};`,
    )
    .join('\n');

/** Whether a thread has the first column of a reduction. */
export const hasFirstColumn = (one: ColumnBlock): string => `${firstName(one)} == 0`;

/** Column `n` of a thread. */
export const columnOfThread = (one: ColumnBlock, n: number | string): string =>
  `${firstName(one)} + ${typeof n === 'number' ? String(n * CUDA_SIDE) : `${n} * ${CUDA_SIDE}`}`;
