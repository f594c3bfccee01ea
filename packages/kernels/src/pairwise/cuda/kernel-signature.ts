import { cudaType } from '../../emit/cuda-literal.js';
import type { CudaPairwisePlan } from '../plan-types.js';
import { parameterDeclarations } from './parameters.js';

/** The parameter list of every pairwise kernel as C++ text. */
export function parameterList(plan: CudaPairwisePlan, workspace?: 'read' | 'write'): string {
  const type = cudaType(plan.dtype);
  const extra =
    workspace === undefined
      ? ''
      : `, ${workspace === 'read' ? 'const ' : ''}${type}* __restrict__ workspace`;
  return `const ${type}* __restrict__ a, const ${type}* __restrict__ b, ${type}* __restrict__ out,
    long long m, long long n, long long k, long long batch, long long lda, long long ldb, long long ldo,
    long long batchStrideA, long long batchStrideB, long long batchStrideOut, double p${parameterDeclarations(plan)}${extra}`;
}

/**
 * Names the operands by their role: `rows` and `columns` with their sizes and strides. A
 * column-major output is the transposed problem.
 */
export function operandRoles(plan: CudaPairwisePlan): string {
  const [x, y] = plan.swapped ? ['b', 'a'] : ['a', 'b'];
  const [bigX, bigY] = [x.toUpperCase(), y.toUpperCase()];
  const type = cudaType(plan.dtype);
  return `const ${type}* __restrict__ const rows = ${x};
  const ${type}* __restrict__ const columns = ${y};
  ${roleCounts(plan)}
  const long long rowStride = ld${x}, columnStride = ld${y};
  const long long rowBatch = batchStride${bigX}, columnBatch = batchStride${bigY};`;
}

/** The sizes of the output by role. */
export function roleCounts(plan: CudaPairwisePlan): string {
  const [rows, columns] = plan.swapped ? ['n', 'm'] : ['m', 'n'];
  return `const long long rowCount = ${rows}, columnCount = ${columns};`;
}

/** Rows and columns of a launch after the swap. */
export function roleSizes(
  plan: CudaPairwisePlan,
  scalars: Readonly<Record<string, number>>,
): { rows: number; columns: number; k: number; batch: number } {
  const { m = 0, n = 0, k = 0, batch = 0 } = scalars;
  return { rows: plan.swapped ? n : m, columns: plan.swapped ? m : n, k, batch };
}
