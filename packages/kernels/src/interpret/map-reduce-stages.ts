import { orderSteps, visitSteps, type Expr, type Steps } from '@mercer/formula';

/** Parts of the values of a pair that depend on one of its rows alone, and are computed once for that row. */
export interface MapReduceStages {
  readonly own: readonly Expr[];
  readonly other: readonly Expr[];
}

/** What a variable depends on: a kept row, a reduced row, or both; nothing for a parameter. */
export type RowSide = 'own' | 'other' | 'both' | undefined;

/** Finds in steps the largest such parts; what depends on parameters alone counts to the other rows. */
export function* mapReduceStages(
  values: readonly Expr[],
  sideOf: (name: string) => RowSide,
): Steps<MapReduceStages> {
  const order = yield* orderSteps<Expr>(values);
  const sides = new Map<Expr, RowSide>();
  yield* visitSteps(order, (node) => {
    const below = node.args.map((arg) => sides.get(arg));
    sides.set(node, node.name === undefined ? joined(below) : sideOf(node.name));
  });
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
  yield* visitSteps(order.toReversed(), (node) => {
    if (mixed.has(node)) node.args.forEach(visit);
  });
  return { own: [...found.own], other: [...found.other] };
}

function joined(sides: readonly RowSide[]): RowSide {
  const [first, ...others] = sides.filter((side) => side !== undefined);
  return others.some((other) => other !== first) ? 'both' : first;
}
