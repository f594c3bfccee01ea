import { finish, type Steps } from '@mercer/formula';
import { mapFormulas } from '../elementwise/map-formula.js';
import { mapVariables } from '../elementwise/map-params.js';
import type { MapPlan } from '../elementwise/map-plan-types.js';
import { elementNumber } from './element-types.js';
import { unlessNoInstruction } from './no-instruction.js';
import { ProgramBuilder } from './program-builder.js';
import { writeTileProgram, type TileProgram } from './tile-program.js';

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
