import { textHash } from './text-hash.js';
import { writeTileProgram, type TileProgram } from './tile-program.js';

/**
 * The program of a kernel whose text has no formula in it: there are few of them, and the runtime has
 * them compiled already (see `fixedTexts`).
 */
export function textProgram(source: string): TileProgram {
  return writeTileProgram({
    family: 'text',
    dtype: 'float32',
    codes: [],
    constants: [],
    settings: textHash(source),
  });
}
