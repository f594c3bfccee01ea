import type { CudaGeometry, CudaKernel, Scalars } from '../emitted-kernel.js';
import { parameterList, type ListSpelling } from './parameter-text.js';

/** How a kernel whose blocks have their threads in a row is launched. */
export interface CudaBlocks {
  /** Threads of a block. */
  readonly threads: number;
  /** Blocks in a row, or along each axis. */
  readonly grid: (scalars: Scalars) => number | CudaGeometry['grid'];
  /** Dynamic shared memory of a block. Default: none. */
  readonly sharedMemBytes?: number | ((scalars: Scalars) => number);
}

/** What a kernel in CUDA C++ is made of. */
export interface CudaKernelParts
  extends CudaBlocks, Pick<CudaKernel, 'name' | 'entry' | 'params' | 'cost'> {
  /** Text in front of the kernel, its last line break included. Default: none. */
  readonly before?: string;
  /** Blocks of a multiprocessor that registers are to leave room for. */
  readonly resident?: number;
  /** How the parameters are spelled, or the text of their list. */
  readonly list?: ListSpelling | string;
  /** The statements, indented, without the last line break. */
  readonly body: string;
}

/** The kernel: its launch bounds are those of its launches. */
export function cudaKernel({
  threads,
  grid,
  sharedMemBytes = 0,
  before = '',
  resident,
  list = {},
  body,
  ...kernel
}: CudaKernelParts): CudaKernel {
  const bounds = resident === undefined ? String(threads) : `${threads}, ${resident}`;
  const signature = typeof list === 'string' ? list : parameterList(kernel.params, list);
  return {
    dialect: 'cuda',
    ...kernel,
    source: `${before}extern "C" __global__ void __launch_bounds__(${bounds})
${kernel.entry}(${signature}) {
${body}
}
`,
    options: [],
    geometry: blockGeometry({ threads, grid, sharedMemBytes }),
  };
}

/** The geometry of such launches. */
export const blockGeometry =
  ({ threads, grid, sharedMemBytes = 0 }: CudaBlocks) =>
  (scalars: Scalars): CudaGeometry => {
    const blocks = grid(scalars);
    return {
      grid: typeof blocks === 'number' ? [blocks, 1, 1] : blocks,
      block: [threads, 1, 1],
      sharedMemBytes: typeof sharedMemBytes === 'number' ? sharedMemBytes : sharedMemBytes(scalars),
    };
  };
