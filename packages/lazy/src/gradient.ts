import {
  ops,
  reduction as describe,
  reductionGradient,
  type Reduction,
  type ReductionKind,
  type SavedResults,
  type VectorExpr,
} from '@mercer/formula';
import { formatShape, isTensor, MercerError, sumTo, type Tensor } from '@mercer/tensor';
import type { Results } from './call.js';
import { checkBound } from './transforms.js';
import { execute, type CallOptions } from './execute.js';
import { commonExtent } from './extent.js';
import { describeInput, isSameInput, nodeAt, type Input } from './input.js';
import { WHOLE_UP_TO, type LazyDType } from './lazy-dtype.js';
import { LazyError, translated } from './lazy-error.js';
import type { LazyFormula } from './lazy-formula.js';
import type { LazyReduction } from './lazy-reduction.js';
import { checkVariable } from './lazy-calculus.js';
import { matrixInput, parameterInput, type LazyData } from './make-input.js';
import type { Task } from './task.js';
import { shapeAfter } from './view-step.js';

/** Results of the forward pass that a caller has kept, so that they are not computed again. */
export interface SavedForward {
  /** The result itself, of LogSumExp and SumSoftMaxWeight. */
  readonly values?: Tensor | undefined;
  /** The row numbers, of Min, Max, KMin, KMax and their kin. */
  readonly indices?: Tensor<'int32'> | undefined;
}

/** Options of `gradient`. */
export interface GradientOptions extends Pick<CallOptions, 'stream' | 'ranges' | 'debug'> {
  readonly saved?: SavedForward | undefined;
}

/**
 * The gradient of `sum(cotangent * result)` by a variable of a reduction, where the result is that of Sum, Mean, Var, Prod, LogSumExp,
 * SumSoftMaxWeight, Min, Max, KMin, KMax or a kind with values and indices: of the shape of the variable's data.
 *
 * Batch axes along which the data is broadcast are added up. What the derivative needs of the forward pass is computed, unless
 * `saved` has it. At a tie the first extremum takes it all; where nothing is reduced the gradient is 0. A tensor that is data
 * of an i- and of a j-variable has two gradients.
 *
 * @param variable what `lazyI`, `lazyJ` or `param` made, or its name
 * @param cotangent (..batch, rows, dim), as the result
 * @throws LazyError NOT_DIFFERENTIABLE (indices, masks), UNBOUND_VARIABLE; MercerError SHAPE_MISMATCH, DTYPE_MISMATCH
 *
 * @example
 * ```ts
 * import { gradient, lazyI, lazyJ } from '@mercer/lazy';
 * import { tensor } from '@mercer/tensor';
 *
 * const x = lazyI(await tensor([[1], [5]], { device: 'cpu' }));
 * const y = lazyJ(await tensor([[1], [2], [3]], { device: 'cpu' }));
 * const energy = x.sqdist(y).reduction('Sum', 'j');
 * const byX = await gradient(energy, x, [[1], [1]]); // 2 sum_j (x - y_j)
 * console.log(await byX.toNested()); // [ [ -6 ], [ 18 ] ]
 * ```
 */
export async function gradient<K extends ReductionKind, D extends LazyDType>(
  of: LazyReduction<K, D>,
  variable: LazyFormula | string,
  cotangent: LazyData,
  options: GradientOptions = {},
): Promise<Tensor<D>> {
  if (typeof variable !== 'string') checkVariable('gradient', variable);
  const { task, axis } = of;
  checkBound('gradient', task.inputs);
  const place = placeOf(task, variable);
  const by = task.inputs[place];
  if (by === undefined) throw new Error('placeOf finds a place');
  const kept = axis === 'j' ? 'i' : 'j';
  const seed = matrixInput('gradient', cotangent, kept, 'cotangent');
  checkCotangent(task, of.dim, seed);
  const made: Tensor[] = [];
  try {
    const extra: Input[] = [seed];
    const node = (input: Input): VectorExpr =>
      nodeAt(input, task.inputs.length + extra.push(input) - 1);
    const saved = await savedNodes(task, options, made, {
      rows: (x) => node(matrixInput('gradient', x, kept, 'saved')),
      count: (rows) => node(parameterInput('gradient', [rows], 'count')),
    });
    const byNode = nodeAt(by, place);
    const derivative = translated('gradient', () =>
      reductionGradient(task.reduction, byNode, nodeAt(seed, task.inputs.length), saved),
    );
    const inputs = [...task.inputs, ...extra];
    const { stream, ranges, debug } = options;
    const { value } = await execute(
      { what: 'gradient', reduction: derivative.reduction, inputs },
      [],
      { stream, ranges, debug },
    );
    if (value === undefined) throw new Error('a sum has values');
    made.push(value);
    return (await toData(value, by, { stream })) as Tensor<D>;
  } finally {
    for (const one of made) one.dispose();
  }
}

