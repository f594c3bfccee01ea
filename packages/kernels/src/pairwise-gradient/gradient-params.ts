import type { KernelParam } from '../kernel-param.js';
import { valueParams } from '../pairwise/params.js';
import type { PairwiseGradientPlan } from './gradient-plan.js';

const size = (name: string): KernelParam => ({ name, kind: 'scalar', type: 'int64' });

/**
 * The parameters of a gradient kernel: inputs a and b, the upstream `gradient`, `out`; sizes;
 * strides in elements, any, of rows and steps of k of a and b, of rows and columns of the gradient and
 * of batch entries (0 broadcasts); the plan's `parts` and `blockRows` ({@link gradientBlocking}); p;
 * three for each name of the plan's parameters (see {@link valueParams}); and `diagonalOffset` where the
 * diagonal is masked.
 *
 * For rows `out` is (parts, batch, m, k) in the data type; for parameters (parameters, batch, blocks)
 * in float64, see `gradientBlocks`. What is split is summed by the caller. In texts parameters have other names.
 */
export function gradientParams(
  plan: PairwiseGradientPlan,
  parameters: readonly string[] = plan.parameters,
): KernelParam[] {
  const { dtype } = plan;
  const out = plan.target === 'rows' ? dtype : 'float64';
  return [
    { name: 'a', kind: 'pointer', dtype, access: 'read' },
    { name: 'b', kind: 'pointer', dtype, access: 'read' },
    { name: 'gradient', kind: 'pointer', dtype, access: 'read' },
    { name: 'out', kind: 'pointer', dtype: out, access: 'write' },
    ...['m', 'n', 'k', 'batch', 'rowStrideA', 'stepStrideA', 'rowStrideB', 'stepStrideB'].map(size),
    ...['rowStrideG', 'columnStrideG', 'batchStrideA', 'batchStrideB', 'batchStrideG'].map(size),
    ...['parts', 'blockRows'].map(size),
    { name: 'p', kind: 'scalar', type: 'float64' },
    ...parameters.flatMap((name) => valueParams(name, dtype)),
    ...(plan.maskDiagonal ? [size('diagonalOffset')] : []),
  ];
}

/** The name of parameter number `index` in texts: those of the plan come from outside and may be words of C++. */
export const thetaName = (_: string, index: number): string => `theta${index}`;

/** How a plan cuts its launches: scalars that each launch passes. */
export function gradientBlocking(plan: PairwiseGradientPlan): { parts: number; blockRows: number } {
  const blockRows = plan.kind === 'cpu' ? plan.blockRows : 16 * plan.rowsPerThread;
  return { parts: plan.parts, blockRows };
}

/** Blocks (tasks) of one batch entry: the last axis of the output of parameter gradients. */
export function gradientBlocks(plan: PairwiseGradientPlan, m: number): number {
  const { parts, blockRows } = gradientBlocking(plan);
  return Math.ceil(m / blockRows) * parts;
}
