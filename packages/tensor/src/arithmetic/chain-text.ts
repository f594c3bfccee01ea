import { constant, variable, type RealExpr } from '@mercer/formula';
import type { DType, MapProblem } from '@mercer/kernels';
import { own } from '@mercer/options';
import type { Tensor } from '../tensor.js';
import type { Unlaunched } from '../unlaunched.js';
import { broadcastLayout } from '../views.js';
import { isChain, isLiteral, type Chain, type ChainNode, type ChainOperand } from './chain.js';
import { isInteger } from './dtype-rules.js';
import { LaterRead } from './later-read.js';
import { OPERATORS, type Operator } from './operators.js';
import { storedFormula } from './stored-formula.js';

/** What a kernel computes: a chain, or a tensor as it is. */
export type ChainRoot = ChainNode | LaterRead | Unlaunched;

/** A chain with the tensors that it reads in the order of its text. */
export interface BoundChain {
  readonly root: ChainRoot;
  /** The chain with its tensors as x0, x1, ... and its numbers as p0, p1, ... in the order in which they stand. */
  readonly text: string;
  readonly tensors: readonly Tensor[];
  readonly numbers: readonly number[];
  /** Of an operand, where it stands among the tensors. */
  readonly places: ReadonlyMap<ChainOperand, number>;
}

/** Computed in the kernel of the node that reads it. */
const isInner = ({ chain }: ChainNode, operand: ChainOperand): operand is ChainNode =>
  isChain(operand) && !(chain.before as readonly ChainOperand[]).includes(operand);

/**
 * The operations of a chain, in the order in which they stand.
 *
 * @param seen operations that were written, which are named by their number; takes those of this chain
 */
export function chainText(
  node: ChainNode,
  seen: Map<ChainNode, number>,
  numberAt: (one: number) => string,
  tensorAt: (one: LaterRead | Unlaunched) => string,
): string {
  const known = seen.get(node);
  if (known !== undefined) return `#${known}`;
  seen.set(node, seen.size);
  // the dtype says what is stored, and whether an operation has a formula for whole numbers
  let text = `${node.chain.operator} ${node.chain.dtype}(`;
  for (const one of node.chain.operands) {
    if (typeof one === 'number') text += `${numberAt(one)},`;
    else if (isLiteral(one)) text += `${one.literal},`;
    else
      text += `${isInner(node, one) ? chainText(one, seen, numberAt, tensorAt) : tensorAt(one)},`;
  }
  return `${text})`;
}

/** Writes a chain down, with the tensors that it reads now. @param before what was computed before */
export function bindChain(
  root: ChainRoot,
  before: ReadonlyMap<ChainOperand, LaterRead>,
): BoundChain & { readonly made: readonly Tensor[] } {
  const tensors: Tensor[] = [];
  const made: Tensor[] = [];
  const numbers: number[] = [];
  const places = new Map<ChainOperand, number>();
  const seen = new Map<ChainNode, number>();
  const tensorAt = (operand: LaterRead | Unlaunched): string => {
    let place = places.get(operand);
    if (place === undefined) {
      const read = operand instanceof LaterRead ? operand : before.get(operand);
      if (read === undefined) throw new Error('what a chain reads is there before it');
      const tensor = read.bound();
      if (tensor !== read.tensor) made.push(tensor);
      place = tensors.push(tensor) - 1;
      places.set(operand, place);
    }
    return `x${place}`;
  };
  const text = isChain(root)
    ? chainText(root, seen, (one) => `p${numbers.push(one) - 1}`, tensorAt)
    : tensorAt(root);
  return { root, text, tensors, numbers, places, made };
}

/**
 * The formula of a chain in the names of its text.
 *
 * @param isStored whether its last operation is followed by another in the kernel, as if it had been stored
 */
export function chainFormula(
  root: ChainRoot,
  { places }: Pick<BoundChain, 'places'>,
  isStored = false,
): RealExpr {
  let numbers = 0;
  const seen = new Map<ChainNode, RealExpr>();
  const visit = (node: ChainNode): RealExpr => {
    const known = seen.get(node);
    if (known !== undefined) return known;
    const operands = node.chain.operands.map((one): RealExpr => {
      if (typeof one === 'number') return variable(`p${numbers++}`);
      if (isLiteral(one)) return constant(one.literal);
      return isInner(node, one) ? visit(one) : variable(`x${places.get(one) ?? 0}`);
    });
    const { operator, dtype } = node.chain;
    const value = formulaOf(operator, dtype)(...operands);
    const written = isStored || node !== root ? storedFormula(value, dtype) : value;
    seen.set(node, written);
    return written;
  };
  return isChain(root) ? visit(root) : variable(`x${places.get(root) ?? 0}`);
}

/** The tensors of a chain as inputs of a map, in the names of its text. */
export const chainInputs = (
  tensors: readonly Tensor[],
  shape: readonly number[],
): MapProblem['inputs'] =>
  tensors.map((tensor, k) => ({
    name: `x${k}`,
    dtype: tensor.dtype,
    strides: broadcastLayout(tensor, shape).strides,
  }));

/** The numbers of a chain, in the names of its text. */
export function namedNumbers(numbers: readonly number[]): Readonly<Record<string, number>> {
  const named: Record<string, number> = {};
  for (const [k, number] of numbers.entries()) named[`p${k}`] = number;
  return named;
}

function formulaOf(operator: Chain['operator'], dtype: DType): Operator['formula'] {
  if (operator === 'cast') return (value) => value;
  const { formula, whole = formula } = own(OPERATORS[operator] as Operator, 'formula', 'whole');
  return isInteger(dtype) ? whole : formula;
}
