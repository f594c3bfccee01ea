import type { EmittedKernel, Scalars } from '../emitted-kernel.js';
import type { KernelParam } from '../kernel-param.js';
import type { PairwiseDType } from './problem.js';

/** The kernels of one plan, launched in order on one stream. */
export interface PairwiseProgram {
  readonly steps: readonly { readonly kernel: EmittedKernel }[];
  /** Bytes of the scratch buffer bound to the parameter `workspace`; 0 if no step has one. */
  workspaceBytes(scalars: Scalars): number;
}

/**
 * The parameters of every pairwise kernel. Sizes in elements; `lda`, `ldb`, `ldo` are the strides
 * of the axis that is not contiguous; a batch stride of 0 broadcasts. A kernel of a plan that splits
 * k has one more, last: the pointer `workspace`.
 */
export function pairwiseParams(dtype: PairwiseDType): KernelParam[] {
  const size = (name: string): KernelParam => ({ name, kind: 'scalar', type: 'int64' });
  return [
    { name: 'a', kind: 'pointer', dtype, access: 'read' },
    { name: 'b', kind: 'pointer', dtype, access: 'read' },
    { name: 'out', kind: 'pointer', dtype, access: 'write' },
    ...['m', 'n', 'k', 'batch', 'lda', 'ldb', 'ldo'].map(size),
    ...['batchStrideA', 'batchStrideB', 'batchStrideOut'].map(size),
    { name: 'p', kind: 'scalar', type: 'float64' },
  ];
}

/** The same with the pointer `workspace` at the end. */
export function withWorkspace(
  params: readonly KernelParam[],
  access: 'read' | 'write',
): KernelParam[] {
  return [...params, { name: 'workspace', kind: 'pointer', dtype: 'byte', access }];
}
