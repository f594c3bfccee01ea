import { dtypeBytes } from '../../dtype.js';
import type { CpuGeometry, KernelCost, Scalars } from '../../emitted-kernel.js';
import { fusesProducts } from '../../emit/cpu-vector.js';
import { countOps, type CpuPairwisePlan } from './plan.js';

/** A chunk should be worth at least this many operations: fetching one costs under a microsecond. */
const CHUNK_OPS = 2e6;
const CHUNKS_PER_CORE = 4;

/** Tasks and scratch of the launches of a plan, as a function of their scalars. */
export function cpuPairwiseGeometry(plan: CpuPairwisePlan): (scalars: Scalars) => CpuGeometry {
  const opsPerPair = 1 + countOps(plan.inner);
  const scratch = scratchBytes(plan);
  return (scalars) => geometry(plan, opsPerPair, scratch, scalars);
}

function geometry(
  plan: CpuPairwisePlan,
  opsPerPair: number,
  scratch: number,
  scalars: Scalars,
): CpuGeometry {
  const { m = 0, n = 0, k = 0, batch = 0 } = scalars;
  const [rows, columns] = plan.swapped ? [n, m] : [m, n];
  const blocks =
    plan.symmetric === true
      ? triangleBlocks(m, plan.blockRows, plan.blockColumns)
      : Math.ceil(rows / plan.blockRows) * Math.ceil(columns / plan.blockColumns);
  const tasks = blocks * batch;
  const pairs = plan.symmetric === true ? (m * (m + 1)) / 2 : m * n;
  const opsPerTask = (pairs * batch * Math.max(k, 1) * opsPerPair) / Math.max(tasks, 1);
  const worthwhile = Math.ceil(CHUNK_OPS / Math.max(opsPerTask, 1));
  const fair = Math.max(1, Math.floor(tasks / (CHUNKS_PER_CORE * plan.cores)));
  return { tasks, chunk: Math.min(worthwhile, fair), scratchBytes: scratch };
}

/** Partial results, packed columns and packed rows of one task. */
function scratchBytes(plan: CpuPairwisePlan): number {
  const bytes = dtypeBytes(plan.dtype);
  const rowStride = plan.blockDepth + 64 / bytes;
  const values =
    plan.blockRows * plan.blockColumns +
    plan.blockColumns * plan.blockDepth +
    plan.blockRows * rowStride;
  return values * bytes;
}

/**
 * What a launch must do: operands read once, the output written once, each operation of the inner
 * expression and of the sum once. A product that is summed is one instruction where there is a fused
 * multiply-add. A symmetric problem reads one operand and computes each pair once.
 */
export function cpuPairwiseCost(plan: CpuPairwisePlan, scalars: Scalars): KernelCost {
  const { m = 0, n = 0, k = 0, batch = 0, batchStrideA = 1, batchStrideB = 1 } = scalars;
  const copies = (stride: number): number => (stride === 0 ? Math.min(batch, 1) : batch);
  const symmetric = plan.symmetric === true;
  const other = symmetric ? 0 : n * k * copies(batchStrideB);
  const elements = m * k * copies(batchStrideA) + other + m * n * batch;
  const inner = plan.inner;
  const fuses = fusesProducts(plan.level) && plan.reduce === 'sum' && inner.op === 'mul';
  const ops = 1 + countOps(inner);
  const pairs = (symmetric ? (m * (m + 1)) / 2 : m * n) * k * batch;
  return {
    bytes: elements * dtypeBytes(plan.dtype),
    flops: pairs * ops,
    issueSlots: pairs * (fuses ? ops - 1 : ops),
  };
}

/** Blocks of one batch entry that reach the diagonal or what lies below it. */
function triangleBlocks(count: number, blockRows: number, blockColumns: number): number {
  const rowBlocks = Math.ceil(count / blockRows);
  let blocks = 0;
  for (let start = 0; start < count; start += blockColumns) {
    blocks += rowBlocks - Math.floor(start / blockRows);
  }
  return blocks;
}

/**
 * The function `triangle_block`: the place of the block with this number, column block by column
 * block. It counts rather than solving an equation: a block is worth far more than the counting.
 */
export const TRIANGLE_TEXT = `// row and column block of the given block among those that reach the diagonal or what lies below it
UNUSED static int64_t triangle_blocks(int64_t count) {
  int64_t blocks = 0;
  for (int64_t c0 = 0; c0 < count; c0 += BLOCK_COLUMNS) blocks += (count + BLOCK_ROWS - 1) / BLOCK_ROWS - c0 / BLOCK_ROWS;
  return blocks;
}
static void triangle_block(int64_t block, int64_t count, int64_t& r0, int64_t& c0) {
  const int64_t row_blocks = (count + BLOCK_ROWS - 1) / BLOCK_ROWS;
  for (c0 = 0; block >= row_blocks - c0 / BLOCK_ROWS; c0 += BLOCK_COLUMNS) block -= row_blocks - c0 / BLOCK_ROWS;
  r0 = (c0 / BLOCK_ROWS + block) * BLOCK_ROWS;
}`;
