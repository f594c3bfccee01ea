import type { VectorExpr } from '@mercer/formula';
import { MercerError, type Tensor } from '@mercer/tensor';
import { formatShape, inSlices } from '@mercer/tensor/operation';
import { commonExtent } from './extent.js';
import { describeInput, isSameData, isSameInput, nodeAt, shapeOf, type Input } from './input.js';
import { LazyError, translatedSteps } from './lazy-error.js';
import { checkVariable, type LazyFormula } from './lazy-formula.js';
import { matrixInput, parameterInput, type LazyData } from './make-input.js';
import { savedNodes, type SavedCall } from './saved-results.js';
import { sharesOf, type Share } from './shares.js';
import type { Task } from './task.js';
import { shapeAfter } from './view-step.js';

/** Gradients of a reduction as reductions, over one list of inputs. */
export interface Derivatives {
  /** Of the gradient by each place, sums over one side or the other. */
  readonly shares: readonly (readonly Share[])[];
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
  options: SavedCall,
  made: Tensor[],
): Promise<Derivatives> {
  const kept = keptSide(task);
  const inputs = [...task.inputs, ...onlyRow(what, task)];
  const node = (input: Input): VectorExpr => nodeAt(input, inputs.push(input) - 1);
  const seed = cotangent === undefined ? 1 : node(cotangent);
  const saved = await savedNodes(what, task, options, made, {
    rows: (x) => node(matrixInput(what, x, kept, 'saved')),
    count: (rows) => node(parameterInput(what, [rows], 'count')),
  });
  const free = inputs.length;
  const shares: (readonly Share[])[] = [];
  for (const place of places) {
    const steps = sharesOf({ ...task, place, seed, saved, free });
    shares.push(await inSlices(translatedSteps(what, steps), options.signal));
  }
  return { shares, inputs };
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
  const isNamed = ({ name }: Input): boolean => name === variable;
  const place = inputs.findIndex((one) =>
    wanted === undefined ? !one.isTable && isNamed(one) : isSameInput(one, wanted),
  );
  if (place >= 0) return place;
  // Its rows may be taken by index alone, or beside the rows of a variable with the same data.
  const table = inputs.findIndex(
    (one) => one.isTable && (wanted === undefined ? isNamed(one) : isSameData(one, wanted)),
  );
  const rows = inputs[table];
  if (rows !== undefined) {
    const first = inputs.findIndex((one) => !one.isTable && isSameData(one, rows));
    return first >= 0 ? first : table;
  }
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: ${String(variable)} is no input of the reduction. Its inputs are ${inputs.map(describeInput).join(', ')}.`,
  );
}

/**
 * What tells that a side has one row, where no input follows the side that is reduced: the derivatives of extrema have its row
 * number.
 */
function onlyRow(what: string, task: Task): readonly Input[] {
  const reduced = keptSide(task) === 'i' ? 'j' : 'i';
  if (task.inputs.some(({ category }) => category === reduced || category === 'pair')) return [];
  return [matrixInput(what, [[0]], reduced, 'row')];
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

/** The shape of an input as kernels read it. */
export function rowShape({ extent, dim }: Input): readonly number[] {
  return shapeOf(extent ?? { batchShape: [], rows: 1, columns: undefined }, dim);
}

/** The shape of a gradient: that of the data, or of the rows that are taken of it. */
export function gradientShape(by: Input): readonly number[] {
  const { source, steps } = by;
  const own = rowShape(by);
  if (steps.length === 0 || source.kind !== 'tensor') return own;
  const isWhole = shapeAfter(source.tensor.shape, steps).join() === own.join();
  return isWhole && steps.every(({ op }) => op !== 'rows' && op !== 'swap')
    ? source.tensor.shape
    : own;
}
