import { pending, type Pending } from './pending.js';
import type { BoolExpr, Expr } from '@mercer/formula';
import {
  emitMap,
  planMap,
  type DType,
  type EmittedKernel,
  type MapPlan,
  type PlannedMap,
  type Scalars,
} from '@mercer/kernels';
import { sizeOfShape } from './checked-size.js';
import { memoryAt, type ElementView } from './elementwise.js';
import { knownMap, mapKey, rememberMap, type KnownMap } from './known-maps.js';
import { rowMajorStrides } from './layout.js';
import { checkMap } from './map-check.js';
import type { MapInputs } from './map-inputs.js';
import { MAP_OPTIONS, type MapOptions } from './map-options.js';
import { allocateView, coreOf, filled, roomOn } from './operations.js';
import { RecentMap, REMEMBERED_KERNELS } from './recent-map.js';
import { readOptions } from './read-options.js';
import { waitForRoom } from './stream-core.js';
import { assertTensor, wrap, type Tensor } from './tensor.js';

/** The dtype of a map's result where nothing else is said. */
export type MapDType<I extends DType> = [I] extends ['float64']
  ? 'float64'
  : 'float64' extends I
    ? 'float32' | 'float64'
    : 'float32';

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
export function map<
  E extends Expr,
  I extends DType,
  R extends DType = E extends BoolExpr ? 'bool' : MapDType<I>,
>(expr: E, inputs: MapInputs<I>, options?: MapOptions<R>): Pending<Tensor<R>> {
  return pending(mapped(expr, inputs, options) as Promise<Tensor<R>>);
}

async function mapped(expr: Expr, inputs: MapInputs, given?: MapOptions): Promise<Tensor> {
  const options = readOptions('map', given, MAP_OPTIONS);
  const { out, parameters = {}, debug, signal } = options;
  const known = checkedMap(expr, inputs, options);
  const tensors = Object.values(inputs);
  const device = coreOf(known.device);
  const stream = await roomOn(device, options, 'map');
  const write = async (to: ElementView): Promise<void> => {
    if (known.work === undefined) return;
    const { planned, kernel } = known.work;
    const loaded = await device.loadForCall(kernel, {
      debug,
      signal,
      values: sizeOfShape(known.shape),
    });
    await waitForRoom(stream, signal);
    const pointers = planned.inputs.flatMap(({ index, offset }) => {
      const tensor = tensors[index];
      return tensor === undefined ? [] : [memoryAt(tensor, offset)];
    });
    loaded.launch(stream, {
      pointers: [...pointers, memoryAt(to, planned.outOffset)],
      scalars: scalarsOf(planned, parameters),
    });
  };
  if (out !== undefined) {
    await write(out);
    return out;
  }
  const { shape, dtype } = known;
  return wrap(await filled(allocateView(device, shape, dtype, { stream }), write), dtype);
}

/** The plan of a call whose arguments fit together; layouts seen before are neither checked nor planned again. */
function checkedMap(expr: Expr, inputs: MapInputs, options: MapOptions): KnownMap {
  const { out, parameters = {} } = options;
  const key = mapKey(inputs, options);
  const known = knownMap(expr, key, inputs, out);
  if (known !== undefined) {
    for (const name of Object.keys(inputs)) assertTensor(inputs[name], `map: input '${name}'`);
    if (out !== undefined) assertTensor(out, 'map: out');
    return known;
  }
  const { device, shape, dtype, indices, operands } = checkMap(expr, inputs, options);
  const to = { dtype, strides: out?.strides ?? rowMajorStrides(shape) };
  const problem = { expr, shape, out: to, indices, inputs: operands, parameters };
  const planned = sizeOfShape(shape) === 0 ? undefined : planMap(problem, device.limits);
  const work = planned && { planned, kernel: kernelFor(planned.plan) };
  const fresh = { device, shape: [...shape], dtype, work };
  rememberMap(expr, key, fresh);
  return fresh;
}

/** A plan's scalars with the parameters of this call. */
function scalarsOf(
  { plan, scalars }: PlannedMap,
  parameters: Readonly<Record<string, number>>,
): Scalars {
  if (plan.parameters.length === 0) return scalars;
  const own = plan.parameters.map((name, k) => [`p${k}`, parameters[name] ?? 0] as const);
  return { ...scalars, ...Object.fromEntries(own) };
}

/** Kernel values by formula and plan; those of a formula that nobody holds are forgotten with it. */
const kernels = new WeakMap<Expr, RecentMap<string, EmittedKernel>>();

function kernelFor(plan: MapPlan): EmittedKernel {
  const { expr, ...rest } = plan;
  let ofFormula = kernels.get(expr);
  if (ofFormula === undefined) {
    ofFormula = new RecentMap<string, EmittedKernel>(() => REMEMBERED_KERNELS);
    kernels.set(expr, ofFormula);
  }
  const key = JSON.stringify(rest);
  let kernel = ofFormula.get(key);
  if (kernel === undefined) ofFormula.set(key, (kernel = emitMap(plan)));
  return kernel;
}
