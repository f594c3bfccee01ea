import { add, gt, mul, select, variable, type RealExpr } from '@mercer/formula';
import { map, type Scope, type Tensor } from '@mercer/tensor';
import type { RuleStep } from '../rule.js';
import { stateDType, type DeviceNumber, type UpdatedLeaf } from '../update.js';
import { emptyLike } from './blocks.js';

const v = variable;
const isTaken = gt(v('ok'), 0);

/** Whether gradients are multiplied by `factor`, and have `decay` times the parameter `p` added. */
export interface GradientKind {
  readonly isScaled: boolean;
  readonly isDecayed: boolean;
}

const KINDS: readonly GradientKind[] = [false, true].flatMap((isScaled) =>
  [false, true].map((isDecayed) => ({ isScaled, isDecayed })),
);

const keyOf = ({ isScaled, isDecayed }: GradientKind): string => [isScaled, isDecayed].join();

/** What is computed of gradients `g`, for each kind of them. */
export function forEachKind<T>(make: (g: RealExpr) => T): (kind: GradientKind) => T {
  const made = new Map(
    KINDS.map((kind) => {
      const scaled = kind.isScaled ? mul(v('g'), v('factor')) : v('g');
      const g = kind.isDecayed ? add(scaled, mul(v('decay'), v('p'))) : scaled;
      return [keyOf(kind), make(g)] as const;
    }),
  );
  return (kind) => made.get(keyOf(kind)) as T;
}

/** The gradient, 0 where the step is not taken, so that products of it are finite. */
const GRADIENTS = forEachKind((g) => select(isTaken, g, 0));

/** A number of the device for each leaf, in the dtype of its state. */
export const forEach = (leaves: readonly UpdatedLeaf[], number: DeviceNumber): readonly Tensor[] =>
  leaves.map(({ param }) => number[stateDType(param)] as Tensor);

/** A parameter in the dtype of its state: itself, or its master. */
export const stateOf = ({ param, slots }: UpdatedLeaf): Tensor => slots['master'] ?? param;

/**
 * Gradients as tensors of their own, row-major and in the dtype of the state: clipped, with the parameter times `decay` added, and 0 where the step is not
 * taken. One launch.
 */
export async function ownGradients(
  scope: Scope,
  step: Pick<RuleStep, 'leaves' | 'numbers'>,
  decay: number,
): Promise<readonly Tensor[]> {
  const { leaves } = step;
  const out = emptyLike(
    scope,
    leaves.map(({ param }) => param),
  );
  const g = leaves.map(({ grad }) => grad);
  await writeGradients(step, { leaves, g, p: leaves.map(stateOf), out }, decay);
  return out;
}

/** Writes the gradients of some leaves, in one launch: each `g` to its `out`, `p` being the parameter. */
export async function writeGradients(
  { numbers }: Pick<RuleStep, 'numbers'>,
  {
    leaves,
    g,
    p,
    out,
  }: {
    readonly leaves: readonly UpdatedLeaf[];
    readonly g: readonly Tensor[];
    readonly p: readonly Tensor[];
    readonly out: readonly Tensor[];
  },
  decay: number,
): Promise<void> {
  if (out.length === 0) return;
  const { factor } = numbers;
  await map(
    GRADIENTS({ isScaled: factor !== undefined, isDecayed: decay > 0 }),
    {
      g,
      ok: forEach(leaves, numbers.ok),
      ...(factor && { factor: forEach(leaves, factor) }),
      ...(decay > 0 && { p }),
    },
    { out, parameters: decay > 0 ? { decay } : {} },
  );
}

/** Tensors whose elements lie in the order of their indices: they themselves, or copies. */
export async function rowMajor(scope: Scope, all: readonly Tensor[]): Promise<readonly Tensor[]> {
  const rows: Tensor[] = [];
  for (const one of all) {
    rows.push(one.isContiguous ? one : scope.track(await one.contiguous()));
  }
  return rows;
}

/** Leaves with some of their slots, and their master. */
export const withSlots = (
  leaves: readonly UpdatedLeaf[],
  names: readonly string[],
): readonly UpdatedLeaf[] =>
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
