import { emitCpuStatements, type CpuStatements } from '../../emit/cpu-expression.js';
import { cpuLiteral } from '../../emit/cpu-literal.js';
import type { CpuHelper } from '../../emit/cpu-math.js';
import { indent, lines } from '../../emit/indent.js';
import { loaded } from '../half-storage.js';
import type { Gather } from '../lowering/written-out.js';
import { inputName, strideName, tableRowsName } from '../params.js';
import type { CpuMapReducePlan } from '../plan-types.js';
import { gatheredComponents, usedComponents, type UsedComponents } from '../used-components.js';

/** What a plan computes for a pair of rows, as statements over vectors. */
export interface CpuPairText extends CpuStatements {
  readonly used: UsedComponents;
}

/** Rows by index are loaded first, in order of need, a lane at a time. */
export function cpuPairText(plan: CpuMapReducePlan): CpuPairText {
  const values = plan.values;
  const { gathers = [] } = plan;
  const used = usedComponents(plan, [...values, ...gathers.map(({ index }) => index)]);
  const options = { dtype: plan.dtype, name: 'formula', parameters: used.names };
  const helpers = new Set<CpuHelper>();
  const loads = gathers.map((gather, n) => {
    const body = emitCpuStatements([gather.index], options);
    body.helpers.forEach((helper) => helpers.add(helper));
    return loadText(plan, gather, gatheredComponents(used, n), body);
  });
  const body = emitCpuStatements(values, options);
  body.helpers.forEach((helper) => helpers.add(helper));
  return { ...body, used, helpers, statements: [...loads, ...body.statements] };
}

function loadText(
  { inputs, dtype }: CpuMapReducePlan,
  { table }: Gather,
  components: readonly { readonly name: string; readonly component: number }[],
  { statements, results }: CpuStatements,
): string {
  const source = inputs.find(({ position }) => position === table) ?? {};
  const from = `${inputName(table)}[number_of_row * g.${strideName(table)}`;
  return lines(
    ...components.map(({ name }) => `V ${name} = splat(0);`),
    '{',
    indent(lines(...statements.map((statement) => statement.trim()))),
    `  const V wanted = ${results[0] ?? ''};`,
    '  for (int64_t lane = 0; lane < LANES; lane++) {',
    `    const double place = (double)wanted[lane] + 0.5;`,
    `    const bool there = place >= 0.0 && place < (double)g.${tableRowsName(table)};`,
    '    const int64_t number_of_row = there ? (int64_t)place : 0;',
    ...components.map(
      ({ name, component }) =>
        `    ${name}[lane] = there ? ${loaded(source, `${from} + ${component}]`)} : ${cpuLiteral(NaN, dtype)};`,
    ),
    '  }',
    '}',
  );
}
