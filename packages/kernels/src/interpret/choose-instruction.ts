import { isNonNegative, type CallNode, type Expr } from '@mercer/formula/plan';
import { functionOperation, plainOperation, type TileOperation } from './operations.js';

/** An operation with the nodes that it reads. */
export interface ChosenInstruction {
  readonly operation: TileOperation;
  readonly args: readonly Expr[];
  /** Numbers that a function reads. */
  readonly table?: readonly number[];
}

/** What a choice depends on beside the node. */
export interface InstructionContext {
  /** How many nodes read a node. */
  readonly uses: ReadonlyMap<Expr, number>;
  /** Whether a node is there already: an input or a value of the launch. */
  readonly given: (node: Expr) => boolean;
  readonly nonNegative: readonly string[];
  /** Whether every operation rounds by itself, so that values do not depend on what reads them. */
  readonly rounded: boolean;
}

/**
 * The instruction for a node: its own operation, or one that also does what its arguments do where
 * nobody else reads those. Nothing for a node that the interpreter has no operation for.
 */
export function chooseInstruction(
  node: Expr,
  context: InstructionContext,
): ChosenInstruction | undefined {
  const fused = fuse(node, context);
  if (fused !== undefined) return fused;
  const { op, args } = node;
  if (op === 'pow') {
    const [base = node] = args;
    const operation = isNonNegative(base, context.nonNegative) ? 'powNonNegative' : 'powAny';
    return { operation, args };
  }
  if (op === 'call') {
    const found = functionOperation(node as CallNode);
    return found && { ...found, args };
  }
  const operation = plainOperation(op);
  return operation === undefined ? undefined : { operation, args };
}

function fuse(node: Expr, context: InstructionContext): ChosenInstruction | undefined {
  const [first, second] = node.args;
  if (first === undefined) return undefined;
  if (node.op === 'exp' && first.op === 'neg' && isPrivate(first, context)) {
    return { operation: 'expOfNegative', args: first.args };
  }
  if (node.op === 'abs') {
    const ends = differenceOf(first, context);
    return ends && { operation: 'absoluteDifference', args: ends };
  }
  if (node.op === 'mul' && first === second) {
    const ends = differenceOf(first, context);
    return ends && { operation: 'squaredDifference', args: ends };
  }
  if (second === undefined) return undefined;
  if (node.op === 'mul') {
    return (
      fuseOwnSize(first, second, context) ??
      fuseOwnSize(second, first, context) ??
      fuseScaled(first, second, context) ??
      fuseScaled(second, first, context)
    );
  }
  if (node.op === 'add' && context.rounded) return undefined;
  if (node.op === 'add') return fuseSum(first, second, context) ?? fuseSum(second, first, context);
  if (node.op === 'max') return fuseMax(first, second, context);
  return undefined;
}

/** `term` added to `sum` by one instruction. */
function fuseSum(
  sum: Expr,
  term: Expr,
  context: InstructionContext,
): ChosenInstruction | undefined {
  if (!isPrivate(term, context) && !isComputedAgain(term, context)) return undefined;
  const [first, second] = term.args;
  if (first === undefined) return undefined;
  const isSquare = term.op === 'mul' && first === second;
  if (isSquare || term.op === 'abs') {
    const ends = differenceOf(first, context);
    const operation = isSquare ? 'addSquaredDifference' : 'addAbsoluteDifference';
    if (ends !== undefined) return { operation, args: [...ends, sum] };
  }
  const power = powerOfDifference(term, context);
  if (power !== undefined) return { ...power, args: [...power.args, sum] };
  return term.op === 'mul' && second !== undefined
    ? { operation: 'multiplyAdd', args: [first, second, sum] }
    : undefined;
}

/** A scaled difference times its size, which is written as the size of the difference scaled likewise. */
function fuseOwnSize(
  value: Expr,
  size: Expr,
  context: InstructionContext,
): ChosenInstruction | undefined {
  if (value.op !== 'mul' || size.op !== 'mul' || !isPrivate(size, context)) return undefined;
  const absolute = size.args.find(({ op }) => op === 'abs');
  const factor = size.args.find((arg) => arg !== absolute);
  const difference = absolute?.args[0];
  if (factor === undefined || difference?.op !== 'sub') return undefined;
  const isSame = value.args.includes(factor) && value.args.includes(difference);
  return isSame && isNonNegative(factor, context.nonNegative)
    ? { operation: 'mulAbsolute', args: [value, value] }
    : undefined;
}

