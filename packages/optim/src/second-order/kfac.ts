import {
  constant,
  div,
  eq,
  gt,
  le,
  max,
  mul,
  select,
  sub,
  variable,
  type RealExpr,
} from '@mercer/formula';
import type { Tree } from '@mercer/autodiff';
import { eye, full, isTensor, map, Scope, type Device, type Tensor } from '@mercer/tensor';
import { readOptions, sizeOfShape } from '@mercer/tensor/operation';
import { rateOf } from '../first-order/learning-rate.js';
import { checkEvaluate, checkValue, evaluated } from '../evaluated.js';
import { OptimError } from '../optim-error.js';
import { optimiserOf, readSettings } from '../optimiser-of.js';
import type { Optimiser, StepExtras } from '../optimiser.js';
import type { Rule, RuleStep, SlotOf, StepNumbers, SteppedLeaf } from '../rule.js';
import { stateDType, updateInPlace, type DeviceNumber } from '../update.js';
import { assertCapturable, byHand, IS_REFRESHED, REFRESHES } from './by-hand.js';
import { withSlots } from './gradients.js';
import { computeInverses, factorsNow, landInverses, updateLayers } from './kfac-inverses.js';
import { batchFactors, layersOf, notedLayers, noteLayers, type KfacLayer } from './kfac-layers.js';
import { innerProduct, rateOn, shortening } from './shortened.js';
import { directions } from './kfac-directions.js';
import {
  KFAC_OPTIONS,
  readKfac,
  toldKfac,
  type KfacOptions,
  type KfacSettings,
} from './kfac-options.js';
import { begin, checkFailures, everySteps, landed, note } from './refreshes.js';
import { MOVED, MOVED_ON, SAME } from './moves.js';

const what = 'kfac';
/** Steps from one adaption of the damping to the next. */
const ADAPTED_EVERY = 5;
const OMEGA = 0.9 ** ADAPTED_EVERY;

const v = variable;
const NUMBERS = { rate: v('lr'), one: constant(1) };
const MANUAL_NUMBERS = { ...NUMBERS, isRefreshed: IS_REFRESHED };
/** Formulas whose results stay as they are until there was a refresh. */
const later = (formulas: Readonly<Record<string, RealExpr>>) =>
  Object.fromEntries(
    Object.entries(formulas).map(([name, one]) => [
      name,
      select(gt(v('isRefreshed'), 0), one, v(name)),
    ]),
  );
const [MOVED_LATER, MOVED_ON_LATER] = [later(MOVED), later(MOVED_ON)];

/** What the quadratic model says that a step does to the loss, u solving the damped system. */
const alpha = mul(v('rate'), v('nu'));
const MODELLED = mul(mul(alpha, sub(mul(0.5, alpha), 1)), v('product'));
const RATIO = div(sub(v('next'), v('value')), v('modelled'));
// NaN raises it too
const ADAPTED = select(
  // a step that was not taken says nothing
  eq(v('modelled'), 0),
  v('damping'),
  max(
    select(
      gt(RATIO, 0.75),
      mul(v('damping'), OMEGA),
      select(le(0.25, RATIO), v('damping'), div(v('damping'), OMEGA)),
    ),
    v('least'),
  ),
);

/** The loss that a step is given. @throws OptimError MISSING_STATISTICS; MercerError SHAPE_MISMATCH, DEVICE_MISMATCH, DISPOSED */
function valueOf({ value }: StepExtras, { id }: Device): Tensor {
  if (value === undefined) {
    throw new OptimError(
      'MISSING_STATISTICS',
      `${what}: a step with adaptiveDamping needs the loss at its parameters. Pass step(params, grads, state, { value, statistics }).`,
    );
  }
  return checkValue(value, what, id);
}

const scalar = (value: number) => ({ shape: [], dtype: 'float64', value }) as const;

