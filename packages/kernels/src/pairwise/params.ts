import type { Scalars } from '../emitted-kernel.js';
import { float64, int64, pointer, type KernelParam } from '../kernel-param.js';
import type { PairwiseDType } from '../dtype.js';

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
  return [
    ...['a', 'b'].map((name) => pointer(name, dtype, 'read')),
    pointer('out', dtype, 'write'),
    ...['m', 'n', 'k', 'batch', 'lda', 'ldb', 'ldo'].map(int64),
    ...['batchStrideA', 'batchStrideB', 'batchStrideOut'].map(int64),
    float64('p'),
    ...parameters.flatMap((name) => valueParams(name, dtype)),
  ];
}

/**
 * How a launch passes a value that is a number or lies in device memory, one per batch entry: the
 * pointer `<name>At` (address 0: not in memory), `<name>Stride` (elements between batch entries, 0
 * broadcasts) and `<name>Value`, which counts where the address is 0.
 */
export function valueParams(name: string, dtype: PairwiseDType): KernelParam[] {
  return [pointer(`${name}At`, dtype, 'read'), int64(`${name}Stride`), float64(`${name}Value`)];
}

/** The parameters of a plan's last step where it regularises a diagonal; r is `regularization`. */
export function diagonalParams(dtype: PairwiseDType): KernelParam[] {
  return [
    pointer('out', dtype, 'readwrite'),
    ...['m', 'n', 'batch', 'ldo', 'batchStrideOut', 'diagonalOffset'].map(int64),
    ...valueParams('regularization', dtype),
  ];
}

/** Elements of one batch entry with n = m + `diagonalOffset`. */
export function diagonalLength({ m = 0, n = 0, diagonalOffset = 0 }: Scalars): number {
  return Math.max(0, Math.min(m - Math.max(0, -diagonalOffset), n - Math.max(0, diagonalOffset)));
}
