import { postOrderVector, type VectorExpr } from '@mercer/formula';

/** The sides whose rows the value of a formula depends on. */
export function followedSides(formula: VectorExpr): readonly ('i' | 'j')[] {
  const nodes = postOrderVector(formula);
  return (['i', 'j'] as const).filter((side) =>
    nodes.some(
      (node) =>
        (node.kind === 'variable' && (node.category === side || node.category === 'pair')) ||
        (node.kind === 'index' && node.axis === side),
    ),
  );
}
