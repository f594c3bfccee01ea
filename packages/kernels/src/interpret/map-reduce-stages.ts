import { postOrder, variables, type Expr } from '@mercer/formula';

/** Parts of the values of a pair that depend on one of its rows alone, and are computed once for that row. */
export interface MapReduceStages {
  readonly own: readonly Expr[];
  readonly other: readonly Expr[];
}

/** Finds the largest such parts; what depends on parameters alone counts to the other rows. */
export function mapReduceStages(
  values: readonly Expr[],
  isOwn: (name: string) => boolean,
  isOther: (name: string) => boolean,
): MapReduceStages {
  const own = new Set<Expr>();
  const other = new Set<Expr>();
  const mixed = new Set<Expr>();
  const visit = (node: Expr): void => {
    // comparisons are no numbers, so they stay where they are read
    if (node.args.length === 0) return;
    const names = variables(node);
    if (node.type === 'bool' || (names.some(isOwn) && names.some(isOther))) mixed.add(node);
    else (names.some(isOwn) ? own : other).add(node);
  };
  values.forEach(visit);
  for (const node of postOrder(...values).reverse()) if (mixed.has(node)) node.args.forEach(visit);
  return { own: [...own], other: [...other] };
}
