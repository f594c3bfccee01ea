import { unrolledSize, variables, type ReductionKind } from '@mercer/formula';
import type { CpuLimits, CudaLimits, DeviceLimits } from '../../device-limits.js';
import { dtypeBytes } from '../../dtype.js';
import { lanesOf, vectorUnit, type CpuLevel } from '../../emit/cpu-vector.js';
import type { PairwiseDType } from '../../pairwise/problem.js';
import type { MapReduceInput } from '../plan.js';
import type { MapReduceProblem } from '../problem.js';
import { blockReducer, resultWidth } from './column-blocks.js';
import { loopGroups } from './loop-order.js';
import { planWideFormula } from './plan-wide-formula.js';
import { scheduledLoops } from './tile-text.js';
import { COLUMN, type WideFormula } from './wide-formula.js';

interface CommonWidePlan {
  readonly family: 'map-reduce';
  /** The formula's long sums and its components are loops. */
  readonly form: 'loops';
  /** One readable line. */
  readonly summary: string;
  readonly dtype: PairwiseDType;
  readonly reduction: ReductionKind;
  /** 1: over j, a result for every i. 0: over i. */
  readonly axis: 0 | 1;
  readonly k: number;
  /** Numbers of a row of results. */
  readonly width: number;
  /** Scalar operations at a pair of rows. */
  readonly operations: number;
  readonly formula: WideFormula;
  readonly inputs: readonly MapReduceInput[];
  /** Columns that are reduced together. */
  readonly block: number;
}

/** How a formula of long vectors is reduced on a CPU. */
export interface CpuWidePlan extends CommonWidePlan {
  readonly kind: 'cpu';
  readonly level: CpuLevel;
  /** Vectors of kept rows of a task. */
  readonly groups: number;
  /** Reduced rows whose inner sums run together. */
  readonly rows: number;
  /** Reduced rows whose pair values are held while the columns pass. */
  readonly tile: number;
  /** Blocks of columns of a task. */
  readonly blocks: number;
  /** Whether a task copies its kept rows, one component after the other. */
  readonly packed: boolean;
}

/** How a formula of long vectors is reduced on a GPU. */
export interface CudaWidePlan extends CommonWidePlan {
  readonly kind: 'cuda';
  /** Kept rows of a thread. */
  readonly groups: 1 | 2 | 4;
  /** Reduced rows of a thread whose inner sums run together. */
  readonly rows: 1 | 2 | 4;
  /** Reduced rows whose pair values are held while the columns pass. */
  readonly tile: number;
  /** Steps of an inner sum that are copied to shared memory at a time; 0: none is. */
  readonly steps: number;
  /** Parts of the reduced rows, each of other blocks; above 1 a second step merges them. */
  readonly splits: number;
}

/** How a formula of long vectors is reduced: plain frozen data. */
export type WidePlan = CpuWidePlan | CudaWidePlan;

/** Reduced rows between two merges of a sum. */
export const BLOCK_ROWS = 256;
/** Threads of a block along the kept rows, and along the reduced rows or the columns. */
export const CUDA_SIDE = 16;

