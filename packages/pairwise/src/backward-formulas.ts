import { indexI, indexJ, ops, pm, vi, vij, vj, type VectorExpr } from '@mercer/formula';
import {
  bothRolesFormula,
  dtypeBytes,
  exchangeOperands,
  parameterGradientFormulas,
  rowsGradientFormula,
  type ForwardExpressions,
  type GradientOperands,
  type PairwiseDType,
} from '@mercer/kernels';
import { isTensor } from '@mercer/tensor';
import type { DifferentiableSpec } from './differentiable-spec.js';
import type { PairwiseShape } from './operands.js';

/** Places of the inputs in the formulas of gradients; the values of parameters follow from `values` on. */
export const OPERANDS = {
  a: 0,
  b: 1,
  upstream: 2,
  transposed: 3,
  sum: 4,
  sumTransposed: 5,
  values: 6,
} as const;

/** What is known of the pairs of a call. */
export interface PairRules {
  /** Elements with n = m + masked do not depend on the inputs. */
  readonly masked: number | undefined;
  /** Whether the reductions of the inner expression are stored, and read as values of pairs. */
  readonly stored: boolean;
}

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

/** The gradient by the rows of one role, which are rows i. */
export function ofRows(
  call: Forward,
  dtype: PairwiseDType,
  k: number,
  role: 'a' | 'b',
  { masked, stored }: PairRules,
): GradientFormula {
  const isA = role === 'a';
  const rules = { masked: isA ? masked : opposite(masked), stored };
  const { forward, operands, values } = operandsOf(call, k, rules);
  const own = isA ? forward : exchangeOperands(forward);
  return { formulas: [rowsGradientFormula(own, dtype, operands)], values };
}

/** The gradient by the rows of one matrix that has both roles. */
export function ofBothRoles(
  call: Forward,
  dtype: PairwiseDType,
  k: number,
  rules: PairRules,
): GradientFormula {
  const { forward, operands, values } = operandsOf(call, k, rules);
  const transposed = {
    upstream: upstreamOf(OPERANDS.transposed, opposite(rules.masked)),
    sum: rules.stored ? vij(OPERANDS.sumTransposed, 1) : undefined,
  };
  return { formulas: [bothRolesFormula(forward, dtype, operands, transposed)], values };
}

/** The gradients by parameters, each of one pair. */
export function ofParameters(
  call: Forward,
  names: readonly string[],
  dtype: PairwiseDType,
  k: number,
  rules: PairRules,
): GradientFormula {
  const { forward, operands, values } = operandsOf(call, k, rules);
  return { formulas: parameterGradientFormulas(forward, names, dtype, operands), values };
}

/** Of the elements with n = m + offset, seen from the other side. */
const opposite = (offset: number | undefined): number | undefined =>
  offset === undefined ? undefined : 0 - offset;

function operandsOf(
  { expressions, parameters, p = 1 }: Forward,
  k: number,
  { masked, stored }: PairRules,
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
      sum: stored ? vij(OPERANDS.sum, 1) : undefined,
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

/**
 * Whether the reductions of the inner expression are stored for the gradients to read, rather than computed at every pair again. They are
 * where that takes loops over many components on a GPU, up to 2 GiB of them and a quarter of the device's `memoryLimitBytes`. Products are
 * computed quickly: they are stored from more columns on than a block of threads has. Under a maximum the component that attains it is looked for anyway.
 */
export function isSumStored(
  { inner, reduce }: Pick<ForwardExpressions, 'inner' | 'reduce'>,
  { m, n, k, batch, dtype, device }: PairwiseShape,
): boolean {
  if (reduce !== 'sum' || device.kind === 'cpu') return false;
  const { memoryLimitBytes = Infinity } = device;
  const most = Math.min(MOST_STORED_BYTES, memoryLimitBytes / 4);
  if (m * n * batch * dtypeBytes(dtype) > most) return false;
  return k > (inner.op === 'mul' ? MOST_AT_PAIRS.product : MOST_AT_PAIRS.other[dtype]);
}

const MOST_STORED_BYTES = 2 ** 31;

/** Components that are reduced at each pair, at most. */
const MOST_AT_PAIRS = { product: 128, other: { float32: 28, float64: 14 } } as const;
