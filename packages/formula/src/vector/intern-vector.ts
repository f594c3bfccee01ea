import { describeValue } from '@mercer/options';
import { FormulaError } from '../formula-error.js';
import { WeakTable } from '../weak-table.js';
import type { Kind, NodeOfKind, VariableNode, VectorExpr } from './vector-expr.js';

/** What a node holds beside kind, dim, arguments and id. */
export type Payload<K extends Kind> = Omit<NodeOfKind<K>, 'kind' | 'dim' | 'args' | 'id'>;

/** What is known of a node from the start, so that nobody has to go through the nodes below it. */
interface Below {
  readonly inputs: readonly VariableNode[];
  readonly gathers: boolean;
}

class VectorNode {
  readonly #below: Below;

  constructor(
    readonly kind: Kind,
    readonly dim: number,
    readonly args: readonly VectorExpr[],
    readonly id: number,
    payload: object,
  ) {
    Object.assign(this, payload);
    this.#below = below(this as unknown as VectorExpr);
    Object.freeze(args);
    Object.freeze(this);
  }

  static below(node: VectorExpr): Below {
    return (node as unknown as VectorNode).#below;
  }
}

function below(node: VectorExpr): Below {
  if (node.kind === 'variable') return { inputs: [node], gathers: false };
  if (node.kind === 'gather') {
    return { inputs: merged([[node.table], ...node.args.map(inputsBelow)]), gathers: true };
  }
  return { inputs: merged(node.args.map(inputsBelow)), gathers: node.args.some(hasGathers) };
}

/** The inputs of a node, gathered ones included, sorted by position. */
export const inputsBelow = (node: VectorExpr): readonly VariableNode[] =>
  VectorNode.below(node).inputs;

/** Whether a formula takes rows by index. */
export const hasGathers = (node: VectorExpr): boolean => VectorNode.below(node).gathers;

/** Sorted lists as one; one of them where it has all, so that nodes share lists. */
export function merged(lists: readonly (readonly VariableNode[])[]): readonly VariableNode[] {
  return lists.reduce((all, list) => {
    if (list === all || list.length === 0) return all;
    if (all.length === 0) return list;
    const union = [...new Set([...all, ...list])];
    if (union.length === all.length) return all;
    if (union.length === list.length) return list;
    return union.sort((a, b) => a.position - b.position || a.id - b.id);
  }, []);
}

const table = new WeakTable<string, VectorNode>();
let nextId = 0;
let stepsLeft = Infinity;

function countStep(): void {
  if (--stepsLeft >= 0) return;
  throw new FormulaError(
    'LIMIT_EXCEEDED',
    `cannot build the formula: it needs more steps than the limit 'maxSteps' allows. ` +
      `Write a smaller formula, differentiate fewer times, or raise the limit for text that you trust.`,
  );
}

/** The one node with this content. */
export function internVector<K extends Kind>(
  kind: K,
  dim: number,
  args: readonly VectorExpr[],
  payload: Payload<K>,
): NodeOfKind<K> {
  countStep();
  const key = keyOf(kind, dim, args, payload);
  return (table.get(key) ?? made(table, key, kind, dim, args, payload)) as NodeOfKind<K>;
}

function made<K extends string | number>(
  within: WeakTable<K, VectorNode>,
  key: K,
  ...[kind, dim, args, payload]: [Kind, number, readonly VectorExpr[], object]
): VectorExpr {
  const node = new VectorNode(kind, dim, args, nextId++, payload);
  within.set(key, node);
  return node as unknown as VectorExpr;
}

/** Two numbers below this are told from their key. */
const LARGEST_IN_KEY = 2 ** 26;

/**
 * Nodes of one kind that a name and two whole numbers tell apart, such as an operation and the ids of its arguments. A formula that is
 * built anew finds its nodes here by a number, which is several times as quick as by a text.
 */
export class NodesByNumbers<K extends Kind> {
  readonly #tables = new Map<string, WeakTable<number, VectorNode>>();

  constructor(private readonly kind: K) {}

  /** The one node of the name and the numbers, which `rest` describes where there is none yet. */
  intern(
    name: string,
    first: number,
    second: number,
    rest: () => readonly [dim: number, args: readonly VectorExpr[], payload: Payload<K>],
  ): NodeOfKind<K> {
    if (first >= LARGEST_IN_KEY || second >= LARGEST_IN_KEY) {
      return internVector(this.kind, ...rest());
    }
    countStep();
    const key = first * LARGEST_IN_KEY + second;
    const known = this.#tables.get(name)?.get(key);
    if (known !== undefined) return known as unknown as NodeOfKind<K>;
    // throws for a name that is none, of which no table is kept
    const described = rest();
    let nodes = this.#tables.get(name);
    if (nodes === undefined) this.#tables.set(name, (nodes = new WeakTable()));
    return made(nodes, key, this.kind, ...described) as NodeOfKind<K>;
  }
}

function keyOf(kind: Kind, dim: number, args: readonly VectorExpr[], payload: object): string {
  let key = `${kind}:${dim}:`;
  for (const { id } of args) key += `${id},`;
  for (const value of Object.values(payload)) key += `;${valueKey(value)}`;
  return key;
}

function valueKey(value: unknown): string {
  // -0 and 0 are different literals; every NaN is the same one.
  if (Object.is(value, -0)) return '-0';
  if (isVectorExpr(value)) return `#${value.id}`;
  return typeof value === 'object' ? JSON.stringify(value) : `${value as string | number}`;
}

/** True for a vector formula made by this copy of the package. */
export function isVectorExpr(value: unknown): value is VectorExpr {
  return value instanceof VectorNode;
}

/** @throws FormulaError INVALID_ARGUMENT for what is no such formula */
export function assertVectorExpr(value: unknown, what: string): asserts value is VectorExpr {
  if (isVectorExpr(value)) return;
  throw new FormulaError(
    'INVALID_ARGUMENT',
    `${what}: the formula is ${describeValue(value)}. Build it with the constructors of @mercer/formula.`,
  );
}

/** Runs `build` with at most `maxSteps` nodes made or looked up, so that text cannot ask for endless work. */
export function withStepLimit<R>(maxSteps: number, build: () => R): R {
  const outer = stepsLeft;
  stepsLeft = Math.min(maxSteps, outer);
  try {
    return build();
  } finally {
    stepsLeft = outer;
  }
}
