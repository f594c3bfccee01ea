import { finish, type Steps } from '../../steps.js';
import { contractionAdjoint } from '../contraction.js';
import { partial } from '../elementwise/partials.js';
import { components, oneHot, place, repeat, slice } from '../nodes.js';
import { add, mul } from '../operations/arithmetic.js';
import { postOrderVector } from '../post-order-vector.js';
import type { Kind, NodeOfKind, Source, VectorExpr } from '../vector-expr.js';

/** What a node hands to argument `k`, given what was handed to the node; undefined: nothing. */
type AdjointRule<K extends Kind> = (
  node: NodeOfKind<K>,
  k: number,
  adjoint: VectorExpr,
) => VectorExpr | undefined;

const none = (): undefined => undefined;

/** Reverse mode, one rule per kind of node. `adjoint` always has the node's dim. */
const ADJOINT: { readonly [K in Kind]: AdjointRule<K> } = {
  literal: none,
  zero: none,
  variable: none,
  index: none,
  oneHot: none,
  gather: none,
  elementwise: (node, k, adjoint) => {
    const slope = partial(node, k);
    if (slope === undefined) return undefined;
    const handed = slope.kind === 'literal' && slope.value === 1 ? adjoint : mul(adjoint, slope);
    return node.args[k]!.dim < node.dim ? components('sum', handed) : handed;
  },
  components: ({ combine, args: [x] }, _, adjoint) => {
    if (combine === 'sum') return repeat(adjoint, x!.dim);
    const first = extremum(combine, x!);
    return first && mul(adjoint, first);
  },
  repeat: (_, __, adjoint) => components('sum', adjoint),
  slice: ({ start, step, args: [x] }, _, adjoint) => place(adjoint, start, x!.dim, step),
  place: ({ start, step, args: [x] }, _, adjoint) => slice(adjoint, start, x!.dim, step),
  concat: ({ args }, k, adjoint) =>
    slice(
      adjoint,
      args.slice(0, k).reduce((sum, arg) => sum + arg.dim, 0),
      args[k]!.dim,
    ),
  interleave: ({ args }, k, adjoint) => slice(adjoint, k, args[k]!.dim, args.length),
  contract: ({ contraction, args }, k, adjoint) =>
    contractionAdjoint(contraction, k as 0 | 1, args[1 - k]!, adjoint),
};

/** 1 at the first extremum of x, else 0; undefined for index combinations, which have no derivative. */
export function extremum(
  combine: 'max' | 'min' | 'argmax' | 'argmin',
  x: VectorExpr,
): VectorExpr | undefined {
  if (combine === 'argmax' || combine === 'argmin') return undefined;
  return oneHot(components(combine === 'max' ? 'argmax' : 'argmin', x), x.dim);
}

/** The nodes of `root` whose value changes with one of `sources`, in post-order. */
export function dependants(
  root: VectorExpr,
  sources: ReadonlySet<VectorExpr>,
): ReadonlySet<VectorExpr> {
  const found = new Set<VectorExpr>();
  for (const node of postOrderVector(root)) {
    if (sources.has(node) || node.args.some((arg) => found.has(arg))) found.add(node);
  }
  return found;
}

/**
 * The transposed derivative of `root` by `source` applied to `seed` (of the dim of root), not
 * simplified; undefined where root does not depend on the source.
 */
export function adjointOf(
  root: VectorExpr,
  source: Source,
  seed: VectorExpr,
): VectorExpr | undefined {
  return finish(adjointSteps(root, source, seed));
}

/** {@link adjointOf} in steps. */
export function* adjointSteps(
  root: VectorExpr,
  source: Source,
  seed: VectorExpr,
): Steps<VectorExpr | undefined> {
  const active = dependants(root, new Set([source]));
  if (!active.has(root)) return undefined;
  const adjoints = new Map<VectorExpr, VectorExpr>([[root, seed]]);
  for (const node of [...active].reverse()) {
    const adjoint = adjoints.get(node);
    if (adjoint === undefined || node === source) continue;
    yield;
    for (const [k, arg] of node.args.entries()) {
      if (!active.has(arg)) continue;
      const handed = handOver(node, k, adjoint);
      if (handed === undefined) continue;
      const known = adjoints.get(arg);
      adjoints.set(arg, known === undefined ? handed : add(known, handed));
    }
  }
  return adjoints.get(source);
}

function handOver(node: VectorExpr, k: number, adjoint: VectorExpr): VectorExpr | undefined {
  // One untyped step for the table: the kind chooses the rule.
  const rule = ADJOINT[node.kind] as AdjointRule<Kind>;
  return rule(node, k, adjoint);
}