/** The plan of a map-reduce whose long sums and columns are loops. */
export function planWide(
  { dtype, reduction, rowsI, rowsJ, batch }: MapReduceProblem,
  inputs: readonly MapReduceInput[],
  limits: DeviceLimits,
): WidePlan {
  const { kind, axis, k = 1, formula: whole, weight } = reduction;
  const formula = planWideFormula(reduction);
  const columns = formula.columns;
  const block = blockOf(kind, formula, limits.kind);
  const width = resultWidth({ reduction: kind, k, block }, columns);
  const roots = weight === undefined ? [whole] : [whole, weight];
  const common = {
    ...({ family: 'map-reduce', form: 'loops', dtype, reduction: kind, axis, k } as const),
    ...{ width, operations: unrolledSize(...roots), formula, inputs, block },
  };
  const shape: WideShape = {
    ...common,
    keptRows: (axis === 1 ? rowsI : rowsJ) * batch,
    reducedRows: axis === 1 ? rowsJ : rowsI,
    own: dimsOf(inputs, axis === 1 ? 'i' : 'j'),
    slots: slotsOf(common),
    sums: widestGroup(formula),
  };
  const [kept, reduced] = axis === 1 ? ['i', 'j'] : ['j', 'i'];
  const head = [
    `map-reduce ${dtype} ${kind}${k > 1 ? ` ${String(k)}` : ''} over ${reduced ?? ''} of ${String(columns)}`,
    `i ${String(dimsOf(inputs, 'i'))} j ${String(dimsOf(inputs, 'j'))}`,
    `${String(formula.loops.length)} loops`,
  ];
  if (limits.kind === 'cpu') {
    const tile = chooseCpu(shape, limits);
    const text = `${String(tile.groups)} groups of ${String(lanesOf(limits.level, dtype))} rows ${kept ?? ''} by ${String(tile.rows)}`;
    const summary = [...head, text, ...blocksText(tile.blocks, block, columns)].join(', ');
    return Object.freeze({ kind: 'cpu', summary, ...common, level: limits.level, ...tile });
  }
  const tile = chooseCuda(shape, limits);
  const text = `${String(tile.groups)} by ${String(tile.rows)} pairs a thread`;
  const parts = tile.splits > 1 ? [`${String(tile.splits)} parts`] : [];
  const summary = [...head, text, `steps of ${String(tile.steps)}`, ...parts].join(', ');
  return Object.freeze({ kind: 'cuda', summary, ...common, ...tile });
}

interface WideShape extends CommonShape {
  readonly keptRows: number;
  readonly reducedRows: number;
  /** Components of the inputs of the kept side. */
  readonly own: number;
  /** Members of the running result of a block of columns. */
  readonly slots: number;
  /** Inner sums that run in one loop. */
  readonly sums: number;
}

type CommonShape = Omit<CommonWidePlan, 'summary'>;

function blocksText(blocks: number, block: number, columns: number): string[] {
  return columns > 1 ? [`${String(blocks)} blocks of ${String(block)} columns`] : [];
}

function dimsOf(inputs: readonly MapReduceInput[], category: string): number {
  return inputs.reduce((sum, one) => sum + (one.category === category ? one.dim : 0), 0);
}

/** Columns that are reduced together: few of those that cost much. */
function blockOf(kind: ReductionKind, formula: WideFormula, device: 'cpu' | 'cuda'): number {
  const { columns, before, pair } = formula;
  if (columns === 1 || kind.includes('K')) return 1;
  const { roots, scheduled } = scheduledLoops(formula);
  const hasLoops = loopGroups(scheduled, COLUMN, roots.slice(pair, pair + 1)).length > 0;
  // an exponential serves a block, and inner sums of pairs serve the columns of a block of threads
  if (before > 0) return Math.min(columns, device === 'cpu' ? 8 : 4);
  if (hasLoops) return 1;
  return Math.min(columns, device === 'cuda' && widestGroup(formula) > 0 && columns >= 128 ? 8 : 4);
}

function slotsOf(one: Pick<CommonWidePlan, 'reduction' | 'k' | 'block'>): number {
  const nothing = (): string => '';
  return blockReducer(one, { lit: nothing, exp: nothing, log: nothing, abs: nothing }).slots.length;
}

/** The most inner sums that one loop over a pair's components has; 0: there is no such loop. */
function widestGroup(formula: WideFormula): number {
  const { roots, scheduled } = scheduledLoops(formula);
  const groups = loopGroups(scheduled, '', roots.slice(0, formula.pair + 1));
  return Math.max(0, ...groups.map((group) => group.length));
}

/** Bytes of kept rows that a task may copy, and of running results that it may hold. */
const MOST_PACKED = 1 << 22;
const MOST_PAIR_VALUES = 16384;