function ruleOf(given: KfacSettings): Rule {
  const { rate, beta, frequency, start, delay, isExact, isAdaptive, momentum, plain } = given;
  const schedule = everySteps(start, frequency, delay);
  const isManual = frequency === 'manual';
  const isAdapted = (count: number): boolean =>
    isAdaptive && count >= start + delay && count % ADAPTED_EVERY === 0;

  const [now, behind] = momentum > 0 ? [MOVED_ON, MOVED_ON_LATER] : [MOVED, MOVED_LATER];
  const moved = isManual ? behind : now;

  const slots = ({ shape, device }: Tensor, dtype: 'float32' | 'float64') => {
    const [outputs = 0, ...rest] = shape;
    const sides = { A: sizeOfShape(rest) + 1, G: outputs } as const;
    const all: Record<string, SlotOf> = {
      failures: { shape: [2], dtype: 'int32' },
      added: { shape: [], dtype: 'int32' },
    };
    for (const [side, n] of Object.entries(sides)) {
      const matrix: SlotOf = { shape: [n, n], dtype };
      const identity: SlotOf = { ...matrix, begin: () => eye(n, { dtype, device }) };
      all[side] = matrix;
      if (delay > 0) all[`pending${side}`] = matrix;
      all[`${isExact ? 'basis' : 'inverse'}${side}`] = identity;
      if (isExact) all[`values${side}`] = { shape: [n], dtype };
    }
    return all;
  };

  /** Refreshes that begin and take effect in a step. */
  const refresh = async (
    scope: Scope,
    layers: readonly KfacLayer[],
    now: RuleStep,
    damping: Tensor,
  ): Promise<void> => {
    const { state } = now;
    const take = async (from: number): Promise<void> => {
      const refreshed = await landed(state, from, () => computeInverses(layers, undefined, given));
      using _own = refreshed.scope;
      const failures = await landInverses(scope, layers, refreshed.found);
      if (failures !== undefined) note(state, failures);
    };
    const due = now.step - delay;
    if (delay > 0 && schedule.begins(due)) await take(due);
    if (!schedule.begins(now.step)) return;
    const how = { isLater: delay > 0, isExact, damping, beta };
    const factors = await factorsNow(scope, layers, how);
    begin(state, now.step, () => computeInverses(layers, factors, given));
    if (delay === 0) await take(now.step);
  };

  /** Adapts the damping by the losses before and after a step of which the model said something. */
  const adapt = async (
    { state }: RuleStep,
    losses: { readonly next: Tensor; readonly value: Tensor; readonly modelled: Tensor },
  ): Promise<void> => {
    const damping = state.tensors.get('damping') as Tensor;
    await map(
      ADAPTED,
      { ...losses, damping },
      { out: damping, parameters: { least: given.minDamping } },
    );
  };

  return {
    name: what,
    options: toldKfac(given),
    refusesScale: isAdaptive
      ? 'compares losses where its damping adapts, which have to be the loss itself'
      : undefined,
    globals: {
      damping: scalar(given.damping),
      ...(isAdaptive && { loss: scalar(0), modelled: scalar(0) }),
      ...(isManual && REFRESHES),
    },
    ...(isManual && {
      refreshing: byHand(
        what,
        async (scope, { leaves, state }) => {
          const layers = notedLayers(what, leaves, state);
          const damping = state.tensors.get('damping') as Tensor;
          const asked = { isLater: false, isExact, damping, beta };
          const factors = await factorsNow(scope, layers, asked);
          const refreshed = await computeInverses(layers, factors, given);
          using _own = refreshed.scope;
          const { device } = damping;
          const failures = await landInverses(scope, layers, refreshed.found);
          return failures ?? (await full([], 0, { device }));
        },
        ({ leaves, state }) => void notedLayers(what, leaves, state),
      ),
    }),
    slots: ({ name, tensor }) => {
      const dtype = stateDType(tensor);
      const isWeight = tensor.rank === 2 || tensor.rank === 4;
      return {
        ...(momentum > 0 && { m: { shape: tensor.shape, dtype } }),
        ...(isWeight && tensor.size > 0 && !plain.has(name) && slots(tensor, dtype)),
      };
    },
    numbers: (count, global): StepNumbers => {
      const lr = rateOf(rate, count, what);
      const formulas = isManual ? MANUAL_NUMBERS : NUMBERS;
      const own = isManual ? { refreshes: global('refreshes') } : {};
      return isTensor(lr)
        ? { formulas, parameters: {}, inputs: { ...own, lr } }
        : { formulas, parameters: { lr }, inputs: own };
    },
    check: async ({ leaves, state, step: count, extras }) => {
      assertCapturable(what, frequency);
      layersOf(what, leaves, extras.statistics, plain);
      const { device } = (leaves[0] as SteppedLeaf).param;
      checkEvaluate(extras.evaluate, what);
      if (isAdapted(count) || isAdapted(count - 1)) valueOf(extras, device);
      if (schedule.begins(count)) await checkFailures(state, what);
      return undefined;
    },
    update: async (now) => {
      using scope = new Scope();
      const { leaves, numbers, state, extras, step: count } = now;
      const layers = layersOf(what, leaves, extras.statistics, plain);
      const { device } = (leaves[0] as SteppedLeaf).param;
      const damping = state.tensors.get('damping') as Tensor;
      const [loss, modelled] = [state.tensors.get('loss'), state.tensors.get('modelled')];
      const isCompared = isAdapted(count - 1) && extras.evaluate === undefined;
      if (isCompared && loss !== undefined && modelled !== undefined) {
        await adapt(now, { next: valueOf(extras, device), value: loss, modelled });
      }
      const batch = await batchFactors(scope, layers, numbers);
      await updateLayers(scope, layers, batch, now, beta);
      await refresh(scope, layers, now, damping);
      if (isManual) noteLayers(state, layers);
      else if (count < start + delay) return;
      const { weightDecay } = given;
      const { u, gradients, natural } = await directions(scope, layers, now, {
        weightDecay,
        damping,
        isExact,
      });
      const isModelled = isAdapted(count);
      const product = await innerProduct(scope, gradients, natural, device);
      const nu = await shortening(scope, now, product, given.normConstraint);
      const value = isModelled ? valueOf(extras, device) : undefined;
      if (value !== undefined && loss !== undefined && modelled !== undefined) {
        const told = { rate: rateOn(now), product, nu: nu.float64 };
        await map(MODELLED, told, { out: modelled });
        await map(
          SAME,
          { x: value.rank === 0 ? value : scope.track(value.reshape([])) },
          { out: loss },
        );
      }
      await updateInPlace({
        leaves: withSlots(leaves, ['m']),
        formulas: moved,
        lists: { u },
        numbers: {
          ok: numbers.ok,
          rate: numbers['rate'] as DeviceNumber,
          nu,
          ...(isManual && { isRefreshed: numbers['isRefreshed'] as DeviceNumber }),
        },
        parameters: momentum > 0 ? { momentum } : {},
      });
      if (value === undefined || extras.evaluate === undefined) return;
      const after = await evaluated(scope, extras.evaluate, what, now.params as Tree);
      const at = after.value.rank === 0 ? after.value : scope.track(after.value.reshape([]));
      await adapt(now, { next: at, value: loss as Tensor, modelled: modelled as Tensor });
    },
  };
}

