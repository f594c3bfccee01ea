import {
  emitMapReduceSteps,
  planMapReduceSteps,
  takesOnePass,
  type MapReducePlan,
  type MapReduceProblem,
} from '@mercer/kernels';
import { outputsOf, type Reduction } from '@mercer/formula';
import type { DebugOption, Device, Stream, Tensor } from '@mercer/tensor';
import {
  launchProgram,
  loadProblem,
  strideOverBatch,
  type LoadedProgram,
} from '@mercer/tensor/operation';
import type { Input } from './input.js';
import type { LazyDType } from './lazy-dtype.js';
import { translated, translatedSteps } from './lazy-error.js';
import { problemSums, type SumOptions } from './sum-options.js';
import { formulasOf, usedBy, type Reductions } from './task.js';

/** Sizes of a call. */
export interface CallShape {
  readonly dtype: LazyDType;
  readonly device: Device;
  readonly rowsI: number;
  readonly rowsJ: number;
  readonly batchShape: readonly number[];
  readonly batch: number;
}

/** How a kernel reads an input (..batch, rows, dim) or values of pairs (..batch, M, N, dim): elements between rows, and between batch entries. */
export interface Operand {
  /** Of values of pairs from one j to the next; `rowStride` is from one i to the next. */
  readonly columnStride?: number;
  readonly rowStride: number;
  /** 0 broadcasts. */
  readonly batchStride: number;
}

/** A tensor of a call and how it is read. */
export interface BoundInput {
  readonly tensor: Tensor;
  readonly operand: Operand;
}

/** Rows of the side that is kept. */
export function keptRows({ axis }: Pick<Reduction, 'axis'>, { rowsI, rowsJ }: CallShape): number {
  return axis === 1 ? rowsI : rowsJ;
}

/** The shape of each result: (..batch, rows, dim). */
export function resultShape(of: Reduction, shape: CallShape): readonly number[] {
  const [{ dim } = { dim: 1 }] = outputsOf(of);
  return [...shape.batchShape, keptRows(of, shape), dim];
}

/** How many of the last axes of an input are no batch axes. */
export const ownAxes = ({ category }: Pick<Input, 'category'>): number =>
  category === 'pair' ? 3 : 2;

/** How an input is read where it lies, or undefined where it has to be copied first. */
export function inputOperand(
  x: Tensor,
  shape: CallShape,
  { category }: Pick<Input, 'category'>,
): Operand | undefined {
  const axes = ownAxes({ category });
  const [dim = 1, step = 1] = [x.shape.at(-1), x.strides.at(-1)];
  if (dim > 1 && step !== 1) return undefined;
  const batchStride =
    shape.batch === 1
      ? 0
      : strideOverBatch(x.shape.slice(0, -axes), x.strides.slice(0, -axes), shape.batchShape);
  if (batchStride === undefined || batchStride < 0) return undefined;
  const [rows = 1, rowStride = 0] = [x.shape.at(-axes), x.strides.at(-axes)];
  if (category === 'pair') {
    const columnStride = x.strides.at(-2) ?? 0;
    return Math.min(rowStride, columnStride) < 0
      ? undefined
      : { rowStride, columnStride, batchStride };
  }
  if (rows <= 1) return { rowStride: dim, batchStride };
  return rowStride < 0 ? undefined : { rowStride, batchStride };
}

/** What is read of an input before its launch: everything but where its numbers lie. */
export type ExampleInput = Pick<BoundInput, 'tensor'>;

/** The kernels of a call on their device. */
export type LoadedReduction = LoadedProgram<MapReducePlan>;

/** How a reduction is loaded. */
export interface LoadOptions extends SumOptions {
  readonly debug?: DebugOption | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The call is made now: it may be interpreted while its kernels are compiled. */
  readonly isCall?: boolean;
  /** Every kept row is reduced over rows of its own, which the launch says. */
  readonly ranges?: boolean;
}

/** What the kernels of one pass compute. */
function problemOf(
  [reduction, ...further]: Reductions,
  shape: CallShape,
  inputs: readonly (ExampleInput | undefined)[],
  { ranges = false, accumulate, sumScheme }: LoadOptions,
): MapReduceProblem {
  const { dtype, rowsI, rowsJ, batch } = shape;
  const used = usedBy([reduction, ...further].flatMap(formulasOf));
  const storage = storageOf(inputs.map((one, place) => (used.has(place) ? one : undefined)));
  return {
    reduction,
    further,
    dtype,
    storage,
    ranges,
    rowsI,
    rowsJ,
    batch,
    ...problemSums({ accumulate, sumScheme }),
  };
}

/** Whether one pass is the quickest way to compute reductions, and there is one. @throws LazyError UNSUPPORTED */
export function isOnePass(
  what: string,
  reductions: Reductions,
  shape: CallShape,
  inputs: readonly (ExampleInput | undefined)[],
  options: LoadOptions,
): boolean {
  const problem = problemOf(reductions, shape, inputs, options);
  return translated(what, () => takesOnePass(problem, shape.device.limits));
}

