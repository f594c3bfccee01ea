import { cudaType } from '../../emit/literals.js';
import { parameterList } from '../../emit/parameter-text.js';
import type { Scalars, KernelCost } from '../../emitted-kernel.js';
import type { KernelParam } from '../../kernel-param.js';
import { pairwiseParams } from '../params.js';
import type { CudaPairwisePlan } from '../plan-types.js';
import { parameterText } from './parameters.js';
import { tilesOf, type Triangle } from './triangle.js';
import { dtypeBytes } from '../../dtype.js';
import type { PairStep } from '../../pair-tile/cuda/pair-arithmetic.js';
import { finishFunction } from './pair-step.js';

/** The parameters of a pairwise kernel, and their text, where those of the problem go by their number; `own` makes them of those of all. */
export function signature(
  { dtype, parameters = [] }: CudaPairwisePlan,
  own: (params: readonly KernelParam[]) => readonly KernelParam[] = (params) => params,
): { readonly params: readonly KernelParam[]; readonly list: string } {
  const paramsOf = (names: readonly string[]): readonly KernelParam[] =>
    own(pairwiseParams(dtype, names));
  const names = parameters.map((_, i) => parameterText(i));
  const lines = ['m', 'batchStrideA', ...names.map((name) => `${name}At`), 'normsA'];
  const elements = { workspace: cudaType(dtype) };
  return {
    params: paramsOf(parameters),
    list: parameterList(paramsOf(names), { elements, lines }),
  };
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

/** Tiles of all batch entries of a launch. */
export function tileCount(
  plan: CudaPairwisePlan,
  tile: Pick<Triangle, 'tileRows' | 'tileColumns'>,
  scalars: Scalars,
): number {
  const { rows, columns, batch } = roleSizes(plan, scalars);
  return batch * tilesOf(rows, columns, tile, plan.symmetric);
}

/** Rows and columns of a launch after the swap. */
export function roleSizes(
  plan: CudaPairwisePlan,
  scalars: Scalars,
): { rows: number; columns: number; k: number; batch: number } {
  const { m = 0, n = 0, k = 0, batch = 0 } = scalars;
  return { rows: plan.swapped ? n : m, columns: plan.swapped ? m : n, k, batch };
}

/**
 * What a pairwise launch must do at least: operands read once, the output written once; of a symmetric
 * problem one operand and one half of the pairs.
 */
export function pairwiseCost(
  plan: CudaPairwisePlan,
  step: Pick<PairStep, 'issueSlots' | 'special'>,
  scalars: Scalars,
): KernelCost {
  const { m = 0, n = 0, k = 0, batch = 0, batchStrideA = 1, batchStrideB = 1 } = scalars;
  const layers = (stride: number): number => (stride === 0 ? Math.min(batch, 1) : batch);
  const symmetric = plan.symmetric === true;
  const other = symmetric ? 0 : layers(batchStrideB) * n * k;
  const elements = layers(batchStrideA) * m * k + other + batch * m * n;
  const outputs = batch * (symmetric ? (m * (m + 1)) / 2 : m * n);
  const pairs = outputs * k;
  const roots = outputs * finishFunction(plan).issueSlots;
  return {
    bytes: elements * dtypeBytes(plan.dtype),
    flops: 2 * (pairs * step.issueSlots + roots),
    issueSlots: pairs * step.issueSlots + roots,
    specialOps: pairs * step.special,
  };
}
