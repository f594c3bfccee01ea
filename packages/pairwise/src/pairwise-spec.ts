import type { DescriptorExpressions, DiagonalMode, PairwiseDType } from '@mercer/kernels';
import { isTensor, type Tensor } from '@mercer/tensor';
import { parameterBatch } from './kernel-parameter.js';
import type { NamedBatch } from './operands.js';
import type { ParameterValue } from './run-kernel-options.js';

/** A parameter of a problem with its value. */
export interface NamedValue {
  /** Its name in the problem. */
  readonly name: string;
  /** Its name to the caller. */
  readonly label: string;
  readonly value: ParameterValue;
}

/** What a call computes, whatever its operands are: options of `cdist` or `runKernel`, checked. */
export interface PairwiseSpec {
  /** Name of the operation, for messages. */
  readonly what: string;
  readonly expressions: Pick<DescriptorExpressions, 'inner' | 'outer' | 'reduce'>;
  /** The launch scalar p, also a hint for the planner. */
  readonly p: number | undefined;
  /** In the order of the problem. */
  readonly parameters: readonly NamedValue[];
  /** Regularisation of the elements with n = m + offset. */
  readonly diagonal:
    | { readonly mode: DiagonalMode; readonly offset: number; readonly value: ParameterValue }
    | undefined;
  /** What is done with the rows before. */
  readonly rows:
    { readonly normalise: boolean; readonly scale: ParameterValue | undefined } | undefined;
  /** Each pair is computed once. */
  readonly symmetric: boolean;
  /** Aligned operands get a kernel of their own. */
  readonly align: boolean;
  /** Checks that need the data type. @throws MercerError INVALID_ARGUMENT */
  readonly check: ((dtype: PairwiseDType) => void) | undefined;
}

/** A tensor among the values of a call. */
export interface ParameterTensor extends NamedBatch {
  readonly tensor: Tensor;
}

const NONE: readonly ParameterTensor[] = Object.freeze([]);

/** The tensors among the values of a call, with their batch axes. */
export function parameterTensors(spec: PairwiseSpec): readonly ParameterTensor[] {
  if (spec.parameters.length === 0 && spec.diagonal === undefined && spec.rows === undefined) {
    return NONE;
  }
  const found: ParameterTensor[] = [];
  const add = (label: string, value: ParameterValue | undefined, inner: number): void => {
    if (!isTensor(value)) return;
    const batch = parameterBatch(value.shape.slice(0, value.rank - inner));
    found.push({ label, tensor: value, batch });
  };
  for (const { label, value } of spec.parameters) add(label, value, 0);
  add('regularization', spec.diagonal?.value, 0);
  add('scale', spec.rows?.scale, 1);
  return found;
}
