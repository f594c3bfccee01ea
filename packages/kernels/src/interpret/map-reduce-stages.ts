import { postOrder, type Expr } from '@mercer/formula';

/** Parts of the values of a pair that depend on one of its rows alone, and are computed once for that row. */
export interface MapReduceStages {
  readonly own: readonly Expr[];
  readonly other: readonly Expr[];
}

/** What a variable depends on: a kept row, a reduced row, or both; nothing for a parameter. */
export type RowSide = 'own' | 'other' | 'both' | undefined;

/** Finds the largest such parts; what depends on parameters alone counts to the other rows. */
export function mapReduceStages(
  values: readonly Expr[],
  sideOf: (name: string) => RowSide,
): MapReduceStages {
  const order = postOrder(...values);
  const sides = new Map<Expr, RowSide>();
  for (const node of order) {
    const below = node.args.map((arg) => sides.get(arg));
    sides.set(node, node.name === undefined ? joined(below) : sideOf(node.name));
  }
  const found = { own: new Set<Expr>(), other: new Set<Expr>() };
  const mixed = new Set<Expr>();
  const visit = (node: Expr): void => {
    // comparisons are no numbers, so they stay where they are read
    if (node.args.length === 0) return;
    const side = sides.get(node);
    if (node.type === 'bool' || side === 'both') mixed.add(node);
    else found[side ?? 'other'].add(node);
  };
  values.forEach(visit);
  for (const node of order.toReversed()) if (mixed.has(node)) node.args.forEach(visit);
  return { own: [...found.own], other: [...found.other] };
}

function joined(sides: readonly RowSide[]): RowSide {
  const distinct = new Set(sides.filter((side) => side !== undefined));
  const [first] = distinct;
  return distinct.size > 1 ? 'both' : first;
}
