import { lift, ops, type RealExpr, type VectorExpr } from '@mercer/formula';
import type { DescriptorParts } from '@mercer/kernels';
import type { DifferentiableSpec } from './differentiable-spec.js';

/** Exponents that are numbers stand in formulas: powers with a known exponent have simpler derivatives. */
export const EXPONENTS: readonly string[] = ['p', 'innerP', 'outerP', 'degree'];

const MATERN: Readonly<Record<string, number>> = { matern12: 0.5, matern32: 1.5, matern52: 2.5 };

/** What the kernel of two rows is made of. */
export interface PairKernelParts {
  readonly descriptor: DescriptorParts;
  readonly expressions: DifferentiableSpec['expressions'];
  /** Parameters by their names in the expressions. */
  readonly operands: ReadonlyMap<string, VectorExpr>;
  /** The exponent of differences, 0 where it is read from memory. */
  readonly exponent: number;
  /** Components of a row. */
  readonly features: number;
}

/** The kernel of two rows, which are scaled and normalised already, as a formula with the right derivatives of any order. */
export function pairKernel(
  { descriptor, expressions, operands: given, exponent, features }: PairKernelParts,
  a: VectorExpr,
  b: VectorExpr,
): VectorExpr {
  const { inner, outer, reduce } = expressions;
  const operands = new Map([...given, ['a', a] as const, ['b', b] as const]);
  const operand = (name: string): VectorExpr => {
    const found = operands.get(name);
    if (found === undefined) throw new Error(`a kernel reads '${name}', which has no value`);
    return found;
  };
  const { innerOperator, innerPower, outerPower, kernel } = descriptor;
  const isRough = innerOperator === 'diff' && innerPower === 'pow' && exponent < 2;
  const each = isRough ? guardedPower(inner, operand) : lift(inner, operand);
  const steps = each.dim === features ? each : ops.sumT(each, features);
  const sum = reduce === 'sum' ? ops.sum : ops.max;
  operands.set('s', features === 0 ? ops.constant(0) : sum(steps));
  const order = typeof kernel === 'string' ? MATERN[kernel] : undefined;
  // of the squared distance, it has the right derivatives where rows are equal
  if (order !== undefined) return ops.maternKernel(operand('s'), order, operand('bandwidth'));
  const whole = operand('s');
  const isRoot = innerOperator === 'diff' && (outerPower === 'sqrt' || outerPower === 'pow');
  if (!isRoot || features === 0) return lift(outer, operand);
  // a root has no slope at distance 0
  const isZero = ops.equal(whole, 0);
  const at = (s: VectorExpr): VectorExpr =>
    lift(outer, (name) => (name === 's' ? s : operand(name)));
  return ops.where(isZero, at(ops.constant(0)), at(ops.where(isZero, 1, whole)));
}

/** A power of differences, without a slope where they are 0: there that of the power or its logarithm may be infinite. */
function guardedPower(inner: RealExpr, operand: (name: string) => VectorExpr): VectorExpr {
  const [a, b] = [operand('a'), operand('b')];
  const isZero = ops.equal(a, b);
  // what is not chosen has to be finite: its slope is multiplied by 0
  const moved = ops.where(isZero, ops.add(b, 1), a);
  return ops.where(
    isZero,
    0,
    lift(inner, (name) => (name === 'a' ? moved : operand(name))),
  );
}
