import { reductionGradient, type Reduction, type VectorExpr } from '@mercer/formula';
import { formatShape, MercerError, sumTo, type Tensor } from '@mercer/tensor';
import type { CallOptions } from './execute.js';
import { commonExtent } from './extent.js';
import { describeInput, isSameInput, nodeAt, type Input } from './input.js';
import { checkVariable } from './lazy-calculus.js';
import { LazyError, translated } from './lazy-error.js';
import type { LazyFormula } from './lazy-formula.js';
import { matrixInput, parameterInput, type LazyData } from './make-input.js';
import { savedNodes, type SavedOptions } from './saved-results.js';
import type { Task } from './task.js';
import { shapeAfter } from './view-step.js';

/** Gradients of a reduction as reductions, over one list of inputs. */
export interface Derivatives {
  /** One for each place, a sum over one side or the other. */
  readonly reductions: readonly Reduction[];
  readonly inputs: readonly Input[];
}

/** What is differentiated. */
export interface Differentiated {
  readonly task: Task;
  /** What `cotangentInput` gives; ones where there is none. */
  readonly cotangent: Input | undefined;
}

/**
 * The gradients by the inputs at some places. What they need of the forward pass and `options.saved` has not is computed, and
 * pushed to `made`, whose owner disposes it.
 *
 * @throws LazyError NOT_DIFFERENTIABLE; MercerError SHAPE_MISMATCH
 */
export async function derivativesBy(
  what: string,
  { task, cotangent }: Differentiated,
  places: readonly number[],
  options: SavedOptions & Pick<CallOptions, 'device'>,
  made: Tensor[],
): Promise<Derivatives> {
  const kept = keptSide(task);
  const inputs = [...task.inputs];
  const node = (input: Input): VectorExpr => nodeAt(input, inputs.push(input) - 1);
  const seed = cotangent === undefined ? 1 : node(cotangent);
  const saved = await savedNodes(what, task, options, made, {
    rows: (x) => node(matrixInput(what, x, kept, 'saved')),
    count: (rows) => node(parameterInput(what, [rows], 'count')),
  });
  const reductions = places.map((place) => {
    const by = nodeAt(inputAt(task, place), place);
    return translated(what, () => reductionGradient(task.reduction, by, seed, saved)).reduction;
  });
  return { reductions, inputs };
}

/** The input at a place that was found. */
export function inputAt({ inputs }: Pick<Task, 'inputs'>, place: number): Input {
  const found = inputs[place];
  if (found === undefined) throw new Error('the place of an input is one of the list');
  return found;
}

/** The place of a variable among the inputs of a task. @throws LazyError INVALID_ARGUMENT, NOT_DIFFERENTIABLE */
export function placeOf(
  what: string,
  { inputs }: Pick<Task, 'inputs'>,
  variable: LazyFormula | string,
): number {
  if (typeof variable !== 'string') checkVariable(what, variable);
  const [wanted] = typeof variable === 'string' ? [] : variable.inputs;
  // Rows of a variable may be taken by index too, which is an input of the same name.
  const isWanted = (one: Input): boolean =>
    wanted === undefined ? !one.isTable && one.name === variable : isSameInput(one, wanted);
  const place = inputs.findIndex(isWanted);
  if (place >= 0) return place;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: ${String(variable)} is no input of the reduction. Its inputs are ${inputs.map(describeInput).join(', ')}.`,
  );
}

/** The side that a task keeps. */
function keptSide({ reduction }: Pick<Task, 'reduction'>): 'i' | 'j' {
  return reduction.axis === 1 ? 'i' : 'j';
}

/**
 * A cotangent as an input of the kept side; undefined where there is none.
 *
 * @param dim numbers in a row of the result
 * @throws MercerError SHAPE_MISMATCH where it has not the shape of the result
 */
export function cotangentInput(
  what: string,
  task: Task,
  dim: number,
  cotangent: LazyData | undefined,
): Input | undefined {
  if (cotangent === undefined) return undefined;
  const seed = matrixInput(what, cotangent, keptSide(task), 'cotangent');
  const extent = commonExtent(what, task.inputs);
  const rows = (seed.category === 'i' ? extent.rowsI : extent.rowsJ) ?? 1;
  const wanted = [...extent.batchShape, rows, dim];
  const found = [...(seed.extent?.batchShape ?? []), seed.extent?.rows ?? 0, seed.dim];
  if (wanted.join() === found.join()) return seed;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: ${describeInput(seed)} has shape ${formatShape(found)}, and the result of the reduction has ${formatShape(wanted)}. Pass a cotangent of the result's shape.`,
  );
}

/** The gradient by rows (..batch, rows, dim) in the shape of the data: what was broadcast is added up. */
export async function toData(
  value: Tensor,
  by: Input,
  options: Pick<CallOptions, 'stream'>,
): Promise<Tensor> {
  const total = await sumTo(value as Tensor<'float32'>, rowShape(by), options);
  try {
    return total.reshape(gradientShape(by));
  } finally {
    total.dispose();
  }
}

/** The shape of an input as kernels read it. */
export function rowShape({ extent, dim, category }: Input): readonly number[] {
  const { batchShape, rows } = extent ?? { batchShape: [], rows: 1 };
  return [...batchShape, category === 'parameter' ? 1 : rows, dim];
}

/** The shape of a gradient: that of the data, or of the rows that are taken of it. */
export function gradientShape(by: Input): readonly number[] {
  const { source, steps } = by;
  const own = rowShape(by);
  if (steps.length === 0 || source.kind !== 'tensor') return own;
  const isWhole = shapeAfter(source.tensor.shape, steps).join() === own.join();
  return isWhole && steps.every(({ op }) => op !== 'rows') ? source.tensor.shape : own;
}
