import {
  add,
  finish,
  isNonNegative,
  max,
  variable,
  type Steps,
  mul,
  sub,
  substitute,
} from '@mercer/formula/plan';
import type { CpuPairwisePlan } from '../pairwise/cpu/plan.js';
import type { Layout } from '../pairwise/problem.js';
import { unlessNoInstruction } from './lower-tile-code.js';
import { ProgramBuilder } from './program-builder.js';
import { writeTileProgram, type TileProgram } from './tile-program.js';
import type { CpuCdistGradPlan } from '../cdist-grad/plan-types.js';
import { mapFormulas } from '../elementwise/map-formula.js';
import { mapVariables } from '../elementwise/map-params.js';
import type { MapPlan } from '../elementwise/map-plan-types.js';
import { elementNumber } from '../elementwise/element-type.js';

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

/** The program of a weighted sum of norm derivatives. */
export function cdistGradProgram({ dtype, phi }: CpuCdistGradPlan): TileProgram | undefined {
  const delta = sub(variable('d'), variable('b'));
  const factor = mul(variable('a'), substitute(phi, { delta }));
  const make = function* (): Steps<TileProgram> {
    const builder = new ProgramBuilder(dtype, ['p']);
    const code = yield* builder.code([factor], ['a', 'd', 'b']);
    return yield* writeTileProgram({
      family: 'cdist-grad',
      dtype,
      settings: [],
      constants: builder.constants,
      codes: [yield* builder.launchCode(), code],
    });
  };
  return finish(unlessNoInstruction(make()));
}

/** The program of a map; none for a formula beyond the interpreter. */
export function mapProgram(plan: MapPlan): TileProgram | undefined {
  const { dtype, rank, results, inputs } = plan;
  const names = mapVariables(plan);
  const make = function* (): Steps<TileProgram> {
    const builder = new ProgramBuilder(dtype, names.parameters);
    const value = yield* builder.code(mapFormulas(plan), [...names.inputs, ...names.indices]);
    return yield* writeTileProgram({
      family: 'map',
      dtype,
      codes: [yield* builder.launchCode(), value],
      constants: builder.constants,
      settings: [
        ...[rank, results.length, inputs.length, names.indices.length, names.parameters.length],
        ...results.map((result) => elementNumber(result.dtype)),
        ...inputs.map((input) => elementNumber(input.dtype)),
        plan.segments ?? 1,
      ],
    });
  };
  return finish(unlessNoInstruction(make()));
}
