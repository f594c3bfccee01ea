import type { DeviceLimits } from '../device-limits.js';
import { DTYPES } from '../dtype.js';
import type { LaunchableKernel, KernelProgram } from '../emitted-kernel.js';
import { distinctKernels, type NamedKernel } from '../named-kernel.test-support.js';
import { emitCountRows, emitGatherRows, emitScatterAdd } from './emit-scatter.js';
import { planCountRows, planGatherRows, planScatterAdd } from './plan-scatter.js';
import type { ScatterAddProblem } from './scatter-plan-types.js';

const FLOATS = ['float32', 'float64'] as const;
const INDICES = ['int32', 'int64'] as const;

/** Problems whose plans stand for all: every type on each side, few and many rows, short and long ones. */
export function scatterAddProblems(): ScatterAddProblem[] {
  return FLOATS.flatMap((from) =>
    FLOATS.flatMap((to) =>
      INDICES.flatMap((index) =>
        [1, 100, 1_000_000].map((rows) => ({
          from,
          to,
          index,
          rows,
          count: 1_000_000,
          columns: 10,
        })),
      ),
    ),
  );
}

/** Programs of the plans of the family on a device. */
export function scatterPrograms(limits: DeviceLimits): KernelProgram<LaunchableKernel>[] {
  const counts = INDICES.flatMap((index) =>
    INDICES.flatMap((to) =>
      [1, 1_000_000].map((rows) =>
        emitCountRows(planCountRows({ index, to, count: 1000, rows }, limits)),
      ),
    ),
  );
  const gathers = INDICES.flatMap((index) =>
    DTYPES.map((dtype) => emitGatherRows(planGatherRows({ dtype, index }, limits))),
  );
  const orders = limits.kind === 'cuda' ? [true, false] : [true];
  const sums = scatterAddProblems().flatMap((problem) =>
    orders.map((deterministic) =>
      emitScatterAdd(planScatterAdd({ ...problem, deterministic }, limits)),
    ),
  );
  return [...sums, ...counts, ...gathers];
}

/** Every kernel of rows by index that the plans of the family give on a device, each text once. */
export function defaultScatterKernels(limits: DeviceLimits): NamedKernel[] {
  return distinctKernels(scatterPrograms(limits));
}
