import { describeValue, isMap } from '@mercer/options';
import { FormulaError } from '../formula-error.js';
import { assertVectorExpr } from './intern-vector.js';
import { dimError } from './check-arguments.js';
import {
  components,
  concat,
  contract,
  elementwise,
  gather,
  interleave,
  oneHot,
  place,
  repeat,
  slice,
} from './nodes.js';
import { postOrderVector } from './post-order-vector.js';
import type { Kind, NodeOfKind, VectorExpr } from './vector-expr.js';

type Rebuild<K extends Kind> = (node: NodeOfKind<K>, args: readonly VectorExpr[]) => VectorExpr;
const same = (node: VectorExpr): VectorExpr => node;

const REBUILD: { readonly [K in Kind]: Rebuild<K> } = {
  literal: same,
  zero: same,
  variable: same,
  index: same,
  elementwise: ({ op, attributes }, args) => elementwise(op, args, attributes),
  components: ({ combine }, [x]) => components(combine, x!),
  repeat: ({ dim }, [x]) => repeat(x!, dim),
  slice: ({ start, dim, step }, [x]) => slice(x!, start, dim, step),
  place: ({ start, dim, step }, [x]) => place(x!, start, dim, step),
  concat: (_, args) => concat(...args),
  interleave: (_, args) => interleave(...args),
  contract: ({ dim, contraction }, [f, g]) => contract(f!, g!, dim, contraction),
  oneHot: ({ dim }, [x]) => oneHot(x!, dim),
  gather: ({ table }, [x]) => gather(table, x!),
};

/** The same node with other arguments of the same dims; itself if nothing changed. */
export function withVectorArgs(node: VectorExpr, args: readonly VectorExpr[]): VectorExpr {
  if (args.every((arg, k) => arg === node.args[k])) return node;
  // One untyped step for the table: the kind chooses the rule.
  return (REBUILD[node.kind] as Rebuild<Kind>)(node, args);
}

/**
 * `root` with nodes replaced, all at once (a replacement is not looked into again). A replacement has
 * the dim of what it replaces; a table whose rows are taken by index is replaced by another input. Throws `FormulaError`:
 * `DIM_MISMATCH`, `INVALID_ARGUMENT` for a table replaced by what is no input.
 */
export function substituteVector(
  root: VectorExpr,
  replacements: ReadonlyMap<VectorExpr, VectorExpr>,
): VectorExpr {
  assertVectorExpr(root, 'substituteVector');
  if (!isMap(replacements)) {
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `substituteVector: the replacements are ${describeValue(replacements)}. Pass a Map from formulas to formulas.`,
    );
  }
  const results = new Map<VectorExpr, VectorExpr>();
  for (const [from, to] of replacements) {
    assertVectorExpr(from, 'substituteVector');
    assertVectorExpr(to, 'substituteVector');
    if (from.dim !== to.dim) {
      throw dimError(
        'a substitution',
        `a node of dim ${from.dim} is replaced by one of dim ${to.dim}`,
        'Replace by a formula of the same dim.',
      );
    }
  }
  for (const node of postOrderVector(root)) {
    const args = node.args.map((arg) => results.get(arg)!);
    results.set(
      node,
      replacements.get(node) ?? withVectorArgs(withTable(node, replacements), args),
    );
  }
  return results.get(root)!;
}

/** A row by index of the table that replaces its own. */
function withTable(
  node: VectorExpr,
  replacements: ReadonlyMap<VectorExpr, VectorExpr>,
): VectorExpr {
  const table = node.kind === 'gather' ? replacements.get(node.table) : undefined;
  return table === undefined ? node : gather(table, node.args[0]!);
}
