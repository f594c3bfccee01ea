import { describeValue } from '@mercer/options';
import { FormulaError } from './formula-error.js';
import type { Expr } from './expr.js';
import type { MathOp } from './functions/math-ops.js';
import { jsonOf, type ExprJson } from './json-of.js';
import { SIGNATURES, type ExprType, type Op } from './op.js';
import { WeakTable } from './weak-table.js';

/** What a node has beside its arguments. */
type Payload = {
  readonly [K in 'value' | 'name' | 'fn' | 'attributes']?: Expr[K] | undefined;
};

const NOTHING = { value: undefined, name: undefined, fn: undefined, attributes: undefined };

class Node implements Expr {
  declare readonly value?: number;
  declare readonly name?: string;
  declare readonly fn?: MathOp;
  declare readonly attributes?: readonly number[];
  readonly type: ExprType;

  constructor(
    readonly op: Op,
    readonly args: readonly Expr[],
    readonly id: number,
    payload: Payload,
  ) {
    this.type = SIGNATURES[op].type;
    const { value, name, fn, attributes } = payload;
    Object.assign(this, { value, name, fn, attributes });
    Object.freeze(args);
    Object.freeze(this);
  }

  toJSON(): readonly ExprJson[] {
    return jsonOf(this);
  }
}

const table = new WeakTable<string, Expr>();
let nextId = 0;

/**
 * The one node with this content. Keys name arguments by id: ids are never reused and a node keeps
 * its arguments alive, so a key means the same content for as long as its entry lives.
 */
export function intern(op: Op, args: readonly Expr[], given?: Payload): Expr {
  const payload: Payload = { ...NOTHING, ...given };
  const key = keyOf(op, args, payload);
  const known = table.get(key);
  if (known !== undefined) return known;
  const node = new Node(op, args, nextId++, payload);
  table.set(key, node);
  return node;
}

function keyOf(op: Op, args: readonly Expr[], payload: Payload): string {
  if (payload.name !== undefined) return `$${payload.name}`;
  // -0 and 0 are different constants; every NaN is the same one.
  if (payload.value !== undefined) return Object.is(payload.value, -0) ? '-0' : `${payload.value}`;
  const ids = args.map((arg) => arg.id).join(',');
  if (payload.fn === undefined) return `${op}:${ids}`;
  return `${op} ${payload.fn} ${payload.attributes?.join() ?? ''}:${ids}`;
}

/** True for a node made by this copy of the package. */
export function isExpr(value: unknown): value is Expr {
  return value instanceof Node;
}

/** @throws FormulaError INVALID_ARGUMENT for what is no such node */
export function assertExpr(value: unknown, what: string): asserts value is Expr {
  if (isExpr(value)) return;
  throw new FormulaError(
    'INVALID_ARGUMENT',
    `${what}: the expression is ${describeValue(value)}. Build it with the constructors of @mercer/formula.`,
  );
}

/** How many entries the intern table holds, dead ones not yet swept included. */
export function internedCount(): number {
  return table.size;
}