const SCALED = { abs: 'scaledAbsoluteDifference', sign: 'scaledSign' } as const;

/** A difference, its size or its sign, times a factor: a difference is computed again rather than kept. */
function fuseScaled(
  factor: Expr,
  value: Expr,
  context: InstructionContext,
): ChosenInstruction | undefined {
  const signed = value.op === 'abs' || value.op === 'sign' ? SCALED[value.op] : undefined;
  const difference = signed === undefined ? value : value.args[0];
  if (difference?.op !== 'sub' || context.given(difference)) return undefined;
  if (signed !== undefined && !isPrivate(value, context) && !isComputedAgain(value, context)) {
    return undefined;
  }
  return { operation: signed ?? 'scaledDifference', args: [factor, ...difference.args] };
}

const POWERS = [
  'addPower3',
  'addPower4',
  'addPower5',
  'addPower6',
  'addPower7',
  'addPower8',
] as const;
const [LEAST_POWER, MOST_POWER] = [3, 8];

/**
 * A product of one difference and its size that is a power of the size, and of which nobody else reads a part that would have to be
 * kept.
 */
function powerOfDifference(term: Expr, context: InstructionContext): ChosenInstruction | undefined {
  const { uses, given } = context;
  const parts = new Set<Expr>();
  let difference: Expr | undefined;
  let [signed, power] = [0, 0];
  const factors = [term];
  for (let node = factors.pop(); node !== undefined; node = factors.pop()) {
    parts.add(node);
    if (node.op === 'mul') {
      factors.push(...node.args);
    } else {
      const size: Expr | undefined = node.op === 'abs' ? node.args[0] : node;
      if (size?.op !== 'sub' || (difference ?? size) !== size) return undefined;
      difference = size;
      parts.add(size);
      power++;
      if (size === node) signed++;
    }
    if (power + factors.length > MOST_POWER) return undefined;
  }
  const operation = POWERS[power - LEAST_POWER];
  if (difference === undefined || operation === undefined || signed % 2 === 1) return undefined;
  const readers = new Map<Expr, number>([[term, 1]]);
  for (const part of parts) {
    if (part === difference) continue;
    for (const arg of new Set(part.args)) readers.set(arg, (readers.get(arg) ?? 0) + 1);
  }
  const isOwn = [...parts].every(
    (part) =>
      !given(part) && (uses.get(part) === readers.get(part) || isComputedAgain(part, context)),
  );
  return isOwn ? { operation, args: difference.args } : undefined;
}

/** Values without a sign bit are ordered like their bits, NaN above all. */
function fuseMax(
  largest: Expr,
  value: Expr,
  context: InstructionContext,
): ChosenInstruction | undefined {
  const named = largest.name !== undefined && context.nonNegative.includes(largest.name);
  const [inside] = value.args;
  if (!named || value.op !== 'abs' || inside === undefined || !isPrivate(value, context)) {
    return undefined;
  }
  const ends = differenceOf(inside, context);
  return ends && { operation: 'maxAbsoluteDifference', args: [...ends, largest] };
}

/** The ends of a difference that need not be kept: one node alone reads it, or it is computed again. */
function differenceOf(node: Expr, context: InstructionContext): readonly Expr[] | undefined {
  if (node.op !== 'sub' || context.given(node)) return undefined;
  return isPrivate(node, context) || isComputedAgain(node, context) ? node.args : undefined;
}

/** Whether a node is a difference of values that are there already, its size or its sign: that is computed again rather than kept. */
function isComputedAgain(node: Expr, { given }: InstructionContext): boolean {
  const difference = node.op === 'abs' || node.op === 'sign' ? node.args[0] : node;
  const isThere = (end: Expr): boolean => given(end) || end.value !== undefined;
  return !given(node) && difference?.op === 'sub' && difference.args.every(isThere);
}

/** Whether one node alone reads this one, so that it need not be kept. */
function isPrivate(node: Expr, { uses, given }: InstructionContext): boolean {
  return (uses.get(node) ?? 0) === 1 && !given(node);
}
