import type { BoolExpr, Expr, RealExpr } from '@mercer/formula';
import { emitMap, planMap, type DType, type EmittedKernel, type MapPlan } from '@mercer/kernels';
import { sizeOfShape } from './checked-size.js';
import { memoryAt, type ElementView } from './elementwise.js';
import { checkMap } from './map-check.js';
import { allocateView, coreOf, filled, roomOn } from './operations.js';
import { wrap, type OutOption, type Tensor } from './tensor.js';

/** Options of {@link map}. */
export interface MapOptions<D extends DType = DType> extends OutOption<D> {
  /**
   * Takes the result: any strides, a shape to which the inputs broadcast. It may be the memory of an input that has the
   * same dtype, shape and strides; other memory of the inputs is refused.
   */
  readonly out?: Tensor<D> | undefined;
  /**
   * Of the result, converted as `cast` does. Default: that of `out`; else bool for a comparison, float64 where an input
   * is float64, and float32 for all others.
   */
  readonly dtype?: D | undefined;
  /** Numbers by the names of the variables that they are; another number needs no other kernel. */
  readonly parameters?: Readonly<Record<string, number>> | undefined;
  /** Variables that are the position along an axis of the result, by name: `{ row: -2, column: -1 }`. */
  readonly indices?: Readonly<Record<string, number>> | undefined;
}

/** The dtype of a map's result where nothing else is said. */
export type MapDType<I extends DType> = [I] extends ['float64']
  ? 'float64'
  : 'float64' extends I
    ? 'float32' | 'float64'
    : 'float32';

/** Tensors by the names that the formula knows them by. */
export type MapInputs<I extends DType = DType> = Readonly<Record<string, Tensor<I>>>;

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
 *   DEVICE_MISMATCH, OVERLAP, DISPOSED; RangeError where more than eight dimensions cannot be merged
 */
export function map<D extends DType>(
  expr: Expr,
  inputs: MapInputs,
  options: MapOptions<D> & ({ readonly dtype: D } | { readonly out: Tensor<D> }),
): Promise<Tensor<D>>;
export function map(
  expr: BoolExpr,
  inputs: MapInputs,
  options?: MapOptions,
): Promise<Tensor<'bool'>>;
export function map<I extends DType>(
  expr: RealExpr,
  inputs: MapInputs<I>,
  options?: MapOptions,
): Promise<Tensor<MapDType<I>>>;
export function map(expr: Expr, inputs: MapInputs, options?: MapOptions): Promise<Tensor>;
export async function map(
  expr: Expr,
  inputs: MapInputs,
  options: MapOptions = {},
): Promise<Tensor> {
  const checked = checkMap(expr, inputs, options);
  const { shape, dtype, indices, operands } = checked;
  const device = coreOf(checked.device);
  const stream = await roomOn(device, options, 'map');
  const write = async (out: ElementView): Promise<void> => {
    if (sizeOfShape(shape) === 0) return;
    const planned = planMap(
      { expr, shape, out, indices, inputs: operands, parameters: options.parameters ?? {} },
      device.limits,
    );
    const kernel = await device.load(kernelFor(planned.plan));
    if (!stream.hasRoom()) await stream.room();
    const pointers = planned.inputs.flatMap(({ index, offset }) => {
      const operand = operands[index];
      return operand === undefined ? [] : [memoryAt(operand, offset)];
    });
    kernel.launch(stream, {
      pointers: [...pointers, memoryAt(out, planned.outOffset)],
      scalars: planned.scalars,
    });
  };
  if (options.out !== undefined) {
    await write(options.out);
    return options.out;
  }
  return wrap(await filled(allocateView(device, shape, dtype, { stream }), write), dtype);
}

/** Kernel values by formula and plan; those of a formula that nobody holds are forgotten with it. */
const kernels = new WeakMap<Expr, Map<string, EmittedKernel>>();

function kernelFor(plan: MapPlan): EmittedKernel {
  const { expr, ...rest } = plan;
  let ofFormula = kernels.get(expr);
  if (ofFormula === undefined) {
    ofFormula = new Map<string, EmittedKernel>();
    kernels.set(expr, ofFormula);
  }
  const key = JSON.stringify(rest);
  let kernel = ofFormula.get(key);
  if (kernel === undefined) ofFormula.set(key, (kernel = emitMap(plan)));
  return kernel;
}
