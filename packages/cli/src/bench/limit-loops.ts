import type { CpuLimits, CudaLimits, Device } from '@mercer/core';
import {
  cpuLimitKernels,
  cudaLimitKernels,
  type EmittedKernel,
  type KernelCost,
  type Scalars,
} from '@mercer/core/bench';

/** A kernel that measures one limit, with what its launch takes. */
export interface LimitLoop {
  readonly limit: string;
  readonly title: string;
  readonly kernel: EmittedKernel;
  /** Arguments for a loop of `length` steps. */
  readonly scalars: (length: number) => Scalars;
  /** Bytes of memory for each pointer parameter. */
  readonly storageBytes: readonly number[];
  /** Length that is tried first, or the only one when `fixed`. */
  readonly length: number;
  readonly fixed: boolean;
  /** Work of one launch, from which rates follow. */
  readonly work: (scalars: Scalars) => LimitWork;
}

/** Amounts of one launch. */
export interface LimitWork {
  readonly bytes?: number | undefined;
  readonly pairs?: number | undefined;
  readonly issueSlots?: number | undefined;
  readonly specialOps?: number | undefined;
}

const COPY_BYTES = 2 ** 29;
const FIRST_LENGTH = 256;

/** The loops of a device. */
export function limitLoops({ limits }: Device): LimitLoop[] {
  return limits.kind === 'cuda' ? cudaLoops(limits) : cpuLoops(limits);
}

/**
 * Every float32 loop has the tile of the multiply-add loop, which spends one instruction on a pair: its cost counts the
 * pairs of all of them. The float64 loops spend two.
 */
function cudaLoops(limits: CudaLimits): LimitLoop[] {
  const entries = cudaLimitKernels(limits);
  const fma = entries.find((entry) => entry.limit === 'fp32-fma')?.kernel;
  return entries.map(({ limit, title, kernel }) => {
    const pointers = kernel.params.filter((param) => param.kind === 'pointer').length;
    const copies = limit === 'copy';
    const length = copies ? COPY_BYTES / 16 : FIRST_LENGTH; // the copy loop counts units of 16 bytes
    const scalars = (steps: number): Scalars => ({ k: steps, p: 1.3 });
    const { grid, block } = kernel.geometry(scalars(length));
    const threads = grid[0] * block[0];
    return {
      limit,
      title,
      kernel,
      scalars,
      length,
      storageBytes: new Array<number>(pointers).fill(copies ? COPY_BYTES : threads * 8),
      fixed: copies || !kernel.params.some((param) => param.name === 'k'),
      work: (values) => {
        if (limit === 'launch') return {}; // its time is the limit
        const cost = costOf(kernel, values);
        const pairs = limit.startsWith('fp32-')
          ? fma?.cost?.(values).issueSlots
          : limit.startsWith('fp64-')
            ? (cost.issueSlots ?? 0) / 2
            : undefined;
        return { ...cost, pairs };
      },
    };
  });
}

/** A multiply-add counts as two operations in the cost and as one instruction here. */
function cpuLoops(limits: CpuLimits): LimitLoop[] {
  const tasks = limits.cores * 8;
  return cpuLimitKernels(limits).map(({ limit, title, kernel }) => ({
    limit,
    title,
    kernel,
    length: FIRST_LENGTH,
    fixed: false,
    scalars: (iterations) => ({ tasks, iterations, x: 0.5, y: 1 }),
    storageBytes: [tasks * 8],
    work: (values) => {
      const instructions = (costOf(kernel, values).flops ?? 0) / 2;
      return { pairs: instructions, issueSlots: instructions };
    },
  }));
}

function costOf(kernel: EmittedKernel, scalars: Scalars): Partial<KernelCost> {
  return kernel.cost?.(scalars) ?? {};
}
