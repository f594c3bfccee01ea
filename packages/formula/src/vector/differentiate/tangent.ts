import { partial } from '../elementwise/partials.js';
import { components, concat, contract, interleave, place, repeat, slice, zero } from '../nodes.js';
import { add, mul } from '../operations/arithmetic.js';
import type { Kind, NodeOfKind, Source, VectorExpr } from '../vector-expr.js';
import { dependants, extremum } from './adjoint.js';

type Tangent = VectorExpr | undefined;

/** From a node and the tangents of its arguments (one at least is there) to the node's tangent. */
type TangentRule<K extends Kind> = (node: NodeOfKind<K>, tangents: readonly Tangent[]) => Tangent;

const none = (): undefined => undefined;

const filled = (node: VectorExpr, tangents: readonly Tangent[]): VectorExpr[] =>
  tangents.map((tangent, k) => tangent ?? zero(node.args[k]!.dim));

/** Forward mode, one rule per kind of node. */
const TANGENT: { readonly [K in Kind]: TangentRule<K> } = {
  literal: none,
  zero: none,
  variable: none,
  index: none,
  oneHot: none,
  gather: none,
  elementwise: (node, tangents) => {
    let sum: Tangent;
    for (const [k, tangent] of tangents.entries()) {
      const slope = tangent && partial(node, k);
      if (slope === undefined) continue;
      const one = slope.kind === 'literal' && slope.value === 1;
      const term = one ? tangent! : mul(slope, tangent!);
      sum = sum === undefined ? term : add(sum, term);
    }
    return sum !== undefined && sum.dim < node.dim ? repeat(sum, node.dim) : sum;
  },
  components: ({ combine, args: [x] }, [t]) => {
    if (combine === 'sum') return components('sum', t!);
    const first = extremum(combine, x!);
    return first && components('sum', mul(first, t!));
  },
  repeat: ({ dim }, [t]) => repeat(t!, dim),
  slice: ({ start, dim, step }, [t]) => slice(t!, start, dim, step),
  place: ({ start, dim, step }, [t]) => place(t!, start, dim, step),
  concat: (node, tangents) => concat(...filled(node, tangents)),
  interleave: (node, tangents) => interleave(...filled(node, tangents)),
  contract: ({ dim, contraction, args: [f, g] }, [df, dg]) => {
    const left = df && contract(df, g!, dim, contraction);
    const right = dg && contract(f!, dg, dim, contraction);
    return left && right ? add(left, right) : (left ?? right);
  },
};

/**
 * The derivative of `root` in a direction, not simplified: `directions` gives each source its
 * tangent, of the source's dim. Undefined where root does not depend on any of them.
 */
export function tangentOf(root: VectorExpr, directions: ReadonlyMap<Source, VectorExpr>): Tangent {
  const active = dependants(root, new Set(directions.keys()));
  const tangents = new Map<VectorExpr, Tangent>(directions);
  for (const node of active) {
    if (tangents.has(node)) continue;
    const given = node.args.map((arg) => tangents.get(arg));
    // One untyped step for the table: the kind chooses the rule.
    const rule = TANGENT[node.kind] as TangentRule<Kind>;
    tangents.set(
      node,
      given.some((tangent) => tangent !== undefined) ? rule(node, given) : undefined,
    );
  }
  return tangents.get(root);
}
