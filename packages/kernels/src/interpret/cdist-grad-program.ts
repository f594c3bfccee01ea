import { finish, mul, sub, substitute, variable, type Steps } from '@mercer/formula';
import type { CpuCdistGradPlan } from '../cdist-grad/plan-types.js';
import { unlessNoInstruction } from './no-instruction.js';
import { ProgramBuilder } from './program-builder.js';
import { writeTileProgram, type TileProgram } from './tile-program.js';

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
