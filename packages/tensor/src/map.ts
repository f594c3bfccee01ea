import { isExpr, type BoolExpr, type Expr } from '@mercer/formula';
import {
  emitMap,
  planMap,
  type DType,
  type EmittedKernel,
  type MapPlan,
  type MapProblem,
} from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { sizeOfShape } from './checked-size.js';
import { rowMajorStrides } from './layout.js';
import { checkMap, type CheckedMap } from './map-check.js';
import type { MapInputs } from './map-inputs.js';
import { MAP_OPTIONS, type MapOptions } from './map-options.js';
import { CallSteps, pointerAt } from './operation/call-steps.js';
import type { CallPointer } from './operation/known-call.js';
import { keyPart, Operation, operationFunction } from './operation/operation.js';
import { coreOf } from './operations.js';
import type { Pending } from './pending.js';
import { RecentMap, REMEMBERED_KERNELS } from './recent-map.js';
import { isTensor, OUT_OPTION, type OutOption, type Tensor } from './tensor.js';
import { broadcastLayout } from './views.js';

/** The dtype of a map's result where nothing else is said. */
export type MapDType<I extends DType> = [I] extends ['float64']
  ? 'float64'
  : 'float64' extends I
    ? 'float32' | 'float64'
    : 'float32';

/** Options of a prepared map: the others are fixed. */
export interface PreparedMapOptions<D extends DType = DType>
  extends OutOption<D>, Pick<MapOptions, 'parameters'> {}

const PREPARED_MAP_OPTIONS: OptionNames<PreparedMapOptions> = { ...OUT_OPTION, parameters: true };

const operation = new Operation<readonly [expr: Expr, inputs: MapInputs], MapOptions>({
  what: 'map',
  options: MAP_OPTIONS,
  freeOptions: PREPARED_MAP_OPTIONS,
  // In the order of names, so that calls are alike however they are written.
  snapshot: ([expr, inputs], options) => [
    [expr, sorted(inputs)],
    { ...options, parameters: sorted(options.parameters), indices: sorted(options.indices) },
  ],
  identify: ([expr, inputs], { out, dtype, parameters, indices }) => {
    const part = keyPart(dtype);
    if (!isExpr(expr) || !isRecord(inputs) || part === undefined) return undefined;
    let key = `${expr.id} ${part}`;
    for (const [name, one] of Object.entries<unknown>(inputs)) {
      if (!isTensor(one)) return undefined;
      key += ` ${named(name)}`;
    }
    for (const [label, record] of [
      ['parameters', parameters],
      ['indices', indices],
    ] as const) {
      if (record === undefined) continue;
      if (!isRecord(record)) return undefined;
      key += ` ${label}`;
      for (const [name, value] of Object.entries<unknown>(record)) {
        if (typeof value !== 'number') return undefined;
        key += label === 'indices' ? ` ${value}${named(name)}` : ` ${named(name)}`;
      }
    }
    return { key, tensors: { inputs: Object.values(inputs), outs: [out] } };
  },
  plan: ([expr, inputs], options, prepared) => {
    const { out, parameters = {} } = options;
    const checked = checkMap(expr, inputs, options);
    const { device, shape, dtype, indices } = checked;
    const tensors = { inputs: Object.values(inputs), outs: [out] };
    const steps = new CallSteps(coreOf(device), tensors);
    const to = steps.result({ shape: [...shape], dtype });
    const isEmpty = sizeOfShape(shape) === 0;
    if (isEmpty && prepared !== 'example') return { tensors, steps };
    const laid = isEmpty
      ? filledExample(checked, tensors.inputs)
      : { shape, out: to, inputs: checked.operands };
    const planned = planMap(
      { ...laid, expr, indices, parameters, computesIn: undefined },
      device.limits,
    );
    const pointers: Record<string, CallPointer> = { out: pointerAt(to, planned.outOffset) };
    for (const [k, { index, offset }] of planned.inputs.entries()) {
      pointers[`x${k}`] = pointerAt(steps.input(index), offset);
    }
    const { plan, scalars } = planned;
    const values = sizeOfShape(shape);
    const { key, kernel } = mapKernel(plan);
    steps.addKernel(key, kernel, { values, pointers, scalars });
    const names = plan.parameters;
    return {
      tensors,
      steps,
      // the formula, whose id is in the key
      holds: expr,
      scalars: names.length === 0 ? undefined : (given: MapOptions) => numbersOf(names, given),
    };
  },
});

/** An empty example stands for dense tensors, with two elements along each of its empty axes. */
function filledExample(
  { shape, dtype, operands }: CheckedMap,
  inputs: readonly Tensor[],
): Pick<MapProblem, 'shape' | 'out' | 'inputs'> {
  const filled = shape.map(twoForNone);
  return {
    shape: filled,
    out: { dtype, strides: rowMajorStrides(filled) },
    inputs: operands.map(({ name, dtype: of }, at) => {
      const own = (inputs[at]?.shape ?? []).map(twoForNone);
      const dense = { shape: own, strides: rowMajorStrides(own), offset: 0 };
      return { name, dtype: of, strides: broadcastLayout(dense, filled).strides };
    }),
  };
}

