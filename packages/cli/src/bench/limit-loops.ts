import type { Device } from '@mercer/core';
import { cudaLimitKernels, type EmittedKernel, type Scalars } from '@mercer/core/bench';

/** A loop that measures one limit. */
export interface LimitLoop {
  readonly limit: string;
  readonly title: string;
  readonly kernel: EmittedKernel;
  /** Element pairs that a launch with these scalars goes through, for loops over pairs. */
  readonly pairs?: (scalars: Scalars) => number;
}

/** The loops of a device. */
export function limitLoops(device: Device): LimitLoop[] {
  const { limits } = device;
  return limits.kind === 'cuda' ? cudaLoops(cudaLimitKernels(limits)) : [];
}

/**
 * Every float32 loop has the tile of the multiply-add loop, which spends one instruction on a pair: its cost counts the
 * pairs of all of them. The float64 loop spends two.
 */
function cudaLoops(kernels: readonly Omit<LimitLoop, 'pairs'>[]): LimitLoop[] {
  const slots = (limit: string, scalars: Scalars): number =>
    kernels.find((entry) => entry.limit === limit)?.kernel.cost?.(scalars).issueSlots ?? 0;
  return kernels.map((entry) => {
    if (entry.limit.startsWith('fp32-')) {
      return { ...entry, pairs: (scalars: Scalars) => slots('fp32-fma', scalars) };
    }
    if (entry.limit.startsWith('fp64-')) {
      return { ...entry, pairs: (scalars: Scalars) => slots(entry.limit, scalars) / 2 };
    }
    return entry;
  });
}
