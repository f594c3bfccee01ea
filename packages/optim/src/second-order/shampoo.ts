import {
  add,
  constant,
  div,
  gt,
  lt,
  mul,
  pow,
  select,
  sqrt,
  sub,
  variable,
  type RealExpr,
} from '@mercer/formula';
import { isTensor, map, Scope, sumTo, type Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { rateOf } from '../first-order/learning-rate.js';
import { optimiserOf, readSettings } from '../optimiser-of.js';
import type { Optimiser, OptimiserState } from '../optimiser.js';
import type { Rule, RuleRefresh, RuleStep, SlotOf, StepNumbers } from '../rule.js';
import { stateDType, updateInPlace, type DeviceNumber, type UpdatedLeaf } from '../update.js';
import { alongAxes, floats } from './along-axes.js';
import { assertCapturable, byHand, IS_REFRESHED, REFRESHES } from './by-hand.js';
import { cutOf, emptyLike, gathered, groupsOf, scattered, type Group } from './blocks.js';
import {
  factorSlots,
  joined,
  land,
  modesOf,
  snapshot,
  updateFactors,
  type Mode,
  type ModeResult,
} from './factors.js';
import { forEach, keeping, ownGradients, withSlots } from './gradients.js';
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
  readShampoo,
  SHAMPOO_OPTIONS,
  toldShampoo,
  type Grafting,
  type ShampooOptions,
  type ShampooSettings,
} from './shampoo-options.js';
import { dividedByTrace, extentsOf, haveTurned, inverseRoots } from './roots.js';

const what = 'shampoo';
const v = variable;
const t = v('t');

/** 1 / (1 - beta^t) where there is a mean to be corrected. */
const unbiased = (beta: number, name: string, count: RealExpr): RealExpr =>
  beta === 1 ? constant(1) : select(lt(0, count), div(1, sub(1, pow(v(name), count))), 1);

/** Numbers of a step, of the count t. */
const numbersOf = ({ beta1, grafting, graftingBeta, frequency }: ShampooSettings) => ({
  rate: v('lr'),
  // one mean of means: the last gradient has the share 1 - beta3
  unbias: beta1 === 0 ? constant(1) : div(1, sub(1, mul(v('beta3'), pow(v('beta1'), sub(t, 1))))),
  unbiasGraft: grafting === 'adam' ? unbiased(graftingBeta, 'graftingBeta', t) : constant(1),
  ...(frequency === 'manual' && { isRefreshed: IS_REFRESHED }),
});

/** What becomes of means, and the filtered gradient `u` and the grafted direction `d` that follow. */
function filters({ beta1, grafting }: ShampooSettings): Readonly<Record<string, RealExpr>> {
  const g = v('g');
  const u =
    beta1 === 0
      ? g
      : mul(v('unbias'), add(mul(v('beta3'), v('filtered')), mul(sub(1, v('beta3')), g)));
  const square = mul(g, g);
  const squares =
    grafting === 'adagrad'
      ? add(v('graft'), square)
      : add(mul(v('graftingBeta'), v('graft')), mul(sub(1, v('graftingBeta')), square));
  const length = add(sqrt(mul(squares, v('unbiasGraft'))), v('graftingEps'));
  const kept = keeping({
    ...(beta1 > 0 && { filtered: add(mul(v('beta1'), v('filtered')), mul(sub(1, v('beta1')), g)) }),
    ...(hasSquares(grafting) && { graft: squares }),
  });
  return { ...kept, u, ...(hasSquares(grafting) && { d: div(u, length) }) };
}

const hasSquares = (grafting: Grafting): boolean => grafting !== 'none' && grafting !== 'sgd';

/** What becomes of a parameter with a direction `a`. */
function moves({
  momentum,
  nesterov,
  weightDecay,
  decay,
}: ShampooSettings): Readonly<Record<string, RealExpr>> {
  const isInStep = weightDecay > 0 && decay !== 'l2';
  const share =
    decay === 'corrected'
      ? mul(v('weightDecay'), div(v('rate'), v('peakLr')))
      : decay === 'independent'
        ? div(v('weightDecay'), v('peakLr'))
        : v('weightDecay');
  const along = isInStep ? add(v('a'), mul(share, v('p'))) : v('a');
  const next = add(mul(v('momentum'), v('m')), mul(sub(1, v('dampening')), along));
  const step = momentum === 0 ? along : nesterov ? add(along, mul(v('momentum'), next)) : next;
  return { p: sub(v('p'), mul(v('rate'), step)), ...(momentum > 0 && { m: next }) };
}

const SQUARE = mul(v('x'), v('x'));
/** Blocks with the lengths of others. */
const GRAFTED = mul(v('x'), div(sqrt(v('wanted')), add(sqrt(v('own')), 1e-16)));
/** The others themselves until there was a refresh. */
const GRAFTED_LATER = select(gt(v('isRefreshed'), 0), GRAFTED, v('like'));

