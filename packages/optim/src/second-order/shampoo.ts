import { isTensor, map, Scope, type Device, type Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { rateOf } from '../first-order/learning-rate.js';
import { optimiserOf, readSettings } from '../optimiser-of.js';
import type { Optimiser, OptimiserState } from '../optimiser.js';
import type { Rule, RuleRefresh, RuleStep, SlotOf, StepNumbers } from '../rule.js';
import { stateDType, updateInPlace, type DeviceNumber, type UpdatedLeaf } from '../update.js';
import { alongAxes, floats } from './along-axes.js';
import { assertCapturable, byHand, REFRESHES } from './by-hand.js';
import { blockLeaves } from './block-leaves.js';
import { cutOf, emptyBatches, groupsOf, inBatches, type Group } from './blocks.js';
import {
  factorSlots,
  joined,
  land,
  mergedModes,
  modesOf,
  snapshot,
  updateFactors,
  type Mode,
  type ModeResult,
} from './factors.js';
import { fromGradients, ofGradients } from './gradient-blocks.js';
import { forEach, withSlots } from './gradients.js';
import {
  begin,
  checkFailures,
  everySteps,
  hasBecome,
  landed,
  note,
  streamBeside,
  type Refreshed,
} from './refreshes.js';
import {
  beginnings,
  CORRECTION,
  filters,
  hasSquares,
  moves,
  numbersOf,
} from './shampoo-formulas.js';
import {
  readShampoo,
  SHAMPOO_OPTIONS,
  toldShampoo,
  type ShampooOptions,
  type ShampooSettings,
} from './shampoo-options.js';
import { dividedByTrace, extentsOf, haveTurned, inverseRoots } from './roots.js';

const what = 'shampoo';
const ROUNDING = { float32: 2 ** -23, float64: 2 ** -52 } as const;

const everyAxis = (): boolean => true;

/** Computes the roots of factors, of a snapshot that is given or in the state. */
async function computeRoots(
  given: ShampooSettings,
  groups: readonly Group[],
  modes: readonly Mode[],
  factors: readonly Tensor[] | undefined,
  { leaves, state }: RuleRefresh,
): Promise<Refreshed<readonly ModeResult[]>> {
  const { how, rootDType, traceScaling, delay } = given;
  const scope = new Scope();
  try {
    const { param } = leaves[0] as UpdatedLeaf;
    const stream = streamBeside(param.device, delay);
    const all = factors ?? (await joined(scope, modes, 'pending', leaves, stream));
    const old = how.method === 'qr' ? await joined(scope, modes, 'basis', leaves, stream) : [];
    // exact ones until there are some: steps that were skipped have none
    const isTurned = (): Promise<boolean> => haveTurned(scope, old, stream);
    const bases = old.length > 0 && (await hasBecome(state, isTurned)) ? old : [];
    const found: ModeResult[] = [];
    for (const [at, mode] of modes.entries()) {
      const one = all[at] as Tensor;
      const scaled = traceScaling ? await dividedByTrace(scope, one, stream) : one;
      const extents = await extentsOf(scope, scaled, stream);
      const cast = (x: Tensor | undefined): Promise<Tensor> | Tensor | undefined =>
        x === undefined || rootDType === undefined || rootDType === x.dtype
          ? x
          : x.cast(rootDType, { stream }).then((made) => scope.track(made));
      const order = groups[mode.group]?.sizes.length ?? 1;
      const { root, infos, basis } = await inverseRoots(
        scope,
        (await cast(scaled)) as Tensor,
        (await cast(extents)) as Tensor,
        2 * order,
        // a sum of products in float32 stays one in float64: what it misses of being semidefinite is its rounding
        { ...how, rounding: ROUNDING[rootDType === 'float32' ? rootDType : mode.dtype] },
        await cast(bases[at]),
        stream,
      );
      found.push({ matrices: { root, ...(basis && { basis }) }, infos, extents });
    }
    return { found, scope };
  } catch (error) {
    scope.dispose();
    throw error;
  }
}

function ruleOf(given: ShampooSettings): Rule {
  const { rate, beta1, beta2, beta3, how, delay, start, frequency, grafting, weightDecay } = given;
  const { graftingBeta, graftingEps, momentum, dampening, peakLr, decay, precision } = given;
  const schedule = everySteps(start, frequency, delay);
  const isManual = frequency === 'manual';
  const numbers = numbersOf(given);
  const beginning = ofGradients(beginnings(given));
  const filter = filters(given);
  const move = moves(given);
  const cutting = { maxDim: given.maxDim, mergeDim: given.mergeDim };
  const matrices: Readonly<Record<string, 'zeros' | 'identity'>> = {
    factor: 'zeros',
    root: 'identity',
    ...(how.method === 'qr' && { basis: 'identity' }),
    ...(delay > 0 && { pending: 'zeros' }),
  };

  /** Refreshes that begin and take effect in a step. */
  const refresh = async (
    scope: Scope,
    groups: readonly Group[],
    modes: readonly Mode[],
    step: RuleStep,
  ): Promise<void> => {
    const { state } = step;
    const take = async (from: number): Promise<void> => {
      const refreshed = await landed(state, from, () =>
        computeRoots(given, groups, modes, undefined, step),
      );
      using _own = refreshed.scope;
      note(state, await land(scope, modes, refreshed.found, step));
    };
    const due = step.step - delay;
    if (delay > 0 && schedule.begins(due)) await take(due);
    if (!schedule.begins(step.step)) return;
    const correction = await correctionOf(scope, given, state);
    const factors = await snapshot(scope, modes, step, delay > 0, correction);
    begin(state, step.step, () => computeRoots(given, groups, modes, factors, step));
    if (delay === 0) await take(step.step);
  };

  const partsOf = (leaves: readonly UpdatedLeaf[]) => {
    const params = leaves.map(({ param }) => param);
    const groups = groupsOf(
      params,
      params.map(({ shape }) => cutOf(shape, cutting)),
    );
    const modes = modesOf(groups, everyAxis);
    const order = ({ group }: Mode): number => groups[group]?.sizes.length ?? 1;
    const merged = mergedModes(modes, (one, other) => order(one) === order(other));
    return { groups, modes, merged };
  };

  return {
    name: what,
    options: toldShampoo(given),
    slots: ({ tensor }) => {
      const dtype = stateDType(tensor);
      const own: SlotOf = { shape: tensor.shape, dtype };
      return {
        ...(beta1 > 0 && { filtered: own }),
        ...(hasSquares(grafting) && { graft: own }),
        ...(momentum > 0 && { m: own }),
        ...factorSlots(tensor, dtype, cutOf(tensor.shape, cutting), everyAxis, matrices),
      };
    },
    numbers: (step, global): StepNumbers => {
      const lr = rateOf(rate, step, what);
      const parameters = { beta1, beta3, graftingBeta };
      const own = isManual ? { refreshes: global('refreshes') } : {};
      return isTensor(lr)
        ? { formulas: numbers, parameters, inputs: { ...own, lr } }
        : { formulas: numbers, parameters: { ...parameters, lr }, inputs: own };
    },
    ...(isManual && {
      globals: REFRESHES,
      refreshing: byHand(what, async (scope, now) => {
        const { groups, merged } = partsOf(now.leaves);
        const correction = await correctionOf(scope, given, now.state);
        const factors = await snapshot(scope, merged, now, false, correction);
        const refreshed = await computeRoots(given, groups, merged, factors, now);
        using _own = refreshed.scope;
        return await land(scope, merged, refreshed.found, now);
      }),
    }),
    check: async ({ state, step }) => {
      assertCapturable(what, frequency);
      if (schedule.begins(step)) await checkFailures(state, what);
      return undefined;
    },
    update: async (step) => {
      using scope = new Scope();
      const { leaves } = step;
      const { groups, modes, merged } = partsOf(leaves);
      const { device } = (leaves[0] as UpdatedLeaf).param;
      const slots = ['filtered', 'graft', 'm'];
      const blocks = await blockLeaves(scope, groups, leaves, slots);
      const each = (name: string): readonly Tensor[] =>
        forEach(blocks.leaves, step.numbers[name] as DeviceNumber);
      const own = (name: string): Readonly<Record<string, DeviceNumber>> => ({
        [name]: step.numbers[name] as DeviceNumber,
      });
      const slot = (name: string): readonly Tensor[] =>
        blocks.leaves.map((leaf) => leaf.slots[name] as Tensor);
      const parts = (of: readonly Tensor[]): readonly Tensor[] => inBatches(scope, groups, of);
      const isGrafted = grafting !== 'none';
      const grafts = hasSquares(grafting);
      const pairs = isGrafted ? pairsOf(scope, groups, device) : undefined;
      // the filtered gradient is the grafted step itself where that divides by nothing
      const ofU = !grafts && pairs ? pairs.like : emptyBatches(scope, groups, device);
      const ofG = beta1 > 0 ? emptyBatches(scope, groups, device) : ofU;
      await fromGradients(scope, groups, blocks.leaves, step, {
        formulas: beginning,
        slots: beta1 > 0 ? ['filtered'] : [],
        parameters: beta1 > 0 ? { beta3 } : {},
        decay: decay === 'l2' ? weightDecay : 0,
        out: beta1 > 0 ? { g: ofG, u: ofU } : { g: ofG },
      });
      const share = beta2 === 1 ? 1 : 1 - beta2;
      await updateFactors(scope, modes, ofG, step, { beta: beta2, share });
      await refresh(scope, groups, merged, step);
      if (groups.length === 0) return;
      const kept = Object.fromEntries(
        slots.filter((name) => name in filter).map((name) => [name, slot(name)]),
      );
      if (Object.keys(filter).length > 0) {
        await map(
          filter,
          {
            g: parts(ofG),
            ...kept,
            ok: each('ok'),
            unbias: each('unbias'),
            unbiasGraft: each('unbiasGraft'),
          },
          {
            out: { ...kept, ...(grafts && pairs && { d: parts(pairs.like) }) },
            parameters: { beta1, beta3, graftingBeta, graftingEps },
          },
        );
      }
      const lists: Record<string, readonly Tensor[]> = pairs ? { like: parts(pairs.like) } : {};
      const isTurned = !isGrafted || isManual || step.step >= start + delay;
      if (isTurned) {
        const roots = await joined(scope, modes, 'root', leaves);
        const turned: Tensor[] = [];
        for (const [at, batch] of ofU.entries()) {
          const ofGroup = modes.flatMap(({ group }, k) =>
            group === at ? [roots[k] as Tensor] : [],
          );
          turned.push(
            await alongAxes(scope, batch, ofGroup, { into: pairs?.turned[at], precision }),
          );
        }
        lists['turned'] = parts(turned);
        if (pairs) {
          const norms = await squaredNorms(scope, pairs);
          lists['own'] = parts(norms.turned);
          lists['wanted'] = parts(norms.like);
        }
      }
      await updateInPlace({
        leaves: withSlots(blocks.leaves, ['m']),
        formulas: !isTurned ? move.like : isGrafted ? move.grafted : move.turned,
        lists,
        numbers: {
          ok: step.numbers.ok,
          rate: step.numbers['rate'] as DeviceNumber,
          ...(beta1 > 0 && (isTurned || !grafts) && own('unbias')),
          ...(isTurned && isGrafted && own('isRefreshed')),
        },
        parameters: { weightDecay, momentum, dampening, peakLr },
      });
      await blocks.finish();
    },
  };
}

/** What factors of sums that decay are multiplied by; undefined where it is 1. */
async function correctionOf(
  scope: Scope,
  { beta2 }: ShampooSettings,
  { tensors }: OptimiserState,
): Promise<DeviceNumber | undefined> {
  if (beta2 === 1) return undefined;
  const made = await map(
    { float32: CORRECTION, float64: CORRECTION },
    { count: tensors.get('count') as Tensor },
    { parameters: { beta2 }, dtype: { float32: 'float32', float64: 'float64' } },
  );
  return { float32: scope.track(made.float32), float64: scope.track(made.float64) };
}

/** Tensors of each group: those of one group lie beside each other, so that what is computed of both is one launch. */
interface Pairs {
  readonly whole: readonly Tensor[];
  /** What the roots give. */
  readonly turned: readonly Tensor[];
  /** The grafted step. */
  readonly like: readonly Tensor[];
}

/** The halves of tensors (2 count, ..) of each group. */
function halvesOf(scope: Scope, whole: readonly Tensor[]): Pairs {
  const half = (which: 0 | 1): readonly Tensor[] =>
    whole.map((one) => {
      const count = (one.shape[0] ?? 0) / 2;
      return scope.track(one.slice([which * count, (which + 1) * count]));
    });
  return { whole, turned: half(0), like: half(1) };
}

/** Room for both: (count, ..sizes) of each group. */
const pairsOf = (scope: Scope, groups: readonly Group[], device: Device): Pairs =>
  halvesOf(
    scope,
    emptyBatches(
      scope,
      groups.map((group) => ({ ...group, count: 2 * group.count })),
      device,
    ),
  );

/** The squared norms of their blocks, (count, 1, ..). */
async function squaredNorms(scope: Scope, { whole }: Pairs): Promise<Pairs> {
  const sums: Tensor[] = [];
  for (const one of whole) {
    const axes = one.shape.slice(1).map((_, k) => k + 1);
    sums.push(scope.track(await floats(one).square().sum(axes, { keepDims: true })));
  }
  return halvesOf(scope, sums);
}

/**
 * Shampoo (Gupta, Koren and Singer 2018, in the form of Shi et al. 2023): each block of a parameter is multiplied along each of its k axes by `(L + eps I)^(-1/(2 k))`, L being
 * the sum (or, with beta2 < 1, the corrected mean) of the gradient's products with itself along that axis. Roots by products have more than `eps` on the diagonal where float32 would lose it. With grafting a block has the length of another optimiser's
 * step.
 *
 * Products of all blocks of one shape are one batched product. A refresh of the roots that begins in step t takes effect in step t + `delay`, which waits for it if it is late: a run repeats bit
 * for bit. Where a root cannot be computed the old one stays; `<path>/failures0.1` counts how often in a row (of class 0 of its blocks, along axis 1), and after four
 * times a refresh throws. A factor that has seen no gradient keeps its root too, which begins with the identity.
 *
 * ```ts
 * import { shampoo } from '@mercer/optim';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const params = { w: await tensor([[1, 2], [3, 4]], where) };
 * const optimiser = shampoo({ lr: 0.5, betas: [0, 1], mergeDims: false });
 * using state = await optimiser.init(params);
 * await optimiser.step(params, { w: await tensor([[1, 0], [0, 16]], where) }, state);
 * console.log((await params.w.toNested<number[][]>()).map((row) => row.map((x) => x.toFixed(3)))); // [ [ '0.500', '2.000' ], [ '3.000', '3.500' ] ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; its steps as those of `sgd`, and OptimError NO_PRECONDITIONER
 */
export function shampoo(options?: ShampooOptions): Optimiser {
  const given = readOptions(what, options, SHAMPOO_OPTIONS);
  return optimiserOf(ruleOf(readShampoo(given)), readSettings(given, what));
}
