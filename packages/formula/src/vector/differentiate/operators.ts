import { FormulaError } from '../../formula-error.js';
import { finish, type Steps } from '../../steps.js';
import { dimError, toVector } from '../check-arguments.js';
import { concat, place, repeat, zero } from '../nodes.js';
import { add, mul } from '../operations/arithmetic.js';
import { sum } from '../operations/components.js';
import { postOrderVector } from '../post-order-vector.js';
import { simplifyVector, simplifyVectorSteps } from '../simplify/simplify-vector.js';
import type { Source, VectorExpr, VectorOperand } from '../vector-expr.js';
import { adjointOf, adjointSteps } from './adjoint.js';
import { tangentOf } from './tangent.js';
import { weightedTrace } from './trace.js';

/** Unit vectors that an operator runs through, one pass over the formula for each. */
const MAX_PASSES = 1024;

/**
 * The gradient of `formula` by an input, applied to `seed`: the transposed derivative times seed, of
 * the dim of the input, simplified. `seed` has the dim of the formula, or 1 and is repeated; by
 * default 1. Any order, over every operation; terms that do not depend on the input are left out.
 *
 * Throws `FormulaError`: `DIM_MISMATCH` for a seed of another dim, `NOT_DIFFERENTIABLE` for what is no
 * input, and for an input of which the formula also takes rows by index: its gradient is a scatter.
 *
 * ```ts
 * import { grad, ops, printFormula, vi, vj } from '@mercer/formula';
 * const [x, y] = [vi(0, 3), vj(1, 3)];
 * console.log(printFormula(grad(ops.sqDist(x, y), x))); // 2 * (Vi(0, 3) - Vj(1, 3))
 * ```
 */
export function grad(formula: VectorOperand, by: VectorExpr, seed: VectorOperand = 1): VectorExpr {
  return finish(gradSteps(formula, by, seed));
}

/** {@link grad} in steps. */
export function* gradSteps(
  formula: VectorOperand,
  by: VectorExpr,
  seed: VectorOperand,
): Steps<VectorExpr> {
  const root = toVector('Grad', formula);
  const source = sourceOf('Grad', by, root);
  const e = sized('Grad', 'the vector that the gradient is applied to', seed, root.dim);
  const found = gradients.get(root)?.find((one) => one.source === source && one.seed === e);
  if (found !== undefined) return found.gradient;
  const whole = (yield* adjointSteps(root, source, e)) ?? zero(source.dim);
  const gradient = yield* simplifyVectorSteps(whole);
  const others = gradients.get(root)?.slice(0, MOST_KNOWN - 1) ?? [];
  gradients.set(root, [{ source, seed: e, gradient }, ...others]);
  return gradient;
}

/** Gradients of a formula that are remembered as long as it lives, so that the next call like one before finds its own. */
const MOST_KNOWN = 8;
const gradients = new WeakMap<VectorExpr, readonly KnownGradient[]>();

interface KnownGradient {
  readonly source: Source;
  readonly seed: VectorExpr;
  readonly gradient: VectorExpr;
}

/**
 * The derivative of `formula` in the direction `direction` of an input: of the dim of the formula,
 * simplified. With arrays, along several inputs at once. Errors as {@link grad}.
 */
export function diff(
  formula: VectorOperand,
  by: VectorExpr | readonly VectorExpr[],
  direction: VectorOperand | readonly VectorOperand[],
): VectorExpr {
  const root = toVector('Diff', formula);
  const [sources, tangents] = [listOf(by), listOf(direction)];
  if (sources.length !== tangents.length) {
    throw new FormulaError(
      'ARITY_MISMATCH',
      `cannot build Diff: there are ${sources.length} inputs and ${tangents.length} directions. ` +
        `Give one direction for each input.`,
    );
  }
  const directions = new Map<Source, VectorExpr>();
  for (const [k, one] of sources.entries()) {
    const source = sourceOf('Diff', one, root);
    const tangent = sized('Diff', 'the direction', tangents[k]!, source.dim);
    const known = directions.get(source);
    directions.set(source, known === undefined ? tangent : add(known, tangent));
  }
  return simplifyVector(tangentOf(root, directions) ?? zero(root.dim));
}

function listOf<T extends VectorOperand>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}

/**
 * All gradients by an input: `dim(formula) * dim(input)` numbers, block k the gradient of component k.
 * Errors as {@link grad}; `LIMIT_EXCEEDED` for a formula of dim above 1024.
 */
