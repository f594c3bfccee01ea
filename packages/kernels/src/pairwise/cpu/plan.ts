import { postOrder, type Expr, type Op } from '@mercer/formula/plan';
import type { CpuLimits } from '../../device-limits.js';
import { lanesOf, vectorUnit, type CpuLevel } from '../../emit/cpu-vector.js';
import { planExtras, type PlanExtras, type PairwiseProblem } from '../problem.js';

/**
 * How a pairwise problem is computed on a CPU. Rows are the points that are broadcast, columns those
 * that lie side by side in a vector; a and b swap these roles where `swapped`. A task computes
 * `blockRows` x `blockColumns` results, `blockDepth` steps of k at a time, in register tiles of
 * `tileRows` x `tileVectors` vectors.
 */
export interface CpuPairwisePlan
  extends
    PlanExtras,
    Pick<
      PairwiseProblem,
      'dtype' | 'inner' | 'outer' | 'reduce' | 'layoutA' | 'layoutB' | 'layoutOut'
    > {
  readonly kind: 'cpu';
  /** One readable line. */
  readonly summary: string;
  readonly level: CpuLevel;
  readonly cores: number;
  readonly swapped: boolean;
  readonly tileRows: number;
  readonly tileVectors: number;
  readonly blockRows: number;
  readonly blockColumns: number;
  readonly blockDepth: number;
  /** Outputs of at least this many bytes are written past the caches, where alignment allows. */
  readonly streamBytes: number;
}

/** Expressions of at most this many operations are bound by loads and get the largest tile. */
const CHEAP_OPS = 6;
/** Bytes of the packed columns and of the partial results of one task, each. */
const BLOCK_BYTES = 512 * 1024;
const BLOCK_DEPTH_BYTES = 1024;
const MAX_BLOCK_ROWS = 240;
/** About a last-level cache: what is larger is gone before anybody reads it. */
const STREAM_BYTES = 32 * 1024 * 1024;
const TASKS_PER_CORE = 4;

/** Chooses a plan for sizes like the problem's; the plan is right for all sizes. */
export function planCpuPairwise(problem: PairwiseProblem, limits: CpuLimits): CpuPairwisePlan {
  const { dtype, layoutOut } = problem;
  const lanes = lanesOf(limits.level, dtype);
  const bytes = dtype === 'float32' ? 4 : 8;
  // Vectors go along the contiguous axis of the output, unless only the other axis fills one.
  const [contiguous, other] = layoutOut === 'row' ? [problem.n, problem.m] : [problem.m, problem.n];
  const alongContiguous = contiguous >= lanes || contiguous >= other;
  const swapped = (layoutOut === 'column') === alongContiguous;
  const [rows, columns] = swapped ? [problem.n, problem.m] : [problem.m, problem.n];

  const [tileRows, tileVectors] = registerTile(problem, limits.level, rows, columns, lanes);
  const tileColumns = tileVectors * lanes;
  const blockDepth = BLOCK_DEPTH_BYTES / bytes;
  let blockColumns = block(Math.min(columns, BLOCK_BYTES / bytes / blockDepth), tileColumns);
  let blockRows = block(Math.min(rows, MAX_BLOCK_ROWS), tileRows);
  const share = problem.symmetric === true ? 0.5 : 1;
  const tasks = (): number =>
    Math.ceil(rows / blockRows) * Math.ceil(columns / blockColumns) * problem.batch * share;
  // Enough tasks for every core to stay busy to the end; small tiles pack more than they save.
  while (tasks() < TASKS_PER_CORE * limits.cores) {
    if (blockColumns > 2 * tileColumns && blockColumns * 2 >= blockRows) blockColumns /= 2;
    else if (blockRows > 4 * tileRows) blockRows /= 2;
    else break;
  }
  return Object.freeze({
    kind: 'cpu',
    summary:
      `cpu ${limits.level} tile ${tileRows}x${tileColumns} ` +
      `block ${blockRows}x${blockColumns}x${blockDepth}` +
      (swapped ? ' swapped' : '') +
      (problem.symmetric === true ? ' symmetric' : ''),
    level: limits.level,
    cores: limits.cores,
    dtype,
    inner: problem.inner,
    outer: problem.outer,
    reduce: problem.reduce,
    layoutA: problem.layoutA,
    layoutB: problem.layoutB,
    layoutOut,
    swapped,
    tileRows,
    tileVectors,
    blockRows,
    blockColumns,
    blockDepth,
    streamBytes: STREAM_BYTES,
    ...planExtras(problem),
  });
}

/** Rows and vectors of accumulators; what is left of the registers holds operands. */
function registerTile(
  problem: PairwiseProblem,
  level: CpuLevel,
  rows: number,
  columns: number,
  lanes: number,
): [rows: number, vectors: number] {
  const cheap = countOps(problem.inner) <= CHEAP_OPS;
  const many = vectorUnit(level).registers === 32;
  const largest = cheap ? (many ? 4 : 2) : 2;
  const vectors = Math.max(1, Math.min(largest, Math.ceil(columns / lanes)));
  const accumulators = cheap ? (many ? 24 : 12) : 8;
  const most = Math.min(Math.floor(accumulators / vectors), 8);
  return [rows >= most ? most : 2 ** Math.floor(Math.log2(Math.max(1, rows))), vectors];
}

/** Instructions of the operations that take more than one. */
const WEIGHTS: { readonly [O in Op]?: number } = {
  exp: 15,
  log: 15,
  tanh: 20,
  pow: 30,
  call: 60,
};

/** Operations of an expression, leaves apart; transcendental ones weigh as many as they cost. */
export function countOps(expr: Expr): number {
  const weight = ({ op, args }: Expr): number => (args.length === 0 ? 0 : (WEIGHTS[op] ?? 1));
  return postOrder(expr).reduce((sum, node) => sum + weight(node), 0);
}

/**
 * A block of about this extent: a power of two tiles, so that problems of many sizes share few
 * plans, each of which is one compilation.
 */
function block(extent: number, tile: number): number {
  return tile * 2 ** Math.floor(Math.log2(Math.max(1, Math.ceil(extent / tile))));
}
