import {
  LazyTensor,
  lazyI,
  lazyJ,
  param,
  type LazyReduction,
  type LinearOperator,
  type Tensor,
} from '@mercer/core';
import type { FloatDType } from '../files/read-operand.js';

const MADE = { i: lazyI, j: lazyJ, parameter: param } as const;

/** The matrix of a formula, with a number for each pair of rows, as an operator. @throws MercerError SHAPE_MISMATCH */
export function formulaOperator(
  { reduction, inputs }: LazyReduction,
  tensors: readonly Tensor[],
): LinearOperator<FloatDType> {
  const placed = inputs.flatMap(({ category }, at) => {
    const x = tensors[at] as Tensor<FloatDType>;
    // matchArguments has refused values of pairs
    return MADE[category as keyof typeof MADE](x).inputs;
  });
  const { formula } = reduction;
  return new LazyTensor<FloatDType>('solve', { formula, inputs: placed }).asOperator();
}