/** What factors are multiplied by, of the count of steps that they are of. */
const CORRECTION = unbiased(0, 'beta2', v('count'));

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
      const extents = await extentsOf(scope, one, stream);
      const scaled = traceScaling ? await dividedByTrace(scope, one, stream) : one;
      const cast = (x: Tensor | undefined): Promise<Tensor> | Tensor | undefined =>
        x === undefined || rootDType === undefined || rootDType === x.dtype
          ? x
          : x.cast(rootDType, { stream }).then((made) => scope.track(made));
      const order = groups[mode.group]?.sizes.length ?? 1;
      const { root, infos, basis } = await inverseRoots(
        scope,
        (await cast(scaled)) as Tensor,
        2 * order,
        how,
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
  const { graftingBeta, graftingEps, momentum, dampening, peakLr, decay } = given;
  const schedule = everySteps(start, frequency, delay);
  const isManual = frequency === 'manual';
  const numbers = numbersOf(given);
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
    return { groups, modes: modesOf(groups, everyAxis) };
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
        const { groups, modes } = partsOf(now.leaves);
        const correction = await correctionOf(scope, given, now.state);
        const factors = await snapshot(scope, modes, now, false, correction);
        const refreshed = await computeRoots(given, groups, modes, factors, now);
        using _own = refreshed.scope;
        return await land(scope, modes, refreshed.found, now);
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
      const params = leaves.map(({ param }) => param);
      const { groups, modes } = partsOf(leaves);
      const g = await ownGradients(scope, step, decay === 'l2' ? weightDecay : 0);
      const batches = await gathered(scope, groups, g);
      const share = beta2 === 1 ? 1 : 1 - beta2;
      await updateFactors(scope, modes, batches, step, { beta: beta2, share });
      await refresh(scope, groups, modes, step);
      const u = emptyLike(scope, params);
      const d = hasSquares(grafting) ? emptyLike(scope, params) : u;
      const slot = (name: string): Record<string, readonly Tensor[]> =>
        name in filter ? { [name]: leaves.map(({ slots }) => slots[name] as Tensor) } : {};
      const kept = { ...slot('filtered'), ...slot('graft') };
      await map(
        filter,
        {
          g,
          ...kept,
          ok: forEach(leaves, step.numbers.ok),
          unbias: forEach(leaves, step.numbers['unbias'] as DeviceNumber),
          unbiasGraft: forEach(leaves, step.numbers['unbiasGraft'] as DeviceNumber),
        },
        {
          out: { ...kept, u, ...(hasSquares(grafting) && { d }) },
          parameters: { beta1, beta3, graftingBeta, graftingEps },
        },
      );
      let along = d;
      if (grafting === 'none' || isManual || step.step >= start + delay) {
        const filtered = await gathered(scope, groups, u);
        const roots = await joined(scope, modes, 'root', leaves);
        const lengths = grafting === 'none' ? undefined : await gathered(scope, groups, d);
        const results: Tensor[] = [];
        for (const [at, batch] of filtered.entries()) {
          const own = modes.flatMap(({ group }, k) => (group === at ? [roots[k] as Tensor] : []));
          const turned = await alongAxes(scope, batch, own, false);
          results.push(
            lengths === undefined
              ? turned
              : await grafted(scope, turned, lengths[at] as Tensor, step.numbers['isRefreshed']),
          );
        }
        along = emptyLike(scope, params);
        await scattered(scope, groups, results, along);
      }
      await updateInPlace({
        leaves: withSlots(leaves, ['m']),
        formulas: move,
        lists: { a: along },
        numbers: { ok: step.numbers.ok, rate: step.numbers['rate'] as DeviceNumber },
        parameters: { weightDecay, momentum, dampening, peakLr },
      });
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

/** Blocks with the lengths of others; the others themselves where it is said that there was no refresh. */
async function grafted(
  scope: Scope,
  x: Tensor,
  like: Tensor,
  isRefreshed: DeviceNumber | undefined,
): Promise<Tensor> {
  const squares = async (of: Tensor): Promise<Tensor> => {
    const all = scope.track(await map(SQUARE, { x: of }));
    return scope.track(
      await sumTo(floats(all), [of.shape[0] ?? 0, ...of.shape.slice(1).map(() => 1)]),
    );
  };
  const sums = { own: await squares(x), wanted: await squares(like) };
  if (isRefreshed === undefined) return scope.track(await map(GRAFTED, { x, ...sums }));
  const is = isRefreshed[x.dtype as 'float32' | 'float64'] as Tensor;
  return scope.track(await map(GRAFTED_LATER, { x, ...sums, like, isRefreshed: is }));
}

/**
 * Shampoo (Gupta, Koren and Singer 2018, in the form of Shi et al. 2023): each block of a parameter is multiplied along each of its k axes by `(L + eps I)^(-1/(2 k))`, L being
 * the sum (or, with beta2 < 1, the corrected mean) of the gradient's products with itself along that axis. With grafting a block has the length of another optimiser's
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
