import { reduction, vij, type Reduction } from '@mercer/formula';
import type { DeviceLimits } from '../device-limits.js';
import { emitMapReduce } from '../map-reduce/emit.js';
import { planMapReduce } from '../map-reduce/plan.js';
import type { MapReduceProblem } from '../map-reduce/problem.js';
import { distinctKernels, type NamedKernel } from '../named-kernel.test-support.js';
import { CASES, operandsOf, PARAMETER_CASES } from './gradient-cases.test-support.js';
import {
  bothRolesFormula,
  parameterGradientFormulas,
  rowsGradientFormula,
} from './gradient-formula.js';

/** Sums of the formulas of gradients that stand for all: few components and many, few rows and many. */
function gradientProblems(): MapReduceProblem[] {
  return (['float32', 'float64'] as const).flatMap((dtype) =>
    [3, 100].flatMap((k) =>
      [1000, 30_000].flatMap((rows): MapReduceProblem[] => {
        const sizes = { dtype, rowsI: rows, rowsJ: rows, batch: 1 };
        const operands = operandsOf(k);
        const sum = (formula: Reduction['formula']): Reduction => reduction('Sum', formula);
        const ofParameters = PARAMETER_CASES.flatMap(({ forward, names }) =>
          parameterGradientFormulas(forward, names, dtype, operands),
        );
        return [
          ...CASES.map(({ forward }) => ({
            ...sizes,
            reduction: sum(rowsGradientFormula(forward, dtype, operands)),
          })),
          ...CASES.slice(0, 1).map(({ forward }) => ({
            ...sizes,
            reduction: sum(bothRolesFormula(forward, dtype, operands, { upstream: vij(3, 1) })),
          })),
          ...ofParameters.map((formula) => ({
            ...sizes,
            reduction: sum(formula),
            accumulate: 'float64' as const,
          })),
        ];
      }),
    ),
  );
}

/** The kernels that the plans of these sums give on a device, each text once. */
export function defaultGradientKernels(limits: DeviceLimits): NamedKernel[] {
  return distinctKernels(
    gradientProblems().map((problem) => emitMapReduce(planMapReduce(problem, limits))),
  );
}
