import { FormulaError } from '../formula-error.js';
import type { Kind, NodeOfKind, VectorExpr } from './vector-expr.js';

/** What a node holds beside kind, dim, arguments and id. */
export type Payload<K extends Kind> = Omit<NodeOfKind<K>, 'kind' | 'dim' | 'args' | 'id'>;

class VectorNode {
  constructor(
    readonly kind: Kind,
    readonly dim: number,
    readonly args: readonly VectorExpr[],
    readonly id: number,
    payload: object,
  ) {
    Object.assign(this, payload);
    Object.freeze(args);
    Object.freeze(this);
  }
}

const table = new Map<string, WeakRef<VectorNode>>();
let nextId = 0;
let stepsLeft = Infinity;

// The finaliser of a node may run after an equal node has taken its place: only a dead entry goes.
const sweeper = new FinalizationRegistry<string>((key) => {
  if (table.get(key)?.deref() === undefined) table.delete(key);
});

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
  const known = table.get(key)?.deref();
  if (known !== undefined) return known as unknown as NodeOfKind<K>;
  const node = new VectorNode(kind, dim, args, nextId++, payload);
  table.set(key, new WeakRef(node));
  sweeper.register(node, key);
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
