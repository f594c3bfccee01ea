import { describeList } from '@mercer/options';
import { FormulaError } from '../formula-error.js';
import { broadcastDim, dimError, integer, MAX_DIM, toVector } from './check-arguments.js';
import { elementwiseArity } from './elementwise/scalar-of.js';
import type { ElementwiseOp } from './elementwise/elementwise-op.js';
import { internVector, isVectorExpr, NodesByNumbers, type Payload } from './intern-vector.js';
import type {
  Category,
  Combine,
  Contraction,
  VariableNode,
  VectorExpr,
  VectorOperand,
} from './vector-expr.js';

const CATEGORIES: ReadonlySet<string> = new Set<Category>(['i', 'j', 'pair', 'parameter']);
const MAX_POSITION = 4095;

/** The number `value`, dim 1; infinities, NaN and -0 are literals too. */
export function literal(value: number): VectorExpr {
  return toVector('a literal', value, 'a number');
}

/** The zero vector of `dim` components. */
export function zero(dim: number): VectorExpr {
  integer('Zero', 'dim', dim, 1, MAX_DIM);
  return dim === 1 ? literal(0) : internVector('zero', dim, [], {});
}

/**
 * Input number `position` (from 0), a row of `dim` numbers for every i, every j, every pair of both, or one row for all.
 * Throws `FormulaError` with code `INVALID_ARGUMENT`.
 */
