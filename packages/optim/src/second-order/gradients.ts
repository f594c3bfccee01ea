import { add, gt, mul, select, variable, type RealExpr } from '@mercer/formula';
import { map, type Scope, type Tensor } from '@mercer/tensor';
import type { RuleStep, SteppedLeaf } from '../rule.js';
import { stateDType, type DeviceNumber, type UpdatedLeaf } from '../update.js';
import { emptyLike } from './blocks.js';

const v = variable;
const isTaken = gt(v('ok'), 0);
/** The gradient, 0 where the step is not taken, so that products of it are finite. */
const GRADIENTS = new Map<string, RealExpr>();
for (const [key, scaled] of [
  ['plain', v('g')],
  ['scaled', mul(v('g'), v('factor'))],
] as const) {
  GRADIENTS.set(key, select(isTaken, scaled, 0));
  GRADIENTS.set(`${key} decayed`, select(isTaken, add(scaled, mul(v('decay'), v('p'))), 0));
}

/** A number of the device for each leaf, in the dtype of its state. */
export const forEach = (leaves: readonly SteppedLeaf[], number: DeviceNumber): readonly Tensor[] =>
  leaves.map(({ param }) => number[stateDType(param)] as Tensor);

/** A parameter in the dtype of its state: itself, or its master. */
export const stateOf = ({ param, slots }: UpdatedLeaf): Tensor => slots['master'] ?? param;

/**
 * Gradients as tensors of their own, row-major and in the dtype of the state: clipped, with the parameter times `decay` added, and 0 where the step is not
 * taken. One launch.
 */
export async function ownGradients(
  scope: Scope,
  { leaves, numbers }: Pick<RuleStep, 'leaves' | 'numbers'>,
  decay: number,
): Promise<readonly Tensor[]> {
  const out = emptyLike(
    scope,
    leaves.map(({ param }) => param),
  );
  const { factor } = numbers;
  const key = `${factor === undefined ? 'plain' : 'scaled'}${decay > 0 ? ' decayed' : ''}`;
  await map(
    GRADIENTS.get(key) as RealExpr,
    {
      g: leaves.map(({ grad }) => grad),
      ok: forEach(leaves, numbers.ok),
      ...(factor && { factor: forEach(leaves, factor) }),
      ...(decay > 0 && { p: leaves.map(stateOf) }),
    },
    { out, parameters: decay > 0 ? { decay } : {} },
  );
  return out;
}

/** Leaves with some of their slots, and their master. */
export const withSlots = (
  leaves: readonly SteppedLeaf[],
  names: readonly string[],
): readonly SteppedLeaf[] =>
  leaves.map((leaf) => ({
    ...leaf,
    slots: Object.fromEntries(
      [...names, 'master'].flatMap((name) => {
        const slot = leaf.slots[name];
        return slot === undefined ? [] : [[name, slot]];
      }),
    ),
  }));

/** Formulas that keep what they write where the step is not taken, but for results that are made for the step. */
export const keeping = (
  formulas: Readonly<Record<string, RealExpr>>,
): Readonly<Record<string, RealExpr>> =>
  Object.fromEntries(
    Object.entries(formulas).map(([name, one]) => [name, select(isTaken, one, v(name))]),
  );
