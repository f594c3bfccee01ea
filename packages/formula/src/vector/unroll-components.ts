import { FormulaError } from '../formula-error.js';
import { axesOf } from './contraction.js';
import { elementwise, gather, literal, slice } from './nodes.js';
import { add, mul } from './operations/arithmetic.js';
import { floor, maximum, minimum, where } from './operations/functions.js';
import { postOrderVector } from './post-order-vector.js';
import { unrolledSize } from './unrolled-size.js';
import type { Combine, Kind, NodeOfKind, VectorExpr } from './vector-expr.js';

type Components = readonly VectorExpr[];
type UnrollRule<K extends Kind> = (node: NodeOfKind<K>, args: readonly Components[]) => Components;

const first = ([x]: readonly Components[]): VectorExpr => x![0]!;
const count = (dim: number): number[] => Array.from({ length: dim }, (_, k) => k);
const each = (dim: number, f: (k: number) => VectorExpr): Components => count(dim).map(f);
const parts = (node: VectorExpr): Components => each(node.dim, (k) => slice(node, k, 1));

const UNROLL: { readonly [K in Kind]: UnrollRule<K> } = {
  literal: (node) => [node],
  zero: ({ dim }) => each(dim, () => literal(0)),
  variable: parts,
  index: (node) => [node],
  elementwise: ({ op, attributes, dim }, args) =>
    each(dim, (k) =>
      elementwise(
        op,
        args.map((arg) => arg[arg.length === 1 ? 0 : k]!),
        attributes,
      ),
    ),
  components: ({ combine }, [x]) => [COMBINE[combine](x!)],
  repeat: ({ dim }, args) => each(dim, () => first(args)),
  slice: ({ dim, start, step }, [x]) => each(dim, (k) => x![start + k * step]!),
  place: ({ dim, start, step }, [x]) =>
    each(
      dim,
      (k) =>
        (Number.isInteger((k - start) / step) ? x![(k - start) / step] : undefined) ?? literal(0),
    ),
  concat: (_, args) => args.flat(),
  interleave: ({ dim }, args) =>
    each(dim, (k) => args[k % args.length]![Math.floor(k / args.length)]!),
  contract: unrollContraction,
  oneHot: ({ dim }, args) => {
    const at = floor(add(first(args), 0.5));
    return each(dim, (k) => elementwise('eq', [at, k]));
  },
  gather: ({ table }, args) => parts(gather(table, first(args))),
};

/** The extremum of two; where the second is strictly better, or the first NaN, its index. */
function argExtremum(x: Components, isBetter: 'gt' | 'lt'): VectorExpr {
  let [best, index] = [x[0]!, literal(0)];
  for (const [k, value] of x.entries()) {
    if (k === 0) continue;
    const isNaN = elementwise('ne', [value, value]);
    const wins = where(isNaN, 1, elementwise(isBetter, [value, best]));
    const taken = where(elementwise('eq', [best, best]), wins, 0);
    [best, index] = [where(taken, value, best), where(taken, k, index)];
  }
  return index;
}

const COMBINE: { readonly [K in Combine]: (x: Components) => VectorExpr } = {
  sum: (x) => x.reduce((sum, value) => add(sum, value)),
  max: (x) => x.reduce((best, value) => maximum(best, value)),
  min: (x) => x.reduce((best, value) => minimum(best, value)),
  argmax: (x) => argExtremum(x, 'gt'),
  argmin: (x) => argExtremum(x, 'lt'),
};

function unrollContraction(node: NodeOfKind<'contract'>, args: readonly Components[]): Components {
  const { f, g, out, sizes } = axesOf(node.contraction);
  const summed = f.filter((name) => g.includes(name));
  const all = [...out, ...summed];
  const sums: (VectorExpr | undefined)[] = count(node.dim).map(() => undefined);
  const flat = (axes: readonly string[], at: ReadonlyMap<string, number>): number =>
    axes.reduce((index, name) => index * sizes.get(name)! + at.get(name)!, 0);
  const at = new Map<string, number>();
  const walk = (axis: number): void => {
    const name = all[axis];
    if (name === undefined) {
      const product = mul(args[0]![flat(f, at)]!, args[1]![flat(g, at)]!);
      const place = flat(out, at);
      const known = sums[place];
      sums[place] = known === undefined ? product : add(known, product);
      return;
    }
    for (const k of count(sizes.get(name)!)) {
      at.set(name, k);
      walk(axis + 1);
    }
  };
  walk(0);
  return sums.map((sum) => sum!);
}

/** Above this, loops over components should stay loops where nothing else is said. */
const MAX_UNROLLED = 65_536;

/**
 * The components of a formula, each a formula of dim 1 made of literals, row numbers, single components
 * of inputs and of rows by index, and elementwise operations alone: what a kernel for small dims
 * prints. Sums run from the first component to the last, so the values are those of `evaluateVector`,
 * bit by bit up to the sign of a zero.
 *
 * Throws `FormulaError` with code `LIMIT_EXCEEDED` above `limit` operations (`unrolledSize`), 65536 by default.
 *
 * ```ts
 * import { ops, printFormula, unrollComponents, vi, vj } from '@mercer/formula/plan';
 * const [one] = unrollComponents(ops.dot(vi(0, 2), vj(1, 2)));
 * console.log(printFormula(one!)); // Elem(Vi(0, 2), 0) * Elem(Vj(1, 2), 0) + Elem(Vi(0, 2), 1) * Elem(Vj(1, 2), 1)
 * ```
 */
export function unrollComponents(
  root: VectorExpr,
  limit: number = MAX_UNROLLED,
): readonly VectorExpr[] {
  const size = unrolledSize(root);
  if (size > limit) {
    throw new FormulaError(
      'LIMIT_EXCEEDED',
      `cannot unroll a formula of ${size} operations: the limit is ${limit}. ` +
        `Loop over components instead.`,
    );
  }
  const unrolled = new Map<VectorExpr, Components>();
  for (const node of postOrderVector(root)) {
    // One untyped step for the table: the kind chooses the rule.
    const rule = UNROLL[node.kind] as UnrollRule<Kind>;
    unrolled.set(
      node,
      rule(
        node,
        node.args.map((arg) => unrolled.get(arg)!),
      ),
    );
  }
  return unrolled.get(root)!;
}