const twoForNone = (extent: number): number => (extent === 0 ? 2 : extent);

/** The parameters of a call, by their names in the kernel. */
const numbersOf = (
  names: readonly string[],
  { parameters = {} }: MapOptions,
): Record<string, number> =>
  Object.fromEntries(names.map((name, k) => [`p${k}`, parameters[name] ?? NaN]));

/** A copy with its names in order; what is no plain object is left to the checks. */
function sorted<T>(record: T): T {
  if (!isRecord(record) || isTensor(record)) return record;
  const names = Object.keys(record).sort();
  return Object.fromEntries(names.map((name) => [name, record[name]])) as T;
}

/** With its length, so that no name can be taken for two parts. */
const named = (name: string): string => `${name.length} ${name}`;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

const mapped = operationFunction<{
  <R extends DType>(expr: Expr, inputs: MapInputs, options?: MapOptions<R>): Pending<Tensor<R>>;
  prepare<R extends DType>(
    expr: Expr,
    inputs: MapInputs,
    options?: MapOptions<R>,
  ): Promise<(expr: Expr, inputs: MapInputs, options?: PreparedMapOptions<R>) => Tensor<R>>;
}>(operation, 2);

/** How {@link map} is called. */
export interface MapCall {
  <E extends Expr, I extends DType, R extends DType = E extends BoolExpr ? 'bool' : MapDType<I>>(
    expr: E,
    inputs: MapInputs<I>,
    options?: MapOptions<R>,
  ): Pending<Tensor<R>>;
  /**
   * Compiles for inputs like these and gives a synchronous function, for all sizes and layouts with the same kernel. Its parameters
   * are those given here, or those of each call. `out` is an example; each call names its own `out` and `stream`.
   */
  readonly prepare: <
    E extends Expr,
    I extends DType,
    R extends DType = E extends BoolExpr ? 'bool' : MapDType<I>,
  >(
    expr: E,
    inputs: MapInputs<I>,
    options?: MapOptions<R>,
  ) => Promise<(inputs: MapInputs<I>, options?: PreparedMapOptions<R>) => Tensor<R>>;
}

/**
 * A formula of scalars applied to every element of tensors that broadcast together, in one kernel. The variables of the
 * formula are inputs, parameters and indices. It computes in float64 where an input or the result is float64 (or an
 * index exceeds 2^24), else in float32, in which whole numbers are exact up to 2^24; bool is 1 and 0.
 *
 * ```ts
 * import { lt, mul, select, variable } from '@mercer/formula';
 * import { map, tensor } from '@mercer/tensor';
 *
 * const x = await tensor([[1, 2], [3, 4]], { device: 'cpu' });
 * const [row, column] = [variable('row'), variable('column')];
 * const lower = select(lt(row, column), 0, mul(variable('scale'), variable('x')));
 * const indices = { row: -2, column: -1 };
 * const scaled = await map(lower, { x }, { parameters: { scale: 10 }, indices });
 * console.log(await scaled.toNested()); // [ [ 10, 0 ], [ 30, 40 ] ]
 * ```
 *
 * @param expr an expression of `@mercer/formula`, at most eight inputs of which it reads; a comparison gives 1 or 0
 * @param inputs tensors of any dtypes and strides on one device; those that the formula does not read still give the
 *   result its shape; none at all need `out`
 * @throws MercerError INVALID_ARGUMENT (unbound or doubly bound variables, no shape), SHAPE_MISMATCH, DTYPE_MISMATCH,
 *   DEVICE_MISMATCH, OVERLAP, DISPOSED, UNSUPPORTED where more than eight dimensions cannot be merged
 */
export const map: MapCall = Object.assign(
  <I extends DType, R extends DType>(expr: Expr, inputs: MapInputs<I>, options?: MapOptions<R>) =>
    mapped(expr, inputs, options),
  {
    prepare: async <I extends DType, R extends DType>(
      expr: Expr,
      inputs: MapInputs<I>,
      options?: MapOptions<R>,
    ) => {
      const prepared = await mapped.prepare(expr, inputs, options);
      return (others: MapInputs<I>, given?: PreparedMapOptions<R>) => prepared(expr, others, given);
    },
  },
);

/** Kernel values by formula and key; those of a formula that nobody holds are forgotten with it. */
const kernels = new WeakMap<Expr, RecentMap<string, EmittedKernel>>();

/** The kernel of a map, and a text that tells it from others while its formula lives. */
export function mapKernel(plan: MapPlan): { readonly key: string; readonly kernel: EmittedKernel } {
  const { expr, ...written } = plan;
  const key = `map ${expr.id} ${JSON.stringify(written)}`;
  let ofFormula = kernels.get(expr);
  if (ofFormula === undefined) {
    ofFormula = new RecentMap<string, EmittedKernel>(() => REMEMBERED_KERNELS);
    kernels.set(expr, ofFormula);
  }
  let kernel = ofFormula.get(key);
  if (kernel === undefined) ofFormula.set(key, (kernel = emitMap(plan)));
  return { key, kernel };
}
