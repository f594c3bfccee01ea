import { emitCpuStatements } from '../../emit/cpu-expression.js';
import { cpuLiteral } from '../../emit/cpu-literal.js';
import type { CpuHelper } from '../../emit/cpu-math.js';
import { indent, lines } from '../../emit/indent.js';
import { loaded } from '../half-storage.js';
import { pairText, type PairDialect, type PairText } from '../pair-statements.js';
import { inputName, strideName, tableRowsName } from '../params.js';
import type { CpuMapReducePlan } from '../plan-types.js';

/** What a plan computes for a pair of rows, as statements over vectors. */
export type CpuPairText = PairText<CpuHelper>;

/** Rows by index are loaded a lane at a time. */
export const cpuPairText = (plan: CpuMapReducePlan): CpuPairText =>
  pairText(plan, {
    write: (exprs, parameters) =>
      emitCpuStatements(exprs, { dtype: plan.dtype, name: 'formula', parameters }),
    load: loadText(plan),
  });

const loadText =
  ({ inputs, dtype }: CpuMapReducePlan): PairDialect<CpuHelper>['load'] =>
  ({ table }, components, { statements, results }) => {
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
  };