export function gradMatrix(formula: VectorOperand, by: VectorExpr): VectorExpr {
  const root = toVector('GradMatrix', formula);
  const source = sourceOf('GradMatrix', by, root);
  const basis = unitVectors('GradMatrix', root.dim);
  const blocks = basis.map((unit) => adjointOf(root, source, unit) ?? zero(source.dim));
  return simplifyVector(concat(...blocks));
}

/**
 * The sum over k of the derivative of component k by component k of the input. The formula has the
 * dim of the input. Errors as {@link gradMatrix}.
 */
export function divergence(formula: VectorOperand, by: VectorExpr): VectorExpr {
  return trace('Divergence', formula, by, 1);
}

/** The sum of the second derivatives by each component of the input. The formula has dim 1. */
export function laplacian(formula: VectorOperand, by: VectorExpr): VectorExpr {
  const root = toVector('Laplacian', formula);
  if (root.dim !== 1) {
    throw dimError('Laplacian', `the formula has dim ${root.dim}`, 'Pass a formula of dim 1.');
  }
  return trace('Laplacian', grad(root, by), by, 1);
}

/**
 * The trace of a formula that is linear in an input: `sum w_k M_kk` where M is its matrix; a formula
 * of dim 1 counts as repeated. `w` has dim 1 or that of the input, by default 1.
 */
export function traceOperator(
  formula: VectorOperand,
  by: VectorExpr,
  w: VectorOperand = 1,
): VectorExpr {
  return trace('TraceOperator', formula, by, w);
}

/** The transpose of a formula that is linear in an input, applied to `u`. */
export function adjointOperator(
  formula: VectorOperand,
  by: VectorExpr,
  u: VectorOperand,
): VectorExpr {
  return grad(formula, by, u);
}

/** `wl' M wr` for a formula with matrix M, linear in an input: all entries of M, weighted. */
export function sumLinOperator(
  formula: VectorOperand,
  by: VectorExpr,
  wl: VectorOperand = 1,
  wr: VectorOperand = 1,
): VectorExpr {
  const root = toVector('SumLinOperator', formula);
  const left = sized('SumLinOperator', 'the left weight', wl, root.dim);
  return simplifyVector(sum(mul(left, diff(root, by, wr))));
}

function trace(op: string, formula: VectorOperand, by: VectorExpr, w: VectorOperand): VectorExpr {
  const root = toVector(op, formula);
  const source = sourceOf(op, by, root);
  const allowed = op === 'TraceOperator' && root.dim === 1;
  if (root.dim !== source.dim && !allowed) {
    throw dimError(
      op,
      `the formula has dim ${root.dim} and the input has dim ${source.dim}`,
      'Pass a formula of the dim of the input.',
    );
  }
  const weight = sized(op, 'the weight', w, source.dim);
  const whole = root.dim === source.dim ? root : repeat(root, source.dim);
  const units = (dim: number): VectorExpr[] => unitVectors(op, dim);
  return simplifyVector(weightedTrace(whole, source, weight, units));
}

function unitVectors(op: string, dim: number): VectorExpr[] {
  if (dim > MAX_PASSES) {
    throw new FormulaError(
      'LIMIT_EXCEEDED',
      `cannot build ${op}: it takes one derivative for each of ${dim} components and the limit is ` +
        `${MAX_PASSES}. Use Grad or Diff with the vectors that you need.`,
    );
  }
  return Array.from({ length: dim }, (_, k) => place(1, k, dim));
}

function sized(op: string, what: string, value: VectorOperand, dim: number): VectorExpr {
  const node = toVector(op, value);
  if (node.dim === dim) return node;
  if (node.dim === 1) return repeat(node, dim);
  throw dimError(
    op,
    `${what} has dim ${node.dim} and must have dim ${dim}`,
    `Pass one of dim ${dim} or 1.`,
  );
}

function sourceOf(op: string, by: VectorExpr, root: VectorExpr): Source {
  const source = toVector(op, by, 'an input');
  if (source.kind === 'gather') return source;
  if (source.kind !== 'variable') {
    throw new FormulaError(
      'NOT_DIFFERENTIABLE',
      `cannot build ${op}: it differentiates by an input and got a '${source.kind}' node. ` +
        `Pass an input such as vi(0, 3), or a row of one taken by Gather.`,
    );
  }
  const rows = postOrderVector(root).filter((n) => n.kind === 'gather' && n.table === source);
  if (rows.length > 0) {
    throw new FormulaError(
      'NOT_DIFFERENTIABLE',
      `cannot build ${op}: the formula takes rows of input ${source.position} by index, so the ` +
        `derivative by its row is not a formula. Differentiate by the Gather node and scatter the result.`,
    );
  }
  return source;
}
