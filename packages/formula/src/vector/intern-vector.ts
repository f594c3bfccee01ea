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

const table = new WeakTable<VectorNode>();
let nextId = 0;
let stepsLeft = Infinity;

/** The one node with this content. */
export function internVector<K extends Kind>(
  kind: K,
  dim: number,
  args: readonly VectorExpr[],
  payload: Payload<K>,
): NodeOfKind<K> {
  if (--stepsLeft < 0) {
    throw new FormulaError(
      'LIMIT_EXCEEDED',
      `cannot build the formula: it needs more steps than the limit 'maxSteps' allows. ` +
        `Write a smaller formula, differentiate fewer times, or raise the limit for text that you trust.`,
    );
  }
  const key = keyOf(kind, dim, args, payload);
  const known = table.get(key);
  if (known !== undefined) return known as unknown as NodeOfKind<K>;
  const node = new VectorNode(kind, dim, args, nextId++, payload);
  table.set(key, node);
  return node as unknown as NodeOfKind<K>;
}

function keyOf(kind: Kind, dim: number, args: readonly VectorExpr[], payload: object): string {
  const ids = args.map((arg) => arg.id).join(',');
  const rest = Object.values(payload).map(valueKey).join(';');
  return `${kind}:${dim}:${ids}:${rest}`;
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
