import { substitute, type RealExpr } from '@mercer/formula';
import { map, type Scope, type Tensor } from '@mercer/tensor';
import type { RuleStep } from '../rule.js';
import type { UpdatedLeaf } from '../update.js';
import { inBatches, inWholes, type Group } from './blocks.js';
import { forEach, forEachKind, rowMajor, stateOf, type GradientKind } from './gradients.js';

/** Formulas of a gradient and of slots of its parameter. */
export type GradientFormulas = (kind: GradientKind) => Readonly<Record<string, RealExpr>>;

/** Formulas of `g`, which gradients are put in for as a step has them. Hold them: they are compiled once for as long as they live. */
export const ofGradients = (formulas: Readonly<Record<string, RealExpr>>): GradientFormulas =>
  forEachKind((g) =>
    Object.fromEntries(
      Object.entries(formulas).map(([name, one]) => [name, substitute(one, { g })]),
    ),
  );

/** What is computed of the gradients of blocks. */
export interface FromGradients {
  readonly formulas: GradientFormulas;
  /** Slots that the formulas know. */
  readonly slots: readonly string[];
  readonly parameters: Readonly<Record<string, number>>;
  /** What gradients have of their parameters. */
  readonly decay: number;
  /** By formula, (count, ..sizes) of each group. */
  readonly out: Readonly<Record<string, readonly Tensor[]>>;
}

/**
 * Writes what follows from gradients and slots, block by block, in one launch. It waits for no decision whether the step is taken: what it writes is of this step
 * alone, and has NaN or infinity where gradients have.
 *
 * @param blocks a leaf for each member of a group
 */
export async function fromGradients(
  scope: Scope,
  groups: readonly Group[],
  blocks: readonly UpdatedLeaf[],
  { leaves, numbers: { factor } }: Pick<RuleStep, 'leaves' | 'numbers'>,
  { formulas, slots, parameters, decay, out }: FromGradients,
): Promise<void> {
  if (groups.length === 0) return;
  const gradients = leaves.map(({ grad }) => grad);
  const isDecayed = decay > 0;
  const own = slots.map(
    (name) => [name, blocks.map((leaf) => leaf.slots[name] as Tensor)] as const,
  );
  await map(
    formulas({ isScaled: factor !== undefined, isDecayed }),
    {
      g: inWholes(scope, groups, await rowMajor(scope, gradients)),
      ...Object.fromEntries(own),
      ...(factor && { factor: forEach(blocks, factor) }),
      ...(isDecayed && { p: blocks.map(stateOf) }),
    },
    {
      out: Object.fromEntries(
        Object.entries(out).map(([name, batches]) => [name, inBatches(scope, groups, batches)]),
      ),
      parameters: { ...parameters, ...(isDecayed && { decay }) },
    },
  );
}
