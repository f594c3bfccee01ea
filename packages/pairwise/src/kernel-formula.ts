import { ops, pm, vi, vj, type VectorExpr } from '@mercer/formula';
import { MercerError, type Tensor } from '@mercer/tensor';
import { formatShape, isTraced, mapArguments } from '@mercer/tensor/operation';
import type { KernelDescriptor } from './descriptor-types.js';
import { kernelSpec } from './kernel-spec.js';
import { EXPONENTS, pairKernel } from './pair-kernel.js';
import { assertValue, primalOf } from './pair-derivatives.js';
import type { AnyRunKernelOptions, ParameterValue } from './run-kernel-options.js';

/** A kernel as a formula of two rows. */
export interface KernelFormula {
  /** Input 0 is a row of x, followed by i, and input 1 a row of y, followed by j; inputs from 2 on are the parameters. */
  readonly formula: VectorExpr;
  /** One number each, or with `scale` one for each feature: numbers, and tensors of any rank. */
  readonly parameters: readonly ParameterValue[];
  /** The multiple of the identity that `regularization` adds to the matrix of all pairs of x with itself; undefined where there is none. */
  readonly shift: ParameterValue | undefined;
}

/**
 * The kernel of `runKernel(descriptor, x, y, options)` as a formula of two rows, with what is done to rows before, and with derivatives of any order: what symbolic
 * matrices and operators are made of. Exponents that are numbers stand in it; other parameters are inputs, so that new values need no new kernel.
 *
 * @param options those of `runKernel` that change values; parameters have one value each, `scale` may have one for each feature
 * @throws MercerError INVALID_ARGUMENT, DTYPE_MISMATCH, DEVICE_MISMATCH, SHAPE_MISMATCH
 */
export function kernelFormula(
  what: string,
  descriptor: KernelDescriptor,
  x: Tensor,
  y: Tensor | undefined,
  options: AnyRunKernelOptions,
): KernelFormula {
  checkRows(what, 'x', x, x);
  if (y !== undefined) checkRows(what, 'y', y, x);
  const [, features = 0] = x.shape;
  const made: Tensor[] = [];
  const [known] = mapArguments([options], (value) => primalOf(value, made)) as [typeof options];
  const spec = kernelSpec(what, descriptor, y === undefined, known);
  for (const one of made) one.dispose();
  if ((spec.diagonal !== undefined && y !== undefined) || options.regularizationOffset) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: regularization is a multiple of the identity, of x with itself. Leave y and regularizationOffset out, or regularization.`,
    );
  }
  spec.check?.(x.dtype as 'float32');
  const given: Readonly<Record<string, unknown>> = {
    ...options,
    ...Object.fromEntries(
      Object.entries(options.parameters ?? {}).map(([name, one]) => [`parameters.${name}`, one]),
    ),
  };
  const parameters: ParameterValue[] = [];
  const operandOf = (name: string, value: ParameterValue, most = 1): VectorExpr => {
    if (typeof value !== 'number') checkParameter(what, name, value, most, x);
    parameters.push(value);
    const dim = typeof value === 'number' ? 1 : value.size;
    return pm(1 + parameters.length, dim);
  };
  const operands = new Map<string, VectorExpr>([['p', ops.constant(spec.p ?? 1)]]);
  for (const { name, label, value } of spec.parameters) {
    const own = (given[label] ?? value) as ParameterValue;
    const isInText = typeof own === 'number' && EXPONENTS.includes(name);
    operands.set(name, isInText ? ops.constant(own) : operandOf(label, own));
  }
  const { rows } = spec;
  const scale =
    options.scale === undefined ? undefined : operandOf('scale', options.scale, features);
  const prepared = (row: VectorExpr): VectorExpr => {
    const scaled = scale === undefined ? row : ops.mul(row, scale);
    return rows?.normalise === true ? unit(scaled) : scaled;
  };
  const [a, b] =
    features === 0
      ? [ops.constant(0), ops.constant(0)]
      : [prepared(vi(0, features)), prepared(vj(1, features))];
  const { expressions } = spec;
  const exponent = Number(options.p ?? options.innerP ?? 0) || 0;
  const kernel = pairKernel({ descriptor, expressions, operands, exponent, features }, a, b);
  return { formula: kernel, parameters, shift: spec.diagonal && options.regularization };
}

/** A row over its norm; a row of zeros stays one, and has no slope. */
function unit(row: VectorExpr): VectorExpr {
  const squared = ops.sqNorm2(row);
  const isZero = ops.equal(squared, 0);
  return ops.where(isZero, 0, ops.mul(row, ops.rsqrt(ops.where(isZero, 1, squared))));
}

/** @throws MercerError */
function checkRows(what: string, name: string, rows: Tensor, x: Tensor): void {
  assertValue(rows, `${what}: ${name}`);
  const { dtype, device, shape } = x;
  if (rows.dtype !== 'float32' && rows.dtype !== 'float64') {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: ${name} is the ${rows.label}. Pass float32 or float64 rows.`,
    );
  }
  if (rows.rank !== 2 || rows.shape[1] !== shape[1]) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${name} has shape ${formatShape(rows.shape)}${rows.rank === 2 ? `, and x ${formatShape(shape)}` : ''}. Pass rows (N, K), without a batch.`,
    );
  }
  checkLike(what, name, rows, { dtype, device });
}

/** @throws MercerError */
function checkParameter(
  what: string,
  name: string,
  value: Tensor,
  most: number,
  rows: Tensor,
): void {
  if (!isTraced(value)) value.assertAlive();
  checkLike(what, name, value, rows);
  if (value.size === 1 || (most > 1 && value.rank === 1 && value.size === most)) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: ${name} has shape ${formatShape(value.shape)}. Pass one value${most > 1 ? `, or ${most}, one for each feature` : ''}: an operator has no batch.`,
  );
}

/** @throws MercerError */
function checkLike(
  what: string,
  name: string,
  one: Tensor,
  { dtype, device }: Pick<Tensor, 'dtype' | 'device'>,
): void {
  if (one.dtype === dtype && one.device === device) return;
  throw new MercerError(
    one.dtype === dtype ? 'DEVICE_MISMATCH' : 'DTYPE_MISMATCH',
    `${what}: ${name} is ${one.dtype} on ${one.device.id}, and the rows ${dtype} on ${device.id}. They must agree.`,
  );
}
