import { add, finish, isNonNegative, max, variable, type Steps } from '@mercer/formula';
import type { CpuPairwisePlan } from '../pairwise/cpu/plan.js';
import type { Layout } from '../pairwise/problem.js';
import { unlessNoInstruction } from './no-instruction.js';
import { ProgramBuilder } from './program-builder.js';
import { writeTileProgram, type TileProgram } from './tile-program.js';

/** The program of a pairwise plan; none for formulas beyond the interpreter. */
export function pairwiseProgram(plan: CpuPairwisePlan): TileProgram | undefined {
  const { dtype, parameters = [], reduce, symmetric } = plan;
  const { inner, outer } = plan;
  // a maximum of values without a sign starts at 0 and is one of their bits
  const fromZero = reduce === 'max' && inner.op === 'abs';
  const running = freeName('running', parameters);
  // where 'p' is a parameter it takes the place of the launch's own scalar
  const launch = [freeName('p', parameters), ...parameters];
  const make = function* (): Steps<TileProgram> {
    const builder = new ProgramBuilder(dtype, launch);
    const step = reduce === 'sum' ? add(variable(running), inner) : max(variable(running), inner);
    const known = fromZero ? [running] : [];
    const innerCode = yield* builder.code([step], [running, 'a', 'b'], known);
    const outerCode = yield* builder.code([outer], ['s'], isNonNegative(inner) ? ['s'] : []);
    return yield* writeTileProgram({
      family: 'pairwise',
      dtype,
      constants: builder.constants,
      codes: [yield* builder.launchCode(), innerCode, outerCode],
      settings: [
        ...[plan.layoutA, plan.layoutB, plan.layoutOut].map(layoutNumber),
        ...[reduce === 'sum' ? 0 : fromZero ? 2 : 1, symmetric === true ? 1 : 0],
        parameters.length,
      ],
    });
  };
  return finish(unlessNoInstruction(make()));
}

/** A variable's name that none of `taken` is: parameters are named by users. */
function freeName(wanted: string, taken: readonly string[]): string {
  let name = wanted;
  for (let i = 0; taken.includes(name); i++) name = `${wanted}_${i}`;
  return name;
}

const layoutNumber = (layout: Layout): number => (layout === 'row' ? 0 : 1);
