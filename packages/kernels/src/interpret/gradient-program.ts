import { add, variable } from '@mercer/formula';
import type { CpuGradientPlan } from '../pairwise-gradient/gradient-plan.js';
import { planExpressions } from '../pairwise-gradient/plan-expressions.js';
import { unlessNoInstruction } from './no-instruction.js';
import { ProgramBuilder } from './program-builder.js';
import { writeTileProgram, type TileProgram } from './tile-program.js';

/** The program of a gradient plan; none for formulas beyond the interpreter. */
export function gradientProgram(plan: CpuGradientPlan): TileProgram | undefined {
  const { dtype, nonNegative, reduce, parameters } = plan;
  const { inner, pairs, sums, uniform, pairNames } = planExpressions(plan);
  const flag = (value: boolean): number => (value ? 1 : 0);
  return unlessNoInstruction(() => {
    const builder = new ProgramBuilder(dtype, uniform);
    // parameters go by numbers here
    const running = 'running';
    const step = reduce === 'sum' ? add(variable(running), inner) : inner;
    const values = sums.flatMap(({ value }) => value ?? []);
    const terms = sums.flatMap(({ term }) => term ?? []);
    const codes = [
      builder.code([step], [running, 'a', 'b'], nonNegative),
      builder.code([...pairs, ...values], ['upstream', 's'], nonNegative),
      builder.code(terms, ['a', 'b', ...pairNames], nonNegative),
    ];
    return writeTileProgram({
      family: 'pairwise-gradient',
      dtype,
      constants: builder.constants,
      codes: [builder.launchCode(), ...codes],
      settings: [
        ...[flag(plan.target === 'parameters'), flag(reduce === 'max'), flag(plan.readsSum)],
        ...[pairs.length, sums.length, parameters.length],
        ...[flag(plan.symmetric), flag(plan.maskDiagonal)],
        ...sums.map(({ value, term }) => flag(value !== undefined) + 2 * flag(term !== undefined)),
      ],
    });
  });
}
