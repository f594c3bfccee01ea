import { variables, type RealExpr } from '@mercer/formula';
import type { CudaLimits } from '../device-limits.js';
import type { DType, PairwiseDType } from '../dtype.js';
import type { MapPlan } from '../elementwise/map-plan-types.js';
import type { Scalars } from '../emitted-kernel.js';

/** What is taken of elements along axes, on every device. */
export type BasicReduceKind = 'sum' | 'prod' | 'min' | 'max' | 'argMin' | 'argMax' | 'any' | 'all';

/** What an element is made of with the sum of exponentials of all: its result has the elements' places. */
export type SpreadKind = 'softmax' | 'logSoftmax';

/** What one kernel of a GPU takes of elements along axes. */
export type ReduceKind = BasicReduceKind | 'logSumExp' | SpreadKind;

/** Whether there is a result for each element instead of one for all. */
export const isSpread = (kind: ReduceKind): kind is SpreadKind =>
  kind === 'softmax' || kind === 'logSoftmax';

/** Elements that the threads of one result read twice, where it is spread over them. */
export const MOST_SPREAD = 2 ** 14;

/** One input, over the kept axes and then the reduced ones; strides in elements, 0 along repeated axes. */
export interface ReduceInput {
  readonly name: string;
  readonly dtype: DType;
  readonly keptStrides: readonly number[];
  readonly reducedStrides: readonly number[];
}

/** A formula of elements, reduced over axes. The result is row-major over the kept axes, or over all where it is spread. */
export interface ReduceProblem {
  readonly kind: ReduceKind;
  readonly expr: RealExpr;
  /** Extents of the axes that stay, in their order. */
  readonly kept: readonly number[];
  /** Extents of those that go, in their order. */
  readonly reduced: readonly number[];
  readonly inputs: readonly ReduceInput[];
  readonly out: DType;
  readonly computesIn: PairwiseDType;
  /** Numbers of the launch, by the names of the variables that they are. */
  readonly parameters: Readonly<Record<string, number>>;
  /** What a sum is divided by: the number of terms for a mean. */
  readonly divisor: number;
  /** Of a result that is spread over the elements: where they go. */
  readonly spread?: Pick<ReduceInput, 'keptStrides' | 'reducedStrides'> | undefined;
}

/** Everything that decides the text of a reduction over axes on a GPU. */
export interface ReducePlan extends Pick<MapPlan, 'inputs' | 'parameters' | 'indices'> {
  readonly family: 'reduce';
  readonly kind: ReduceKind;
  readonly expr: RealExpr;
  readonly dtype: PairwiseDType;
  readonly out: DType;
  readonly keptRank: number;
  readonly reducedRank: number;
  /** Results of one block; the threads of one result share its elements. */
  readonly results: 1 | 32 | 256;
  /** Threads of a block. */
  readonly threads: 256 | 1024;
  /** Blocks of their own reduce parts of the elements; a second kernel merges them in order. */
  readonly parts: boolean;
}

/** A plan with the arguments that make it this reduction. */
export interface PlannedReduce {
  readonly plan: ReducePlan;
  readonly scalars: Scalars;
  /** For each input of the plan, its place in the problem's inputs. */
  readonly inputs: readonly number[];
}

/** Threads of a block that shares elements with others, and of one that has a few thousand of them alone. */
export const REDUCE_THREADS = { shared: 256, alone: 1024 } as const;
/** Elements of one result that a large block reduces sooner than several blocks and a second kernel, which waits for the first. */
const ALONE = { least: 2 ** 11, most: 2 ** 15 } as const;
/** Blocks of each multiprocessor at which its memory is busy. */
const BLOCKS = 8;
/** Elements that are worth a block. */
const LEAST_PART = 4096;
const FEW_ELEMENTS = 32;
/** The same of exponentials, which take one thread longer. */
const FEW_EXPONENTIALS = 4;

/**
 * The kernel for a reduction on a GPU. Elements are read in the order of memory: by the threads of one result where an input's last
 * reduced axis is contiguous, else by the results beside each other.
 */
