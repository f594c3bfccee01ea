import { CUDA_SIDE, type CudaWidePlan } from '../wide-plan-types.js';

type Columns = Pick<CudaWidePlan, 'formula' | 'block'>;

/** Threads beside each other that have the columns of a row: some of the last have none. */
export const columnThreads = ({ formula, block }: Columns): number =>
  Math.ceil(formula.columns / (block * CUDA_SIDE)) * CUDA_SIDE;

/** The declaration of the first column of thread `columnThread`; its columns lie 16 apart, so that neighbours read side by side. */
export const columnsOfThread = ({ block }: Columns): string =>
  `const int firstColumn = columnThread / ${CUDA_SIDE} * ${CUDA_SIDE * block} + columnThread % ${CUDA_SIDE};`;

/** Column `n` of a thread. */
export const columnOfThread = (n: number | string): string =>
  `firstColumn + ${typeof n === 'number' ? String(n * CUDA_SIDE) : `${n} * ${CUDA_SIDE}`}`;