function placeOf({ inputs }: Task, variable: LazyFormula | string): number {
  const [wanted] = typeof variable === 'string' ? [] : variable.inputs;
  const place = inputs.findIndex((one) =>
    wanted === undefined ? one.name === variable : isSameInput(one, wanted),
  );
  if (place >= 0) return place;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `gradient: ${String(variable)} is no input of the reduction. Its inputs are ${inputs.map(describeInput).join(', ')}.`,
  );
}

function checkCotangent(task: Task, dim: number, seed: Input): void {
  const extent = commonExtent('gradient', task.inputs);
  const rows = (seed.category === 'i' ? extent.rowsI : extent.rowsJ) ?? 1;
  const wanted = [...extent.batchShape, rows, dim];
  const found = [...(seed.extent?.batchShape ?? []), seed.extent?.rows ?? 0, seed.dim];
  if (wanted.join() === found.join()) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `gradient: ${describeInput(seed)} has shape ${formatShape(found)}, and the result of the reduction has ${formatShape(wanted)}. Pass a cotangent of the result's shape.`,
  );
}

/** How what is saved becomes an input of the derivative. */
interface SavedInputs {
  readonly rows: (x: Tensor) => VectorExpr;
  readonly count: (rows: number) => VectorExpr;
}

/** What the derivative needs of the forward pass, as inputs of the kept side. */
async function savedNodes(
  task: Task,
  { saved = {}, stream, ranges, debug }: GradientOptions,
  made: Tensor[],
  node: SavedInputs,
): Promise<SavedResults> {
  const { kind, formula, axis } = task.reduction;
  const run = async (reduction: Reduction): Promise<Results> => {
    const results = await execute({ ...task, what: 'gradient', reduction }, [], {
      stream,
      ranges,
      debug,
    });
    made.push(...[results.value, results.index].filter((one) => one !== undefined));
    return results;
  };
  const keep = (x: Tensor | undefined): VectorExpr => {
    if (!isTensor(x)) throw new Error('a reduction gives what its kind says');
    return node.rows(x);
  };
  const { rowsI = 1, rowsJ = 1, dtype = 'float32' } = commonExtent('gradient', task.inputs);
  const reduced = axis === 1 ? rowsJ : rowsI;
  if (kind === 'Mean') return { count: node.count(reduced) };
  if (kind === 'Var') {
    const { value } = await run(describe('Mean', formula, { axis }));
    return { count: node.count(reduced), mean: keep(value) };
  }
  if (kind === 'Prod') {
    const isZero = ops.equal(formula, 0);
    const { value } = await run(describe('Prod', ops.where(isZero, 1, formula), { axis }));
    const zeros = await run(describe('Count', isZero, { axis }));
    return { product: keep(value), zeros: keep(zeros.value) };
  }
  if (kind === 'LogSumExp') {
    return { value: keep(saved.values ?? (await run(task.reduction)).value) };
  }
  if (kind === 'SumSoftMaxWeight') {
    const { value } = await run(describe('LogSumExp', formula, { axis }));
    return {
      value: keep(saved.values ?? (await run(task.reduction)).value),
      logSumExp: keep(value),
    };
  }
  const finder = INDEX_KIND[kind];
  if (finder === undefined) return {};
  checkExact(reduced, dtype);
  const { k } = task.reduction;
  const indices =
    saved.indices ??
    (await run(describe(finder, formula, { axis, ...(k !== undefined && { k }) }))).index;
  const numbers = await indices?.cast(dtype, { stream });
  if (numbers !== undefined) made.push(numbers);
  return { index: keep(numbers) };
}

/** What finds the rows whose values a kind gives. */
const INDEX_KIND: { readonly [K in ReductionKind]?: ReductionKind } = {
  Min: 'ArgMin',
  Max: 'ArgMax',
  MinArgMin: 'ArgMin',
  MaxArgMax: 'ArgMax',
  KMin: 'ArgKMin',
  KMinArgKMin: 'ArgKMin',
  KMax: 'ArgKMax',
  KMaxArgKMax: 'ArgKMax',
};

function checkExact(rows: number, dtype: LazyDType): void {
  if (rows <= WHOLE_UP_TO[dtype]) return;
  throw new LazyError(
    'UNSUPPORTED',
    `gradient: the reduced side has ${String(rows)} rows, and row numbers are whole in ${dtype} up to ${String(WHOLE_UP_TO[dtype])}. Compute it in float64.`,
  );
}

/** The gradient by rows (..batch, rows, dim) in the shape of the data: what was broadcast is added up. */
async function toData(
  value: Tensor,
  { extent, dim, source, steps, category }: Input,
  options: Pick<CallOptions, 'stream'>,
): Promise<Tensor> {
  const { batchShape, rows } = extent ?? { batchShape: [], rows: 1 };
  const own = [...batchShape, category === 'parameter' ? 1 : rows, dim];
  const total = await sumTo(value as Tensor<'float32'>, own, options);
  if (steps.length === 0 || source.kind !== 'tensor') return total;
  const isWhole = shapeAfter(source.tensor.shape, steps).join() === own.join();
  if (!isWhole || steps.some(({ op }) => op === 'rows')) return total;
  try {
    return total.reshape(source.tensor.shape);
  } finally {
    total.dispose();
  }
}
