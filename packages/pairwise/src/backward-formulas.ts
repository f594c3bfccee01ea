import { indexI, indexJ, ops, pm, vi, vij, vj, type VectorExpr } from '@mercer/formula';
import {
  bothRolesFormula,
  exchangeOperands,
  parameterGradientFormulas,
  rowsGradientFormula,
  type ForwardExpressions,
  type GradientOperands,
  type PairwiseDType,
} from '@mercer/kernels';
import { isTensor } from '@mercer/tensor';
import type { DifferentiableSpec } from './differentiable-spec.js';

/** Places of the inputs in the formulas of gradients; the values of parameters follow from `values` on. */
export const OPERANDS = { a: 0, b: 1, upstream: 2, transposed: 3, values: 4 } as const;

/** Formulas whose sums over the rows j are gradients. */
export interface GradientFormula {
  readonly formulas: readonly VectorExpr[];
  /** The parameters that they read from memory, by name, and numbers, by place behind `OPERANDS.values`. */
  readonly values: readonly (string | number)[];
}

/** Expressions of a call and the values of their variables; `p` is the number that they are planned for. */
interface Forward extends DifferentiableSpec {
  readonly p: number | undefined;
}

/** The gradient by the rows of one role, which are rows i. @param masked elements with n = m + masked do not depend on the inputs */
export function ofRows(
  call: Forward,
  dtype: PairwiseDType,
  k: number,
  role: 'a' | 'b',
  masked: number | undefined,
): GradientFormula {
  const isA = role === 'a';
  const { forward, operands, values } = operandsOf(call, k, isA ? masked : opposite(masked));
  const own = isA ? forward : exchangeOperands(forward);
  return { formulas: [rowsGradientFormula(own, dtype, operands)], values };
}

/** The gradient by the rows of one matrix that has both roles. */
export function ofBothRoles(
  call: Forward,
  dtype: PairwiseDType,
  k: number,
  masked: number | undefined,
): GradientFormula {
  const { forward, operands, values } = operandsOf(call, k, masked);
  const transposed = upstreamOf(OPERANDS.transposed, opposite(masked));
  return { formulas: [bothRolesFormula(forward, dtype, operands, transposed)], values };
}

/** The gradients by parameters, each of one pair. */
export function ofParameters(
  call: Forward,
  names: readonly string[],
  dtype: PairwiseDType,
  k: number,
  masked: number | undefined,
): GradientFormula {
  const { forward, operands, values } = operandsOf(call, k, masked);
  return { formulas: parameterGradientFormulas(forward, names, dtype, operands), values };
}

/** Of the elements with n = m + offset, seen from the other side. */
const opposite = (offset: number | undefined): number | undefined =>
  offset === undefined ? undefined : 0 - offset;

function operandsOf(
  { expressions, parameters, p = 1 }: Forward,
  k: number,
  masked: number | undefined,
): {
  readonly forward: ForwardExpressions;
  readonly operands: GradientOperands;
  readonly values: readonly (string | number)[];
} {
  const names = parameters.map(({ name }) => name);
  const values: (string | number)[] = [];
  const operandOf = (value: string | number): VectorExpr =>
    pm(OPERANDS.values + values.push(value) - 1, 1);
  const tensors = parameters.filter(({ value }) => isTensor(value));
  const numbers = parameters.flatMap(({ name, value }) =>
    isTensor(value) ? [] : [[name, value] as const],
  );
  return {
    forward: { ...expressions, parameters: names },
    operands: {
      // rows without components: nothing is added up for a pair
      a: k === 0 ? ops.constant(0) : vi(OPERANDS.a, k),
      b: k === 0 ? ops.constant(0) : vj(OPERANDS.b, k),
      upstream: upstreamOf(OPERANDS.upstream, masked),
      values: Object.fromEntries(tensors.map(({ name }) => [name, operandOf(name)])),
      numbers: { ...(names.includes('p') ? {} : { p }), ...Object.fromEntries(numbers) },
      operandOf,
    },
    values,
  };
}

function upstreamOf(place: number, masked: number | undefined): VectorExpr {
  const given = vij(place, 1);
  if (masked === undefined) return given;
  return ops.where(ops.equal(ops.add(indexI, masked), indexJ), 0, given);
}
