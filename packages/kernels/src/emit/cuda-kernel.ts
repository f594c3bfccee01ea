import { own } from '@mercer/options';
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

const OPTIONAL = ['before', 'resident', 'list', 'cost'] as const;

/** The kernel: its launch bounds are those of its launches. */
export function cudaKernel(parts: CudaKernelParts): CudaKernel {
  const { name, entry, params, threads, body } = parts;
  const { before = '', resident, list = {}, cost } = own(parts, ...OPTIONAL);
  const bounds = resident === undefined ? String(threads) : `${threads}, ${resident}`;
  const signature = typeof list === 'string' ? list : parameterList(params, list);
  return {
    dialect: 'cuda',
    name,
    entry,
    params,
    ...(cost && { cost }),
    source: `${before}extern "C" __global__ void __launch_bounds__(${bounds})
${entry}(${signature}) {
${body}
}
`,
    options: [],
    geometry: blockGeometry(parts),
  };
}

/** The geometry of such launches. */
export const blockGeometry =
  (of: CudaBlocks) =>
  (scalars: Scalars): CudaGeometry => {
    const blocks = of.grid(scalars);
    const { sharedMemBytes = 0 } = own(of, 'sharedMemBytes');
    return {
      grid: typeof blocks === 'number' ? [blocks, 1, 1] : blocks,
      block: [of.threads, 1, 1],
      sharedMemBytes: typeof sharedMemBytes === 'number' ? sharedMemBytes : sharedMemBytes(scalars),
    };
  };
