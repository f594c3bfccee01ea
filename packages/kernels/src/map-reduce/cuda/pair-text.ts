import { emitCudaExpressions, type CudaExpressions } from '../../emit/cuda-expression.js';
import { cudaLiteral } from '../../emit/cuda-literal.js';
import type { CudaHelper } from '../../emit/cuda-math.js';
import { indent, lines } from '../../emit/indent.js';
import { loaded } from '../half-storage.js';
import type { Gather } from '../lowering/written-out.js';
import { batchStrideName, inputName, strideName, tableRowsName } from '../params.js';
import type { CudaMapReducePlan } from '../plan-types.js';
import { gatheredComponents, usedComponents, type UsedComponents } from '../used-components.js';

/** What a plan computes for a pair of rows, as statements. */
export interface CudaPairText extends Pick<CudaExpressions, 'statements' | 'results' | 'helpers'> {
  readonly used: UsedComponents;
}

/** Rows by index are loaded first, in order of need. */
export function cudaPairText(plan: CudaMapReducePlan): CudaPairText {
  const values = plan.values;
  const { gathers = [] } = plan;
  const used = usedComponents(plan, [...values, ...gathers.map(({ index }) => index)]);
  const bindings = Object.fromEntries(used.names.map((name) => [name, name]));
  const options = {
    dtype: plan.dtype,
    bindings,
    approximateRoots: true,
    approximateExponentials: true,
    fastMath: plan.fastMath,
  };
  const helpers = new Set<CudaHelper>();
  const loads = gathers.map((gather, n) => {
    const body = emitCudaExpressions([gather.index], options);
    body.helpers.forEach((helper) => helpers.add(helper));
    return loadText(plan, gather, gatheredComponents(used, n), body);
  });
  const body = emitCudaExpressions(values, options);
  body.helpers.forEach((helper) => helpers.add(helper));
  const { statements, results } = body;
  return { used, helpers, results, statements: [...loads, ...statements] };
}

function loadText(
  { inputs, dtype }: CudaMapReducePlan,
  { table }: Gather,
  components: readonly { readonly name: string; readonly component: number }[],
  { statements, results }: Pick<CudaExpressions, 'statements' | 'results'>,
): string {
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
}
