import { print } from '@mercer/formula';
import type { CpuLimits } from '../../device-limits.js';
import { lanesOf, vectorUnit } from '../../emit/cpu-vector.js';
import { RUNTIME_DERIVATIVE } from '../norm-derivative.js';
import type { CpuCdistGradPlan } from '../plan-types.js';
import type { CdistGradProblem } from '../problem.js';

/** Steps of k whose factors are kept in the first-level cache. */
const BLOCK_K = 64;
/** Lines of d that share one block of a: many, or few where there would not be tasks for all cores. */
const BLOCK_N = { many: 16, few: 2 } as const;
const TASKS_PER_CORE = 4;

/** Chooses a plan for sizes like the problem's; the plan is right for all sizes. */
export function planCpuCdistGrad(problem: CdistGradProblem, limits: CpuLimits): CpuCdistGradPlan {
  const { dtype, phi, m, n, o, batch } = problem;
  const { level, cores } = limits;
  const many = vectorUnit(level).registers === 32;
  const lanes = lanesOf(level, dtype);
  const [tileO, tileVectors, blockO] = rowTile(o, many);
  // 256 bytes of every line: at most four vectors, at least a register tile.
  const blockVectors = Math.max(4, Math.min(8, 256 / vectorUnit(level).bytes));
  const blockM = blockVectors * lanes;
  const tasks = Math.ceil(m / blockM) * Math.ceil(n / BLOCK_N.many) * Math.ceil(o / blockO) * batch;
  const blockN = tasks < TASKS_PER_CORE * cores ? BLOCK_N.few : BLOCK_N.many;
  const name = phi === RUNTIME_DERIVATIVE ? 'any p' : print(phi);
  return Object.freeze({
    kind: 'cpu',
    family: 'cdist-grad',
    summary:
      `cdist-grad ${name}, ${dtype}, cpu ${level} tile ${tileO}x${tileVectors * lanes} ` +
      `block ${blockO}x${blockN}x${blockM}`,
    level,
    cores,
    dtype,
    phi: phi,
    tileO,
    tileVectors,
    blockO,
    blockN,
    blockM,
    blockK: BLOCK_K,
  });
}

/**
 * Rows of c and vectors of factors whose products stay in registers, and rows of one task. Few classes:
 * each is a compilation.
 */
function rowTile(o: number, many: boolean): [tileO: number, vectors: number, blockO: number] {
  if (o <= 2) return [2, 4, 2];
  if (o <= 4) return [4, many ? 4 : 2, 4];
  const blockO = o <= 16 ? 16 : 64;
  return many ? [8, 2, blockO] : [4, 2, blockO];
}
