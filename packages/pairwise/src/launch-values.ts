import type { Scalars } from '@mercer/kernels';
import { isTensor, type Tensor } from '@mercer/tensor';
import {
  pointerAt,
  strideOverBatch,
  type CallPointer,
  type CallView,
} from '@mercer/tensor/operation';
import type { CallInputs } from './call-inputs.js';
import { checkParameter, parameterBatch, type ParameterHome } from './kernel-parameter.js';
import type { NamedValue, PairwiseSpec } from './pairwise-spec.js';
import type { ParameterValue } from './run-kernel-options.js';

/** What the launches of a call are given by name. */
export interface LaunchValues {
  readonly pointers: Readonly<Record<string, CallPointer>>;
  readonly scalars: Scalars;
}

/** A parameter as a step takes it. */
interface BoundValue {
  /** None for a number, which is in `value`. */
  readonly pointer: CallPointer;
  /** Elements between the values of two batch entries; 0 is one value for all. */
  readonly stride: number;
  readonly value: number;
}

export const NOWHERE: CallPointer = Object.freeze({ kind: 'none' });

/**
 * A parameter as a step takes it: a number, or a tensor with one value or with a shape that broadcasts to the batch axes, copied where
 * one stride does not describe it.
 *
 * @throws MercerError DTYPE_MISMATCH, DEVICE_MISMATCH, SHAPE_MISMATCH, DISPOSED, NOT_CONTIGUOUS
 */
export function boundValue(
  inputs: CallInputs,
  name: string,
  value: ParameterValue,
  home: ParameterHome,
): BoundValue {
  if (!isTensor(value)) return { pointer: NOWHERE, stride: 0, value };
  checkParameter(inputs.what, name, value, value.shape, home);
  const { view, stride } = readableValue(inputs, name, value, home.batchShape);
  return { pointer: pointerAt(view), stride, value: 0 };
}

/**
 * A parameter in memory as kernels read it, and the elements between the values of two batch entries: as it lies, or copied where one
 * stride, not below `least`, does not describe it.
 *
 * @throws MercerError NOT_CONTIGUOUS where nothing is copied
 */
export function readableValue(
  inputs: CallInputs,
  name: string,
  value: Tensor,
  batchShape: readonly number[],
  least = -Infinity,
): { readonly view: CallView; readonly stride: number } {
  const shape = parameterBatch(value.shape);
  const direct = shape.length === 0 ? 0 : strideOverBatch(shape, value.strides, batchShape);
  if (direct !== undefined && direct >= least) return { view: inputs.view(value), stride: direct };
  const view = inputs.spread(name, value, batchShape);
  return { view, stride: strideOverBatch(batchShape, view.strides, batchShape) ?? 0 };
}

/** The values of a problem by the names that its kernels know, those of the diagonal behind the parameters. */
export function valuesOf({ parameters, diagonal }: PairwiseSpec): readonly NamedValue[] {
  if (diagonal === undefined) return parameters;
  return [...parameters, { name: DIAGONAL, label: DIAGONAL, value: diagonal.value }];
}

const DIAGONAL = 'regularization';

/** Binds the values of a problem. @throws MercerError as `boundValue` does */
export function launchValues(
  spec: PairwiseSpec,
  inputs: CallInputs,
  home: ParameterHome,
): LaunchValues {
  const pointers: Record<string, CallPointer> = {};
  const scalars: Record<string, number> = {};
  for (const { name, label, value } of valuesOf(spec)) {
    const bound = boundValue(inputs, label, value, home);
    pointers[`${name}At`] = bound.pointer;
    scalars[`${name}Stride`] = bound.stride;
    scalars[`${name}Value`] = bound.value;
  }
  if (spec.diagonal !== undefined) scalars['diagonalOffset'] = spec.diagonal.offset;
  return { pointers, scalars };
}

/** The numbers among the values of a call, which its kernels take anew. */
export function numbersOf(spec: PairwiseSpec): Scalars {
  const numbers: Record<string, number> = {};
  for (const { name, value } of valuesOf(spec)) {
    if (!isTensor(value)) numbers[`${name}Value`] = value;
  }
  const scale = spec.rows?.scale;
  if (scale !== undefined && !isTensor(scale)) numbers['scaleValue'] = scale;
  return numbers;
}
