import { mul, sub, substitute, variable } from '@mercer/formula';
import type { CpuCdistGradPlan } from '../cdist-grad/plan-types.js';
import { unlessNoInstruction } from './no-instruction.js';
import { ProgramBuilder } from './program-builder.js';
import { writeTileProgram, type TileProgram } from './tile-program.js';

/** The program of a weighted sum of norm derivatives. */
export function cdistGradProgram({ dtype, phi }: CpuCdistGradPlan): TileProgram | undefined {
  const delta = sub(variable('d'), variable('b'));
  const factor = mul(variable('a'), substitute(phi, { delta }));
  return unlessNoInstruction(() => {
    const builder = new ProgramBuilder(dtype, ['p']);
    const code = builder.code([factor], ['a', 'd', 'b']);
    return writeTileProgram({
      family: 'cdist-grad',
      dtype,
      settings: [],
      constants: builder.constants,
      codes: [builder.launchCode(), code],
    });
  });
}
