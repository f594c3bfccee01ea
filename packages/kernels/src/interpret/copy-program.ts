import type { CopyPlan } from '../elementwise/copy-plan.js';
import { elementNumber } from './element-types.js';
import { writeTileProgram, type TileProgram } from './tile-program.js';

const MODES = { linear: 0, strided: 1, tiled: 2 } as const;

/** The program of a copy or cast. */
export function copyProgram({ from, to, mode, rank }: CopyPlan): TileProgram {
  return writeTileProgram({
    family: 'copy',
    dtype: 'float32',
    codes: [],
    constants: [],
    settings: [elementNumber(from), elementNumber(to), MODES[mode], rank],
  });
}