/**
 * Plans reductions of one pass for these sizes and loads its kernels, once per problem and device.
 *
 * @throws LazyError UNSUPPORTED where there is no kernel for it; the compiler's or the loader's error
 */
export function loadReductions(
  what: string,
  reductions: Reductions,
  shape: CallShape,
  inputs: readonly (ExampleInput | undefined)[],
  options: LoadOptions,
): Promise<LoadedReduction> {
  const problem = problemOf(reductions, shape, inputs, options);
  const described = reductions.map(({ kind, k = 0, formula, weight }) =>
    [kind, k, formula.id, weight?.id ?? ''].join(' '),
  );
  const { reduction, further: _, ...rest } = problem;
  return loadProblem(
    shape.device,
    {
      key: `map-reduce ${JSON.stringify([reduction.axis, described, rest])}`,
      // The formulas are held, so that their ids, which are in the key, are not given to others.
      holds: reductions,
      plan: (limits) => translatedSteps(what, planMapReduceSteps(problem, limits)),
      emit: (plan) => translatedSteps(what, emitMapReduceSteps(plan)),
    },
    {
      debug: options.debug,
      signal: options.signal,
      values: options.isCall === true ? shape.rowsI * shape.rowsJ * shape.batch : undefined,
    },
  );
}

/** The inputs that are stored in 16 bits, by position. */
export function storageOf(
  inputs: readonly (ExampleInput | undefined)[],
): Record<number, 'float16' | 'bfloat16'> {
  const storage: Record<number, 'float16' | 'bfloat16'> = {};
  for (const [place, bound] of inputs.entries()) {
    const dtype = bound?.tensor.dtype;
    if (dtype === 'float16' || dtype === 'bfloat16') storage[place] = dtype;
  }
  return storage;
}

/** Enqueues the reductions of one pass; `inputs` by place, undefined where the formulas have no such input. */
export function launchReductions(
  loaded: LoadedReduction,
  shape: CallShape,
  inputs: readonly (BoundInput | undefined)[],
  results: readonly Results[],
  stream: Stream,
  ranges?: RangeArguments,
): void {
  const { pointers, scalars } = reductionArguments(shape, inputs, results, ranges);
  launchProgram(loaded, stream, pointers, scalars);
}

/** What the kernels of one pass take. */
export function reductionArguments(
  shape: CallShape,
  inputs: readonly (BoundInput | undefined)[],
  results: readonly Results[],
  ranges: RangeArguments | undefined,
): LaunchArguments {
  const { pointers, scalars } = launchArguments(shape, inputs, ranges);
  for (const [place, { value, index }] of results.entries()) {
    const number = place === 0 ? '' : String(place);
    if (value !== undefined) pointers[`out${number}`] = value;
    if (index !== undefined) pointers[`index${number}`] = index;
  }
  return { pointers, scalars };
}

/** What a kernel is launched with, by the names of its parameters. */
export interface LaunchArguments {
  readonly pointers: Record<string, Tensor>;
  readonly scalars: Record<string, number>;
}

/** The parameter that input number `place` is bound to. */
export const inputPointer = (place: number): string => `x${place}`;

/** What kernels over pairs of rows take but for their results. */
export function launchArguments(
  shape: CallShape,
  inputs: readonly (BoundInput | undefined)[],
  ranges: RangeArguments | undefined,
): LaunchArguments {
  const { rowsI, rowsJ, batch } = shape;
  const pointers: Record<string, Tensor> = {};
  const scalars: Record<string, number> = { rowsI, rowsJ, batch };
  for (const [place, bound] of inputs.entries()) {
    if (bound === undefined) continue;
    pointers[inputPointer(place)] = bound.tensor;
    scalars[`ld${place}`] = bound.operand.rowStride;
    scalars[`batchStride${place}`] = bound.operand.batchStride;
    const { columnStride } = bound.operand;
    if (columnStride !== undefined) scalars[`columnStride${place}`] = columnStride;
    // Of a table whose rows are taken by index.
    scalars[`rows${place}`] = bound.tensor.shape.at(-2) ?? 1;
  }
  if (ranges !== undefined) {
    pointers['tasks'] = ranges.tasks;
    pointers['spans'] = ranges.spans;
    scalars['taskCount'] = ranges.taskCount;
  }
  return { pointers, scalars };
}

/** What a launch with ranges takes beside the inputs. */
export interface RangeArguments {
  readonly tasks: Tensor;
  readonly spans: Tensor;
  readonly taskCount: number;
}

/** No results. */
export const NO_RESULTS: Results = Object.freeze({ value: undefined, index: undefined });

/** The tensors that a reduction writes. */
export interface Results {
  readonly value: Tensor | undefined;
  readonly index: Tensor | undefined;
}
