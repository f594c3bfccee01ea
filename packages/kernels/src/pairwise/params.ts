import type { Scalars } from '../emitted-kernel.js';
import type { KernelParam } from '../kernel-param.js';
import type { PairwiseDType } from './problem.js';

/**
 * The parameters of every pairwise kernel. Sizes in elements; `lda`, `ldb`, `ldo` are the strides
 * of the axis that is not contiguous; a batch stride of 0 broadcasts. Behind them come three for each
 * name of `parameters` (see {@link valueParams}). A kernel of a plan that splits k has one more, last:
 * the pointer `workspace`.
 */
export function pairwiseParams(
  dtype: PairwiseDType,
  parameters: readonly string[] = [],
): KernelParam[] {
  const size = (name: string): KernelParam => ({ name, kind: 'scalar', type: 'int64' });
  return [
    { name: 'a', kind: 'pointer', dtype, access: 'read' },
    { name: 'b', kind: 'pointer', dtype, access: 'read' },
    { name: 'out', kind: 'pointer', dtype, access: 'write' },
    ...['m', 'n', 'k', 'batch', 'lda', 'ldb', 'ldo'].map(size),
    ...['batchStrideA', 'batchStrideB', 'batchStrideOut'].map(size),
    { name: 'p', kind: 'scalar', type: 'float64' },
    ...parameters.flatMap((name) => valueParams(name, dtype)),
  ];
}

/**
 * How a launch passes a value that is a number or lies in device memory, one per batch entry: the
 * pointer `<name>At` (address 0: not in memory), `<name>Stride` (elements between batch entries, 0
 * broadcasts) and `<name>Value`, which counts where the address is 0.
 */
export function valueParams(name: string, dtype: PairwiseDType): KernelParam[] {
  return [
    { name: `${name}At`, kind: 'pointer', dtype, access: 'read' },
    { name: `${name}Stride`, kind: 'scalar', type: 'int64' },
    { name: `${name}Value`, kind: 'scalar', type: 'float64' },
  ];
}

/** The parameters of a plan's last step where it regularises a diagonal; r is `regularization`. */
export function diagonalParams(dtype: PairwiseDType): KernelParam[] {
  const size = (name: string): KernelParam => ({ name, kind: 'scalar', type: 'int64' });
  return [
    { name: 'out', kind: 'pointer', dtype, access: 'readwrite' },
    ...['m', 'n', 'batch', 'ldo', 'batchStrideOut', 'diagonalOffset'].map(size),
    ...valueParams('regularization', dtype),
  ];
}

/** Elements of one batch entry with n = m + `diagonalOffset`. */
export function diagonalLength({ m = 0, n = 0, diagonalOffset = 0 }: Scalars): number {
  return Math.max(0, Math.min(m - Math.max(0, -diagonalOffset), n - Math.max(0, diagonalOffset)));
}