export function planReduce(problem: ReduceProblem, { multiprocessors }: CudaLimits): PlannedReduce {
  const { kind, expr, inputs, out, computesIn, parameters, divisor } = problem;
  const names = new Set(variables(expr));
  const used = inputs.flatMap((input, place) =>
    names.has(input.name) ? [{ ...input, place }] : [],
  );
  // a result of each element follows the inputs
  const laid = problem.spread === undefined ? used : [...used, problem.spread];
  const kept = mergeAxes(
    problem.kept,
    laid.map(({ keptStrides }) => keptStrides),
  );
  const reduced = mergeAxes(
    problem.reduced,
    laid.map(({ reducedStrides }) => reducedStrides),
  );
  const outputs = product(problem.kept);
  const count = product(problem.reduced);
  const few = kind === 'logSumExp' || isSpread(kind) ? FEW_EXPONENTIALS : FEW_ELEMENTS;
  const results = count > few && count <= FEW_ELEMENTS ? 32 : resultsOfBlock(count, kept, reduced);
  const blocks = Math.ceil(outputs / results);
  const wanted = Math.ceil((BLOCKS * multiprocessors) / Math.max(1, blocks));
  const isAlone =
    results === 1 &&
    !isSpread(kind) &&
    blocks <= multiprocessors &&
    count >= ALONE.least &&
    count <= ALONE.most;
  const most = isAlone || isSpread(kind) ? 1 : Math.floor((count * results) / LEAST_PART);
  const parts = Math.max(1, Math.min(wanted, most));
  const parameterNames = Object.keys(parameters).filter((name) => names.has(name));
  const plan: ReducePlan = Object.freeze({
    family: 'reduce',
    kind,
    expr,
    dtype: used.some(({ dtype }) => dtype === 'float64') ? 'float64' : computesIn,
    out,
    keptRank: kept.length,
    reducedRank: reduced.length,
    inputs: used.map(({ name, dtype }) => ({ name, dtype, repeated: false })),
    parameters: parameterNames,
    indices: [],
    results,
    threads: isAlone ? REDUCE_THREADS.alone : REDUCE_THREADS.shared,
    parts: parts > 1,
  });
  const scalars: Record<string, number> = { outputs, count, parts, divisor };
  scalars['perPart'] = Math.ceil(count / parts);
  for (const [prefix, axes] of [
    ['k', kept],
    ['r', reduced],
  ] as const) {
    for (const [at, { extent, strides }] of axes.entries()) {
      scalars[`${prefix}n${at}`] = extent;
      for (const [k, stride] of strides.entries()) scalars[`${prefix}s${k}_${at}`] = stride;
    }
  }
  for (const [k, name] of parameterNames.entries()) scalars[`p${k}`] = parameters[name] ?? NaN;
  return { plan, scalars, inputs: used.map(({ place }) => place) };
}

interface Axis {
  readonly extent: number;
  /** One for each input. */
  readonly strides: readonly number[];
}

/** The fewest axes that visit the same elements in the same order; never none. */
function mergeAxes(
  extents: readonly number[],
  strides: readonly (readonly number[])[],
): readonly Axis[] {
  const axes: Axis[] = [];
  for (const [at, extent] of extents.entries()) {
    if (extent === 1) continue;
    const own = strides.map((all) => all[at] ?? 0);
    const before = axes.at(-1);
    if (before?.strides.every((stride, k) => stride === extent * (own[k] ?? 0))) {
      axes[axes.length - 1] = { extent: before.extent * extent, strides: own };
    } else {
      axes.push({ extent, strides: own });
    }
  }
  if (axes.length === 0) axes.push({ extent: product(extents), strides: strides.map(() => 0) });
  return axes;
}

const product = (extents: readonly number[]): number =>
  extents.reduce((size, extent) => size * extent, 1);

function resultsOfBlock(
  count: number,
  kept: readonly Axis[],
  reduced: readonly Axis[],
): ReducePlan['results'] {
  if (count <= FEW_ELEMENTS) return 256;
  const isContiguous = (axes: readonly Axis[]): boolean =>
    axes.at(-1)?.strides.some((stride) => Math.abs(stride) === 1) === true;
  return !isContiguous(reduced) && isContiguous(kept) ? 32 : 1;
}
