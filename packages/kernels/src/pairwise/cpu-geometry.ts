import type { CpuGeometry, KernelCost, Scalars } from '../emitted-kernel.js';
import type { RealExpr } from '@mercer/formula';
import { countOps, type CpuPairwisePlan } from './cpu-plan.js';
import { fromJson } from './expression-json.js';

/** A chunk should be worth at least this many operations: fetching one costs under a microsecond. */
const CHUNK_OPS = 2e6;
const CHUNKS_PER_CORE = 4;

const scalar = (scalars: Scalars, name: string): number => scalars[name] ?? 0;

/** Tasks and scratch of a launch. */
export function cpuPairwiseGeometry(plan: CpuPairwisePlan, scalars: Scalars): CpuGeometry {
  const [m, n, k, batch] = ['m', 'n', 'k', 'batch'].map((name) => scalar(scalars, name)) as [
    number,
    number,
    number,
    number,
  ];
  const [rows, columns] = plan.swapped ? [n, m] : [m, n];
  const tasks = Math.ceil(rows / plan.blockRows) * Math.ceil(columns / plan.blockColumns) * batch;
  const opsPerTask =
    (m * n * batch * Math.max(k, 1) * (1 + countOps(fromJson(plan.inner)))) / Math.max(tasks, 1);
  const worthwhile = Math.ceil(CHUNK_OPS / Math.max(opsPerTask, 1));
  const fair = Math.max(1, Math.floor(tasks / (CHUNKS_PER_CORE * plan.cores)));
  return { tasks, chunk: Math.min(worthwhile, fair), scratchBytes: scratchBytes(plan) };
}

/** Partial results, packed columns and packed rows of one task. */
function scratchBytes(plan: CpuPairwisePlan): number {
  const bytes = plan.dtype === 'float32' ? 4 : 8;
  const rowStride = plan.blockDepth + 64 / bytes;
  const values =
    plan.blockRows * plan.blockColumns +
    plan.blockColumns * plan.blockDepth +
    plan.blockRows * rowStride;
  return values * bytes;
}

/** What a launch does: each operation of the inner expression counts as one, and so does the sum. */
export function cpuPairwiseCost(plan: CpuPairwisePlan, scalars: Scalars): KernelCost {
  const [m, n, k, batch] = ['m', 'n', 'k', 'batch'].map((name) => scalar(scalars, name)) as [
    number,
    number,
    number,
    number,
  ];
  const bytes = plan.dtype === 'float32' ? 4 : 8;
  const copies = (stride: string): number => (scalar(scalars, stride) === 0 ? 1 : batch);
  const inner = countOps(fromJson(plan.inner) as RealExpr);
  return {
    bytes:
      bytes * (m * k * copies('batchStrideA') + n * k * copies('batchStrideB') + m * n * batch),
    flops: m * n * k * batch * (1 + inner),
  };
}
