import { print } from '@mercer/formula';
import type { CpuLimits } from '../../device-limits.js';
import { lanesOf, vectorUnit } from '../../emit/cpu-vector.js';
import { toJson } from '../../pairwise/expression-json.js';
import { RUNTIME_DERIVATIVE } from '../norm-derivative.js';
import type { CpuCdistGradPlan } from '../plan-types.js';
import type { CdistGradProblem } from '../problem.js';

/** Steps of k whose factors are kept in the first-level cache. */
const BLOCK_K = 64;
/** Rows of c of one task at most. */
const BLOCK_O = 64;
/** Lines of d that share one block of a. */
const BLOCK_N = 16;
const TASKS_PER_CORE = 4;

/** Chooses a plan for sizes like the problem's; the plan is right for all sizes. */
export function planCdistGradCpu(problem: CdistGradProblem, limits: CpuLimits): CpuCdistGradPlan {
  const { dtype, phi, m, n, o, batch } = problem;
  const { level, cores } = limits;
  const many = vectorUnit(level).registers === 32;
  const lanes = lanesOf(level, dtype);
  const [tileO, tileVectors] = registerTile(o, many);
  // 256 bytes of every line: at most four vectors, at least a register tile.
  const blockVectors = Math.max(4, Math.min(8, 256 / vectorUnit(level).bytes));
  const blockM = blockVectors * lanes;
  const blockO = Math.min(BLOCK_O, Math.ceil(powerOfTwoFrom(o) / tileO) * tileO);
  let blockN = Math.min(BLOCK_N, powerOfTwoFrom(n));
  const tasks = (): number =>
    Math.ceil(m / blockM) * Math.ceil(n / blockN) * Math.ceil(o / blockO) * batch;
  while (blockN > 1 && tasks() < TASKS_PER_CORE * cores) blockN /= 2;
  const name = phi === RUNTIME_DERIVATIVE ? 'any p' : print(phi);
  return Object.freeze({
    kind: 'cpu',
    family: 'cdist-grad',
    summary:
      `cdist-grad ${name}, ${dtype}, cpu ${level} tile ${String(tileO)}x${String(tileVectors * lanes)} ` +
      `block ${String(blockO)}x${String(blockN)}x${String(blockM)}`,
    ...{ level, cores, dtype, phi: toJson(phi) },
    ...{ tileO, tileVectors, blockO, blockN, blockM, blockK: BLOCK_K },
  });
}

/** Rows of c and vectors of factors whose products stay in registers. */
function registerTile(o: number, many: boolean): [rows: number, vectors: number] {
  if (o <= 1) return [1, 4];
  if (o <= 2) return [2, 4];
  return many && o > 4 ? [8, 2] : [4, many ? 4 : 2];
}

function powerOfTwoFrom(count: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, count)));
}
