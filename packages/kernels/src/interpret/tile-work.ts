import type { CpuLimits } from '../device-limits.js';
import { lanesOf } from '../emit/cpu-vector.js';
import { TILE_OPERATIONS, type TileOperation } from './operations.js';
import type { TileProgram } from './tile-program.js';

/** Operations that take as long as several additions of tiles that lie in the first-level cache, and how many. */
const HEAVY: { readonly [O in TileOperation]?: number } = {
  div: 4,
  sqrt: 4,
  rsqrt: 4,
  exp: 4,
  expOfNegative: 4,
  log: 4,
  tanh: 8,
  powNonNegative: 12,
  powAny: 12,
};
/** Functions by name. */
const FUNCTION = 50;

const WORK: readonly number[] = TILE_OPERATIONS.map((operation) =>
  operation.startsWith('math_') ? FUNCTION : (HEAVY[operation] ?? 1),
);

/** Words of an instruction: operation, result, operands. */
const INSTRUCTION = 5;

/**
 * Additions of vectors that the interpreter takes for each value of a program: for all of its codes, although some are run once for a
 * row and not for each of its pairs.
 */
export function tileWork({ words }: TileProgram, level: CpuLimits['level']): number {
  const [, , isDouble, settings = 0] = words;
  const lanes = lanesOf(level, isDouble === 1 ? 'float64' : 'float32');
  let at = 4 + settings;
  let work = 0;
  for (let codes = words[at++] ?? 0; codes > 0; codes--) {
    at += 1 + 2 * (words[at] ?? 0); // slots
    const end = at + 1 + INSTRUCTION * (words[at] ?? 0);
    for (at += 1; at < end; at += INSTRUCTION) work += WORK[words[at] ?? 0] ?? 1;
    at += 2 + (words[at] ?? 0); // roots, and the number of registers
  }
  return Math.max(1, work) / lanes;
}
