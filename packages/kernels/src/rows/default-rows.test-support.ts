import type { DeviceLimits } from '../device-limits.js';
import { distinctKernels, type NamedKernel } from '../named-kernel.test-support.js';
import { emitRows } from './emit-rows.js';
import { emitRowsGradient, planRowsGradient } from './rows-gradient.js';
import { planRows, type RowsProblem } from './plan-rows.js';

/** Problems whose plans stand for all: both layouts, long and short rows, with and without each part. */
export function rowsProblems(): RowsProblem[] {
  const problems: RowsProblem[] = [];
  for (const dtype of ['float32', 'float64'] as const) {
    for (const [m, k] of [
      [30000, 64],
      [10, 100_000],
    ] as const) {
      for (const layout of ['row', 'column'] as const) {
        const sizes = { dtype, m, k, batch: 1, layout };
        problems.push({ ...sizes, scale: true, normalise: false });
        problems.push({ ...sizes, scale: false, normalise: true });
        problems.push({ ...sizes, scale: true, normalise: true, norms: true });
        problems.push({ ...sizes, scale: false, normalise: false, norms: true });
      }
    }
  }
  return problems;
}

/** Every kernel that the plans of `rowsProblems` give on a device, and the way back through them, each text once. */
export function defaultRowsKernels(limits: DeviceLimits): NamedKernel[] {
  return distinctKernels([
    ...rowsProblems().map((problem) => emitRows(planRows(problem, limits))),
    ...(['float32', 'float64'] as const).flatMap((dtype) =>
      (['x', 'scale'] as const).flatMap((target) =>
        [false, true].map((normalise) =>
          emitRowsGradient(planRowsGradient({ dtype, normalise, target }, limits)),
        ),
      ),
    ),
  ]);
}
