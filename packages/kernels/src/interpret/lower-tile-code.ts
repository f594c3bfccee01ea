import { constant, orderSteps, visitSteps, type Expr, type Steps } from '@mercer/formula/plan';
import type { PairwiseDType } from '../dtype.js';
import { allocateRegisters, type Operand, type VirtualInstruction } from './allocate-registers.js';
import { chooseInstruction, type ChosenInstruction } from './choose-instruction.js';
import { operationNumber } from './operations.js';
import type { TileCode } from './tile-program.js';

/** A formula that the interpreter cannot run; its kernel has no program and needs a compiler. */
class NoInstruction extends Error {
  override readonly name = 'NoInstruction';
}

/** In steps, what `make` makes, or nothing where the interpreter lacks an operation. */
export function* unlessNoInstruction<R>(make: Steps<R>): Steps<R | undefined> {
  try {
    return yield* make;
  } catch (error) {
    if (error instanceof NoInstruction) return undefined;
    throw error;
  }
}

/** Where codes find numbers that they share. */
export interface TileTables {
  /** The place of a constant. */
  readonly constant: (value: number) => number;
  /** The place of the first of a row of numbers. */
  readonly table: (numbers: readonly number[]) => number;
  /** The place of a value of the launch; undefined for a node that reads tiles. */
  readonly uniform: (node: Expr) => number | undefined;
}

/** What a code is lowered from. */
export interface TileCodeParts {
  readonly dtype: PairwiseDType;
  readonly roots: readonly Expr[];
  /** Nodes that the code is given, in order: variables, or what another code computed. */
  readonly inputs: readonly Expr[];
  /** Variables that are never below 0. */
  readonly nonNegative: readonly string[];
  /** Whether every operation rounds by itself. Default false. */
  readonly rounded: boolean;
  readonly tables: TileTables;
}

/**
 * In steps, expressions as instructions over tiles; every distinct node is computed once, and results lie in
 * registers of their own.
 *
 * @throws NoInstruction for an operation that the interpreter lacks
 */
export function* lowerTileCode(parts: TileCodeParts): Steps<TileCode> {
  const { roots, inputs, tables, nonNegative, rounded } = parts;
  const given = new Map<Expr, Operand>();
  inputs.forEach((node, index) => given.set(node, { kind: 'input', index }));
  const order = yield* reachable(roots, given, tables);
  const uses = yield* countUses(order, roots, (node) => given.has(node));
  const context = { uses, nonNegative, rounded, given: (node: Expr) => given.has(node) };
  const chosen = yield* chooseAll(order, roots, context);

  const instructions: VirtualInstruction[] = [];
  const values = new Map<Expr, Operand>(given);
  const emit = (operation: number, args: readonly Operand[]): Operand => {
    instructions.push({ operation, args });
    return { kind: 'value', index: instructions.length - 1 };
  };
  const number = (value: number): Operand => ({ kind: 'constant', index: tables.constant(value) });
  const operandOf = (node: Expr): Operand => {
    if (node.value !== undefined) return number(node.value);
    const known = values.get(node);
    if (known === undefined) throw new NoInstruction(`'${node.name ?? node.op}' is not given`);
    return known;
  };
  // a value of the launch is a number, and a choice by it compares that
  const maskOf = (node: Expr): Operand =>
    given.has(node) ? emit(operationNumber('ne'), [operandOf(node), number(0)]) : operandOf(node);
  for (const [node, instruction] of chosen) {
    const { operation, args } = instruction;
    const table = Object.hasOwn(instruction, 'table') ? instruction.table : undefined;
    const operands = args.map((arg) => (arg.type === 'bool' ? maskOf(arg) : operandOf(arg)));
    if (operation === 'powNonNegative') operands.push(lowPart(args[1], operands[1], parts, number));
    if (table !== undefined) operands.push({ kind: 'table', index: tables.table(table) });
    values.set(node, emit(operationNumber(operation), operands));
    yield;
  }
  const taken = new Set<number>();
  const results = roots.map((root) => {
    let operand = operandOf(root);
    if (operand.kind !== 'value' || taken.has(operand.index)) {
      operand = emit(operationNumber('copy'), [operand]);
    }
    taken.add(operand.index);
    return operand.index;
  });
  yield;
  return yield* allocateRegisters(instructions, results);
}

/** Nodes below the roots down to what is given; what depends on the launch alone becomes given. */
function* reachable(
  roots: readonly Expr[],
  given: Map<Expr, Operand>,
  tables: TileTables,
): Steps<readonly Expr[]> {
  const needed = new Set<Expr>(roots);
  const order = yield* orderSteps(roots);
  yield* visitSteps(order.toReversed(), (node) => {
    if (!needed.has(node) || given.has(node)) return;
    const uniform = tables.uniform(node);
    if (uniform === undefined) for (const arg of node.args) needed.add(arg);
    else given.set(node, { kind: 'uniform', index: uniform });
  });
  return order.filter((node) => needed.has(node));
}

function* countUses(
  order: readonly Expr[],
  roots: readonly Expr[],
  given: (node: Expr) => boolean,
): Steps<Map<Expr, number>> {
  const uses = new Map<Expr, number>();
  const count = (node: Expr): Map<Expr, number> => uses.set(node, (uses.get(node) ?? 0) + 1);
  yield* visitSteps(order, (node) => {
    if (!given(node)) for (const arg of new Set(node.args)) count(arg);
  });
  roots.forEach(count);
  return uses;
}

/** The instructions of the nodes that are left when some are done by others, in order. */
function* chooseAll(
  order: readonly Expr[],
  roots: readonly Expr[],
  context: Parameters<typeof chooseInstruction>[1],
): Steps<readonly (readonly [Expr, ChosenInstruction])[]> {
  const needed = new Set<Expr>(roots);
  const chosen: (readonly [Expr, ChosenInstruction])[] = [];
  for (const node of order.toReversed()) {
    if (!needed.has(node) || node.args.length === 0 || context.given(node)) continue;
    const one = chooseInstruction(node, context);
    if (one === undefined) throw new NoInstruction(`the interpreter has no operation '${node.op}'`);
    for (const arg of one.args) needed.add(arg);
    chosen.push([node, one]);
    yield;
  }
  return chosen.reverse();
}

/** What the exponent of a power lost when it was rounded to the data type. */
function lowPart(
  exponent: Expr = constant(0),
  operand: Operand | undefined,
  { dtype }: TileCodeParts,
  number: (value: number) => Operand,
): Operand {
  if (operand?.kind === 'uniform') return { kind: 'uniformLow', index: operand.index };
  const { value } = exponent;
  return number(
    value !== undefined && dtype === 'float32' && Number.isFinite(value)
      ? value - Math.fround(value)
      : 0,
  );
}
