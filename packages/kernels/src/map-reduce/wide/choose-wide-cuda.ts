import type { CudaLimits } from '../../device-limits.js';
import { dtypeBytes } from '../../dtype.js';
import { CUDA_SIDE, type CudaWidePlan } from './wide-plan-types.js';
import { mostStagedLoads, type WideShape } from './wide-shape.js';

const MOST_SPLITS = 64;
const BLOCKS_PER_MULTIPROCESSOR = 2;
/** 32-bit registers of a thread for running results, and for inner sums of one kept row. */
const STATE_REGISTERS = { float32: 32, float64: 24 } as const;
const SUM_REGISTERS = 4;
/** Bytes of shared memory for copies, and for pair values or running results that threads hand over. */
const STAGED_BYTES = 20480;
const HELD_BYTES = 24576;

/** The cut for a GPU. Throws a `RangeError` where a pair of rows has more values than shared memory takes. */
export function chooseWideCuda(
  { dtype, formula, slots, sums, keptRows, reducedRows, mergeable }: WideShape,
  { multiprocessors }: CudaLimits,
): Pick<CudaWidePlan, 'groups' | 'rows' | 'tile' | 'steps' | 'splits'> {
  const bytes = dtypeBytes(dtype);
  const words = bytes / 4;
  const isNarrow = formula.columns === 1;
  const groups = ([4, 2] as const).find((g) => g * slots * words <= STATE_REGISTERS[dtype]) ?? 1;
  const rows =
    sums === 0 && !isNarrow
      ? 1
      : (([4, 2] as const).find((r) => r * sums * words <= SUM_REGISTERS) ?? 1);
  const side = CUDA_SIDE * groups * bytes;
  const held = isNarrow ? Infinity : HELD_BYTES / (Math.max(1, formula.pair) * side);
  if (held < 1 || (isNarrow && slots * side > HELD_BYTES)) {
    throw new RangeError(
      `cannot plan a map-reduce: a pair of rows has ${String(formula.pair)} values and a running result ${String(slots)} numbers, ` +
        `more than a GPU's shared memory takes. Split the formula into several, or ask for fewer extrema (K).`,
    );
  }
  const stepBytes = mostStagedLoads(formula) * (CUDA_SIDE * Math.max(groups, rows) + 4) * bytes;
  const steps = [16, 8, 4, 2, 1].find((s) => s * stepBytes <= STAGED_BYTES) ?? 0;
  const blocks = Math.max(1, Math.ceil(keptRows / (CUDA_SIDE * groups)));
  const wanted = (multiprocessors * BLOCKS_PER_MULTIPROCESSOR) / blocks;
  const parts = Math.min(MOST_SPLITS, wanted, reducedRows / (CUDA_SIDE * rows * 4));
  return {
    ...{ groups, rows, steps: stepBytes === 0 ? 0 : steps },
    tile: powerOfTwo(Math.min(CUDA_SIDE * rows, held)),
    splits: isNarrow && mergeable && parts >= 2 ? powerOfTwo(parts) : 1,
  };
}

/** The largest power of two that is not above `value`. */
const powerOfTwo = (value: number): number => 2 ** Math.floor(Math.log2(value));
