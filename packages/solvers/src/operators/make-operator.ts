import { describeValue, type OptionNames } from '@mercer/options';
import { device, MercerError, type DeviceLike, type Tensor } from '@mercer/tensor';
import { assertTensor, formatShape, isTraced, readOptions } from '@mercer/tensor/operation';
import { LinearOperator } from './linear-operator.js';
import { onHost } from './row-indices.js';
import type { OperatorDType, OperatorRules } from './operator-types.js';

/** A product with vectors, columns (N, K): a new tensor. `parameters` are those of the operator. */
export type Product<D extends OperatorDType> = (
  vectors: Tensor<D>,
  parameters: readonly Tensor[],
) => PromiseLike<Tensor>;

/** What {@link operator} makes an operator of. */
export interface OperatorOptions<D extends OperatorDType> {
  /** Rows and columns. */
  readonly shape: readonly [rows: number, columns: number];
  readonly dtype: D;
  readonly device: DeviceLike;
  readonly matvec: Product<D>;
  /** The product of the transpose with vectors; `'symmetric'` where it is `matvec`. */
  readonly rmatvec?: Product<D> | 'symmetric' | undefined;
  /** The diagonal, (N). */
  readonly diagonal?: ((parameters: readonly Tensor[]) => PromiseLike<Tensor>) | undefined;
  /** Some rows, (count, columns). */
  readonly rows?:
    | ((indices: readonly number[], parameters: readonly Tensor[]) => PromiseLike<Tensor>)
    | undefined;
  /** Tensors that the products depend on, handed to each function: what solutions are differentiated by. */
  readonly parameters?: readonly Tensor[] | undefined;
  /** Whether the products do the same work on tensors each time, so that a GPU may capture and replay it; default false. */
  readonly capturable?: boolean | undefined;
}

const OPERATOR_OPTIONS: OptionNames<OperatorOptions<OperatorDType>> = {
  shape: true,
  dtype: true,
  device: true,
  matvec: true,
  rmatvec: true,
  diagonal: true,
  rows: true,
  parameters: true,
  capturable: true,
};

/**
 * An operator whose products are a function.
 *
 * ```ts
 * import { cg, operator } from '@mercer/solvers';
 * import { tensor } from '@mercer/tensor';
 *
 * const twice = operator({
 *   shape: [2, 2],
 *   dtype: 'float32',
 *   device: 'cpu',
 *   matvec: (v) => v.mul(2),
 *   rmatvec: 'symmetric',
 * });
 * const { x } = await cg(twice, await tensor([2, 4], { device: 'cpu' }));
 * console.log(await x.toNested()); // [ 1, 2 ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT, DTYPE_MISMATCH; what its products give is checked in each call
 */
export function operator<D extends OperatorDType>(options: OperatorOptions<D>): LinearOperator<D> {
  const what = 'operator';
  const given = readOptions<OperatorOptions<D>>(what, options, OPERATOR_OPTIONS);
  const { shape, dtype, parameters = [], capturable = false } = given;
  checkShape(what, shape);
  checkDType(what, dtype);
  const { matvec, rmatvec, diagonal, rows } = given;
  if (rmatvec !== 'symmetric') checkFunctions(what, { rmatvec });
  if (rmatvec === 'symmetric' && shape[0] !== shape[1]) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: rmatvec is 'symmetric', and the shape ${formatShape(shape)}. Only square operators are symmetric.`,
    );
  }
  if (typeof matvec !== 'function') throw noFunction(what, 'matvec', matvec);
  checkFunctions(what, { diagonal, rows });
  if (typeof capturable !== 'boolean') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: capturable is ${describeValue(capturable)}. Pass true or false.`,
    );
  }
  const list: unknown = parameters;
  if (!Array.isArray(list)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: parameters are ${describeValue(list)}. Pass an array of tensors.`,
    );
  }
  for (const [at, one] of parameters.entries())
    if (!isTraced(one)) assertTensor(one, `${what}: parameter ${at}`);
  return new LinearOperator({
    form: {
      shape: [...shape],
      dtype,
      device: device(given.device),
      isCapturable: capturable,
      isForeign: true,
    },
    parameters: [...parameters],
    rules: {
      matvec: matvec as OperatorRules['matvec'],
      rmatvec: (rmatvec === 'symmetric' ? matvec : rmatvec) as OperatorRules['rmatvec'],
      diagonal,
      rows: rows && (async (indices, tensors) => await rows(await onHost(indices), tensors)),
    },
  });
}

/** @throws MercerError INVALID_ARGUMENT */
function checkShape(what: string, shape: unknown): void {
  const isShape =
    Array.isArray(shape) &&
    shape.length === 2 &&
    shape.every((one) => Number.isSafeInteger(one) && (one as number) >= 0);
  if (isShape) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: shape is ${describeValue(shape)}. Pass [rows, columns].`,
  );
}

/** @throws MercerError DTYPE_MISMATCH */
export function checkDType(what: string, dtype: unknown): asserts dtype is OperatorDType {
  if (dtype === 'float32' || dtype === 'float64') return;
  throw new MercerError(
    'DTYPE_MISMATCH',
    `${what}: the dtype is ${describeValue(dtype)}. Operators compute in float32 or float64.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
function checkFunctions(what: string, given: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && typeof value !== 'function') throw noFunction(what, name, value);
}

const noFunction = (what: string, name: string, value: unknown): MercerError =>
  new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass a function of the vectors.`,
  );