export function input(category: Category, position: number, dim: number): VariableNode {
  if (!CATEGORIES.has(category)) {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot build a variable: the category is ${describeList(category)}. Use 'i', 'j', 'pair' or 'parameter'.`,
    );
  }
  integer('a variable', 'position', position, 0, MAX_POSITION);
  integer('a variable', 'dim', dim, 1, MAX_DIM);
  return variables.intern(category, position, dim, () => [dim, [], { category, position }]);
}

const variables = new NodesByNumbers('variable');

/** The row number i or j, from 0, as a number. */
export function indexOf(axis: 'i' | 'j'): VectorExpr {
  return internVector('index', 1, [], { axis });
}

const NO_ATTRIBUTES: readonly number[] = Object.freeze([]);

/** `op` on every component; see `ElementwiseNode`. Numbers that are no integers are refused by the named operations. */
export function elementwise(
  op: ElementwiseOp,
  operands: readonly VectorOperand[],
  attributes = NO_ATTRIBUTES,
): VectorExpr {
  const args = operands.every(isVectorExpr)
    ? operands
    : operands.map((arg) => toVector(`'${op}'`, arg));
  const [first, second] = args;
  // A signed literal is one node, however it was written: printing depends on it.
  if (op === 'neg' && first?.kind === 'literal' && args.length === 1) return literal(-first.value);
  const made = (): Made => elementwiseNode(op, args, attributes);
  if (first === undefined || args.length > 2 || attributes.length > 0) {
    return internVector('elementwise', ...made());
  }
  return byOperation.intern(op, first.id, second === undefined ? 0 : second.id + 1, made);
}

const byOperation = new NodesByNumbers('elementwise');

type Made = readonly [dim: number, args: readonly VectorExpr[], payload: Payload<'elementwise'>];

function elementwiseNode(
  op: ElementwiseOp,
  args: readonly VectorExpr[],
  attributes: readonly number[],
): Made {
  const arity = elementwiseArity(op);
  if (arity?.args !== args.length || arity.attributes !== attributes.length) {
    throw new FormulaError(
      'ARITY_MISMATCH',
      arity === undefined
        ? `cannot build '${op}': there is no elementwise operation of that name.`
        : `cannot build '${op}': it takes ${arity.args} argument(s) and ${arity.attributes} number(s) ` +
            `and got ${args.length} and ${attributes.length}. Pass exactly those.`,
    );
  }
  const payload = { op, attributes: Object.freeze([...attributes]) };
  // the caller's list stays its own
  return [broadcastDim(`'${op}'`, args), [...args], payload];
}

/** One number from all components: their sum, extremum, or the first index of it. */
export function components(combine: Combine, operand: VectorOperand): VectorExpr {
  const arg = isVectorExpr(operand) ? operand : toVector(`'${combine}'`, operand);
  return byCombine.intern(combine, arg.id, 0, () => [1, [arg], { combine }]);
}

const byCombine = new NodesByNumbers('components');

/** The one component of `operand`, `dim` times. */
export function repeat(operand: VectorOperand, dim: number): VectorExpr {
  const arg = toVector('SumT', operand);
  integer('SumT', 'dim', dim, 1, MAX_DIM);
  if (arg.dim !== 1)
    throw dimError('SumT', `the argument has dim ${arg.dim}`, 'Pass one of dim 1.');
  return dim === 1 ? arg : internVector('repeat', dim, [arg], {});
}

/** Components `start`, `start + step`, ..., `dim` of them. */
export function slice(operand: VectorOperand, start: number, dim: number, step = 1): VectorExpr {
  const arg = toVector('Extract', operand);
  checkSlots('Extract', arg.dim, start, dim, step);
  if (dim === arg.dim) return arg;
  return internVector('slice', dim, [arg], { start, step: dim === 1 ? 1 : step });
}

/** Zeros, with the components of `operand` at `start`, `start + step`, ... */
export function place(operand: VectorOperand, start: number, dim: number, step = 1): VectorExpr {
  const arg = toVector('ExtractT', operand);
  integer('ExtractT', 'dim', dim, 1, MAX_DIM);
  checkSlots('ExtractT', dim, start, arg.dim, step);
  if (dim === arg.dim) return arg;
  return internVector('place', dim, [arg], { start, step: arg.dim === 1 ? 1 : step });
}

function checkSlots(op: string, whole: number, start: number, count: number, step: number): void {
  integer(op, 'start', start, 0, MAX_DIM);
  integer(op, 'length', count, 1, MAX_DIM);
  integer(op, 'step', step, 1, MAX_DIM);
  const last = start + (count - 1) * step;
  if (last >= whole) {
    throw dimError(
      op,
      `it reaches component ${last} of a vector of dim ${whole}`,
      `Components count from 0; the last one is ${whole - 1}.`,
    );
  }
}

/** The arguments one after the other. */
export function concat(...operands: readonly VectorOperand[]): VectorExpr {
  const args = operands.map((arg) => toVector('Concat', arg));
  const [first] = args;
  if (first === undefined) throw dimError('Concat', 'there is no argument', 'Pass at least one.');
  const dim = args.reduce((sum, arg) => sum + arg.dim, 0);
  integer('Concat', 'dim', dim, 1, MAX_DIM);
  return args.length === 1 ? first : internVector('concat', dim, args, {});
}

/** The first components of all arguments, then the second ones, and so on. */
export function interleave(...operands: readonly VectorOperand[]): VectorExpr {
  const args = operands.map((arg) => toVector('Interleave', arg));
  const [first] = args;
  if (first === undefined || args.some((arg) => arg.dim !== first.dim)) {
    throw dimError(
      'Interleave',
      `the arguments have dims ${args.map((arg) => arg.dim).join(', ')}`,
      'Pass at least one, all of the same dim.',
    );
  }
  const dim = args.length * first.dim;
  integer('Interleave', 'dim', dim, 1, MAX_DIM);
  return args.length === 1 ? first : internVector('interleave', dim, args, {});
}

/** A contraction that `contraction.ts` has checked. */
export function contract(
  f: VectorExpr,
  g: VectorExpr,
  dim: number,
  contraction: Contraction,
): VectorExpr {
  return internVector('contract', dim, [f, g], { contraction });
}

/** 1 at component `floor(f + 1/2)`, else 0; all 0 where that is no component, and for NaN. */
export function oneHot(operand: VectorOperand, dim: number): VectorExpr {
  const arg = toVector('OneHot', operand);
  integer('OneHot', 'dim', dim, 1, MAX_DIM);
  if (arg.dim !== 1) {
    throw dimError('OneHot', `the position has dim ${arg.dim}`, 'Pass one of dim 1.');
  }
  return internVector('oneHot', dim, [arg], {});
}

/** Row number `floor(index + 1/2)` of input `table`; NaN where it has no such row. */
export function gather(table: VectorExpr, index: VectorOperand): VectorExpr {
  if (table.kind !== 'variable') {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot build Gather: the first argument is a '${table.kind}' node. Pass an input such as vj(0, 3).`,
    );
  }
  if (table.category === 'pair') {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot build Gather: input ${table.position} has values of pairs, and no rows that one index finds. ` +
        `Pass an input with rows, such as vj(0, 3).`,
    );
  }
  const at = toVector('Gather', index);
  if (at.dim !== 1) throw dimError('Gather', `the index has dim ${at.dim}`, 'Pass one of dim 1.');
  return internVector('gather', table.dim, [at], { table });
}