/**
 * K-FAC (Martens and Grosse 2015; of convolutions Grosse and Martens 2016): each layer's weight and bias move along `G⁻¹ ∇ A⁻¹`, where A is the mean of its inputs' products
 * with each other, with 1 for the bias, and G that of its output gradients. Steps need the statistics of the layers, from `withStatistics(f)`: with labels that are drawn from the model
 * the curvature is the Fisher matrix, with those of the data the empirical one.
 *
 * With `inverse: 'factored'` A + pi sqrt(damping) I and G + sqrt(damping) / pi I are inverted, pi² being the quotient of their mean eigenvalues, or 1 where a factor is zero. With
 * `exact` the damping is added to the products of their eigenvalues. The damping is the state `damping`. Factors of a batch that are not finite are left out; `<path of the weight>/added` counts the others, for which the means are
 * corrected.
 *
 * A refresh that begins in step t takes effect in step t + `delay`: a run repeats bit for bit. Where an inverse cannot be computed the old one stays; `<path of the weight>/failures` counts how
 * often in a row, of A and of G, and after four times a refresh throws.
 *
 * ```ts
 * import { kfac } from '@mercer/optim';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const params = { weight: await tensor([[1, 1]], where) };
 * const inputs = await tensor([[2, 0], [0, 1]], where); // of two examples, whose loss has the gradients 2 and 4
 * const outputGradients = await tensor([[1], [2]], where);
 * const optimiser = kfac({ lr: 1, damping: 1e-6 });
 * using state = await optimiser.init(params);
 * const statistics = [{ kind: 'linear', weight: 'weight', inputs, outputGradients }] as const;
 * await optimiser.step(params, { weight: await tensor([[2, 2]], where) }, state, { statistics });
 * console.log((await params.weight.toNested<number[][]>()).map((row) => row.map((x) => x.toFixed(2)))); // [ [ '0.90', '0.60' ] ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; its steps as those of `sgd`, and OptimError MISSING_STATISTICS, NO_PRECONDITIONER
 */
export function kfac(options?: KfacOptions): Optimiser {
  const given = readOptions(what, options, KFAC_OPTIONS);
  return optimiserOf(ruleOf(readKfac(given)), readSettings(given, what));
}
