import { emitCudaExpressions, type CudaExpressionOptions } from '../../emit/cuda-expression.js';
import { cudaLiteral } from '../../emit/literals.js';
import type { CudaHelper } from '../../emit/cuda-math.js';
import { indent, lines } from '../../emit/text.js';
import { loaded } from '../half-storage.js';
import type { LaunchedPlan } from '../launched-plan.js';
import { pairText, type PairDialect, type PairText } from '../pair-statements.js';
import { batchStrideName, inputName, strideName, tableRowsName } from '../params.js';
import type { CudaMapReducePlan } from '../plan-types.js';

/** What a plan computes for a pair of rows, as statements. */
export type CudaPairText = PairText<CudaHelper>;

export const cudaPairText = (plan: CudaMapReducePlan): CudaPairText =>
  pairText(plan, {
    write: (exprs, names) => emitCudaExpressions(exprs, pairOptions(plan, names)),
    load: loadText(plan),
  });

/** How expressions of a pair are written where the variables of these names are in scope. */
export const pairOptions = (
  { dtype, fastMath }: Pick<LaunchedPlan, 'dtype' | 'fastMath'>,
  names: readonly string[],
): CudaExpressionOptions => ({
  dtype,
  bindings: Object.fromEntries(names.map((name) => [name, name])),
  approximateRoots: true,
  approximateExponentials: true,
  fastMath,
});

const loadText =
  ({ inputs, dtype }: CudaMapReducePlan): PairDialect<CudaHelper>['load'] =>
  ({ table }, components, { statements, results }) => {
    const source = inputs.find(({ position }) => position === table) ?? {};
    const from = `${inputName(table)}[layer * ${batchStrideName(table)} + number_of_row * ${strideName(table)}`;
    return lines(
      components.length > 0 && `V ${components.map(({ name }) => name).join(', ')};`,
      '{',
      indent(lines(...statements)),
      `  const double place = (double)(${results[0] ?? ''}) + 0.5;`,
      `  const bool there = place >= 0.0 && place < (double)${tableRowsName(table)};`,
      '  const long long number_of_row = there ? (long long)place : 0;',
      ...components.map(
        ({ name, component }) =>
          `  ${name} = there ? ${loaded(source, `${from} + ${component}]`)} : ${cudaLiteral(NaN, dtype)};`,
      ),
      '}',
    );
  };