function chooseCpu(
  { dtype, formula, own, slots, sums, keptRows, block }: WideShape,
  { level, cores, l2Bytes }: CpuLimits,
): Pick<CpuWidePlan, 'groups' | 'rows' | 'tile' | 'blocks' | 'packed'> {
  const { bytes, registers } = vectorUnit(level);
  const vectors = Math.ceil(keptRows / lanesOf(level, dtype) / cores);
  const most = registers === 32 ? 4 : 2;
  const fits = (groups: number): boolean => own * groups * bytes <= MOST_PACKED;
  const groups = ([4, 2] as const).find((g) => g <= most && g <= vectors && fits(g)) ?? 1;
  const accumulators = registers === 32 ? 16 : 8;
  const rows = Math.max(1, Math.min(8, Math.floor(accumulators / groups / Math.max(1, sums))));
  const pairBytes = Math.max(1, formula.pair) * groups * bytes;
  const tile = Math.max(8, Math.min(64, 2 ** Math.floor(Math.log2(MOST_PAIR_VALUES / pairBytes))));
  // the running results of a task, twice, fill half of the second cache
  const stateBytes = 2 * slots * groups * bytes;
  const all = Math.ceil(formula.columns / block);
  const parts = Math.max(1, Math.ceil((all * stateBytes * 2) / l2Bytes));
  return {
    ...{ groups, tile, packed: fits(groups) },
    rows: sums === 0 ? 1 : rows,
    blocks: Math.ceil(all / parts),
  };
}

const MOST_SPLITS = 64;
const BLOCKS_PER_MULTIPROCESSOR = 2;
const STAGED_BYTES = 20480;
/** Bytes of shared memory for pair values, and for running results that threads hand over. */
const HELD_BYTES = 24576;

function chooseCuda(
  { dtype, formula, slots, sums, keptRows, reducedRows }: WideShape,
  { multiprocessors }: CudaLimits,
): Pick<CudaWidePlan, 'groups' | 'rows' | 'tile' | 'steps' | 'splits'> {
  const words = dtypeBytes(dtype) / 4;
  const cost = slots * words;
  const narrow = formula.columns === 1;
  const groups = ([4, 2] as const).find((g) => g * cost <= 32) ?? 1;
  const wide = ([4, 2] as const).find((r) => r * sums * words <= 4) ?? 1;
  const rows = sums === 0 && !narrow ? 1 : wide;
  const rowBytes = formula.pair * CUDA_SIDE * groups * dtypeBytes(dtype);
  const tile = narrow ? CUDA_SIDE * rows : powerOfTwo(Math.min(CUDA_SIDE * rows, HELD_BYTES / rowBytes));
  if (tile < 1 || slots * dtypeBytes(dtype) * CUDA_SIDE * groups > HELD_BYTES) {
    throw new RangeError(
      `cannot plan a map-reduce: a pair of rows has ${String(formula.pair)} values and a running result ${String(slots)} numbers. ` +
        `Split the formula into several, or ask for fewer extrema (K).`,
    );
  }
  const loads = stagedLoads(formula);
  const stepBytes = loads * (Math.max(groups, rows) * CUDA_SIDE + 4) * dtypeBytes(dtype);
  const steps =
    loads === 0 ? 0 : ([16, 8, 4, 2, 1].find((s) => s * stepBytes <= STAGED_BYTES) ?? 0);
  const blocks = Math.max(1, Math.ceil(keptRows / (CUDA_SIDE * groups)));
  const wanted = multiprocessors * BLOCKS_PER_MULTIPROCESSOR;
  const parts = Math.min(MOST_SPLITS, wanted / blocks, reducedRows / (CUDA_SIDE * rows * 4));
  const splits = narrow && parts >= 2 ? powerOfTwo(parts) : 1;
  return { groups, rows, tile, steps, splits };
}

/** The largest power of two that is not above `value`. */
const powerOfTwo = (value: number): number => 2 ** Math.floor(Math.log2(value));

/** How many loads the busiest loop over a pair's components could copy to shared memory. */
function stagedLoads(formula: WideFormula): number {
  const { roots, scheduled } = scheduledLoops(formula);
  const lines = new Map(
    formula.loads
      .filter(({ line, category }) => line !== undefined && category !== 'parameter')
      .map(({ name, line }) => [name, line?.counter]),
  );
  const groups = loopGroups(scheduled, '', roots.slice(0, formula.pair + 1));
  const counts = groups.map((group) => {
    const names = new Set(group.flatMap(({ body }) => variables(body)));
    return [...names].filter((name) => lines.get(name) === group[0]?.counter).length;
  });
  return Math.max(0, ...counts);
}
