import {
  add,
  constant,
  div,
  lt,
  mul,
  pow,
  select,
  sqrt,
  sub,
  variable,
  type RealExpr,
} from '@mercer/formula';
import { describeValue, type OptionNames } from '@mercer/options';
import { isTensor, map, MercerError, Scope, sumTo, type Tensor } from '@mercer/tensor';
import { assertNotPreparing, readOptions } from '@mercer/tensor/operation';
import { checkCount, checkNumber, checkFraction, checkFlag, checkChoice } from '../checks.js';
import { checkLearningRate, rateOf, type LearningRate } from '../first-order/learning-rate.js';
import { COMMON_OPTIONS, optimiserOf, readSettings, type CommonOptions } from '../optimiser-of.js';
import type { Optimiser } from '../optimiser.js';
import type { Rule, RuleStep, SlotOf, StepNumbers } from '../rule.js';
import { stateDType, updateInPlace, type DeviceNumber } from '../update.js';
import { alongAxes, floats } from './along-axes.js';
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
import { checkDelay } from './options.js';
import {
  begin,
  checkFailures,
  everySteps,
  hasBecome,
  landed,
  streamBeside,
  type Refreshed,
} from './refreshes.js';
import { dividedByTrace, extentsOf, haveTurned, inverseRoots, type RootMethod } from './roots.js';

/** Whose step gives each block its length. */
export type Grafting = 'none' | 'sgd' | 'adagrad' | 'rmsprop' | 'adam';

/** How inverse roots are computed: exactly, by products (see `matrixPower`), or from eigenvectors that follow by QR iterations. */
export type RootOption = 'eigh' | 'newton' | 'higherOrder' | 'qr';

/** Options of {@link shampoo}. */
export interface ShampooOptions extends CommonOptions {
  /** Default 1e-2. */
  readonly lr?: LearningRate | undefined;
  /** Of the mean of gradients, 0 for none, and of the factors, 1 for their sum; default [0.9, 1]. */
  readonly betas?: readonly [number, number] | undefined;
  /** Of the mean of gradients and the last one that is used; default: the first of `betas`. */
  readonly beta3?: number | undefined;
  /** What is added to the factors' diagonals; default 1e-12. */
  readonly eps?: number | undefined;
  /** The most that an axis of a block has: larger ones are cut; default 1024. */
  readonly maxDim?: number | undefined;
  /** Whether small axes are merged while their product is at most `maxDim`; default true. */
  readonly mergeDims?: boolean | undefined;
  /** Steps from one refresh of the roots to the next; default 1. */
  readonly frequency?: number | undefined;
  /** The step of the first refresh; before it takes effect, the grafted step alone is taken. Default: `frequency`. */
  readonly start?: number | undefined;
  /** Steps after which a refresh takes effect, at most `frequency`; it is computed beside them. 0 (default): in its own step, which waits for it. */
  readonly delay?: number | undefined;
  /**
   * Whose step gives each block its length; default 'adam'. With 'none', directions of which the last refresh saw no gradient are multiplied by powers of 1 / `eps`: take a larger
   * `eps` then, or refresh at each step.
   */
  readonly grafting?: Grafting | undefined;
  /** Of the squares of gradients in grafting; default 0.99 of 'rmsprop', 0.999 of 'adam'. */
  readonly graftingBeta?: number | undefined;
  /** Default 1e-10. */
  readonly graftingEps?: number | undefined;
  /** Default 'eigh'. */
  readonly root?: RootOption | undefined;
  /** Steps of 'newton' and 'higherOrder'; default: as `matrixPower`. */
  readonly rootSteps?: number | undefined;
  /** QR iterations of a refresh; default 1. */
  readonly iterations?: number | undefined;
  /** What roots are computed in; default: what the state is kept in. */
  readonly rootDType?: 'float32' | 'float64' | undefined;
  /** Whether factors are divided by the roots of their traces; default false. */
  readonly traceScaling?: boolean | undefined;
  /** Of the steps; default 0. */
  readonly momentum?: number | undefined;
  /** How much less a step adds to the momentum; default 0. */
  readonly dampening?: number | undefined;
  /** Default false. */
  readonly nesterov?: boolean | undefined;
  /** Default 0. */
  readonly weightDecay?: number | undefined;
  /**
   * `decoupled` (default) adds `weightDecay` times the parameter to the step, which lr multiplies; `l2` adds it to the gradient; `corrected` is decoupled times `lr / peakLr`;
   * `independent` is decoupled divided by `peakLr`.
   */
  readonly decay?: 'decoupled' | 'l2' | 'corrected' | 'independent' | undefined;
  /** The largest learning rate of a schedule, for `decay`; default: lr, where it is a number. */
  readonly peakLr?: number | undefined;
}

const SHAMPOO_OPTIONS: OptionNames<ShampooOptions> = {
  ...COMMON_OPTIONS,
  lr: true,
  betas: true,
  beta3: true,
  eps: true,
  maxDim: true,
  mergeDims: true,
  frequency: true,
  start: true,
  delay: true,
  grafting: true,
  graftingBeta: true,
  graftingEps: true,
  root: true,
  rootSteps: true,
  iterations: true,
  rootDType: true,
  traceScaling: true,
  momentum: true,
  dampening: true,
  nesterov: true,
  weightDecay: true,
  decay: true,
  peakLr: true,
};

const what = 'shampoo';
const v = variable;
const t = v('t');

/** 1 / (1 - beta^t) where there is a mean to be corrected. */
const unbiased = (beta: number, name: string, count: RealExpr): RealExpr =>
  beta === 1 ? constant(1) : select(lt(0, count), div(1, sub(1, pow(v(name), count))), 1);

/** Numbers of a step, of the count t. */
const numbersOf = ({ beta2, beta1, grafting, graftingBeta }: Read) => ({
  rate: v('lr'),
  // one mean of means: the last gradient has the share 1 - beta3
  unbias: beta1 === 0 ? constant(1) : div(1, sub(1, mul(v('beta3'), pow(v('beta1'), sub(t, 1))))),
  now: unbiased(beta2, 'beta2', t),
  before: unbiased(beta2, 'beta2', sub(t, 1)),
  unbiasGraft: grafting === 'adam' ? unbiased(graftingBeta, 'graftingBeta', t) : constant(1),
});

/** What becomes of means, and the filtered gradient `u` and the grafted direction `d` that follow. */
function filters({ beta1, grafting }: Read): Readonly<Record<string, RealExpr>> {
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
}: Read): Readonly<Record<string, RealExpr>> {
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

interface Read {
  readonly rate: LearningRate;
  readonly beta1: number;
  readonly beta2: number;
  readonly beta3: number;
  readonly maxDim: number;
  readonly mergeDim: number;
  readonly frequency: number;
  readonly start: number;
  readonly delay: number;
  readonly grafting: Grafting;
  readonly graftingBeta: number;
  readonly graftingEps: number;
  readonly how: RootMethod;
  readonly rootDType: 'float32' | 'float64' | undefined;
  readonly traceScaling: boolean;
  readonly momentum: number;
  readonly dampening: number;
  readonly nesterov: boolean;
  readonly weightDecay: number;
  readonly decay: 'decoupled' | 'l2' | 'corrected' | 'independent';
  readonly peakLr: number;
}

function read(given: ShampooOptions): Read {
  const { grafting = 'adam', root = 'eigh', decay = 'decoupled' } = given;
  const [first, beta2] = pairOf(given.betas ?? [0.9, 1]);
  const beta1 = checkFraction(first, what, 'betas[0]');
  const maxDim = checkCount(given.maxDim ?? 1024, what, 'maxDim');
  const frequency = checkCount(given.frequency ?? 1, what, 'frequency');
  const method = checkChoice(root, what, 'root', ['eigh', 'newton', 'higherOrder', 'qr']);
  const kind = checkChoice(grafting, what, 'grafting', GRAFTINGS);
  const rate = checkLearningRate(given.lr ?? 1e-2, what);
  const weightDecay = checkNumber(given.weightDecay ?? 0, what, 'weightDecay');
  const momentum = checkFraction(given.momentum ?? 0, what, 'momentum');
  const dampening = checkFraction(given.dampening ?? 0, what, 'dampening');
  const nesterov = checkFlag(given.nesterov ?? false, what, 'nesterov');
  if (nesterov && (momentum === 0 || dampening !== 0)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: nesterov with momentum ${momentum} and dampening ${dampening}. Pass a momentum, and no dampening.`,
    );
  }
  const byProducts = method === 'newton' || method === 'higherOrder';
  if (given.rootSteps !== undefined && !byProducts) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: rootSteps with root '${method}', which has none. Leave it away, or pass root 'newton' or 'higherOrder'.`,
    );
  }
  const decays = checkChoice(decay, what, 'decay', ['decoupled', 'l2', 'corrected', 'independent']);
  const needsPeak = weightDecay > 0 && (decays === 'corrected' || decays === 'independent');
  const peak = given.peakLr ?? (typeof rate === 'number' ? rate : undefined);
  if (needsPeak && !(typeof peak === 'number' && peak > 0 && peak < Infinity)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: peakLr is ${describeValue(peak)} with decay '${decays}'. Pass the largest learning rate of the schedule.`,
    );
  }
  return {
    rate,
    beta1,
    beta2: checkNumber(beta2, what, 'betas[1]', 0, 1),
    beta3: beta1 === 0 ? 0 : checkFraction(given.beta3 ?? beta1, what, 'beta3'),
    maxDim,
    mergeDim: checkFlag(given.mergeDims ?? true, what, 'mergeDims') ? maxDim : 0,
    frequency,
    start: checkCount(given.start ?? frequency, what, 'start'),
    delay: checkDelay(given.delay ?? 0, what, frequency),
    grafting: kind,
    graftingBeta: checkFraction(
      given.graftingBeta ?? (kind === 'adam' ? 0.999 : 0.99),
      what,
      'graftingBeta',
    ),
    graftingEps: checkNumber(given.graftingEps ?? 1e-10, what, 'graftingEps'),
    how: {
      method,
      eps: checkNumber(given.eps ?? 1e-12, what, 'eps'),
      steps:
        given.rootSteps === undefined ? undefined : checkCount(given.rootSteps, what, 'rootSteps'),
      iterations: checkCount(given.iterations ?? 1, what, 'iterations'),
    },
    rootDType:
      given.rootDType === undefined
        ? undefined
        : checkChoice(given.rootDType, what, 'rootDType', ['float32', 'float64'] as const),
    traceScaling: checkFlag(given.traceScaling ?? false, what, 'traceScaling'),
    momentum,
    dampening,
    nesterov,
    weightDecay,
    decay: decays,
    peakLr: typeof peak === 'number' && peak > 0 ? peak : 1,
  };
}

/** @throws MercerError INVALID_ARGUMENT */
function pairOf(betas: unknown): readonly unknown[] {
  if (Array.isArray(betas) && betas.length === 2) return betas;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: betas is ${describeValue(betas)}. Pass two numbers, such as [0.9, 1].`,
  );
}

const GRAFTINGS = ['none', 'sgd', 'adagrad', 'rmsprop', 'adam'] as const;

const everyAxis = (): boolean => true;

/** Computes the roots of factors, of a snapshot that is given or in the state. */
async function computeRoots(
  given: Read,
  groups: readonly Group[],
  modes: readonly Mode[],
  factors: readonly Tensor[] | undefined,
  { leaves, state }: RuleStep,
): Promise<Refreshed<readonly ModeResult[]>> {
  const { how, rootDType, traceScaling, delay } = given;
  const scope = new Scope();
  try {
    const [{ param }] = leaves as RuleStep['leaves'] & readonly [RuleStep['leaves'][0]];
    const stream = streamBeside(param.device, delay);
    const all = factors ?? (await joined(scope, modes, 'pending', leaves, stream));
    const old = how.method === 'qr' ? await joined(scope, modes, 'basis', leaves, stream) : [];
    // exact ones until there are some: steps that were skipped have none
    const bases = (await hasBecome(state, () => haveTurned(scope, old, stream))) ? old : [];
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

function ruleOf(given: Read, options: Readonly<Record<string, unknown>>): Rule {
  const { rate, beta1, beta2, beta3, how, delay, start, frequency, grafting, weightDecay } = given;
  const { graftingBeta, graftingEps, momentum, dampening, peakLr, decay } = given;
  const schedule = everySteps(start, frequency, delay);
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
    const { state, numbers: now } = step;
    const take = async (from: number): Promise<void> => {
      const refreshed = await landed(state, from, () =>
        computeRoots(given, groups, modes, undefined, step),
      );
      using _own = refreshed.scope;
      await land(scope, modes, refreshed.found, step);
    };
    const due = step.step - delay;
    if (delay > 0 && schedule.begins(due)) await take(due);
    if (!schedule.begins(step.step)) return;
    const correction = { now: now['now'] as DeviceNumber, before: now['before'] as DeviceNumber };
    const factors = await snapshot(scope, modes, step, delay > 0, correction);
    begin(state, step.step, () => computeRoots(given, groups, modes, factors, step));
    if (delay === 0) await take(step.step);
  };

  return {
    name: what,
    options,
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
    numbers: (step): StepNumbers => {
      const lr = rateOf(rate, step, what);
      const parameters = { beta1, beta2, beta3, graftingBeta };
      return isTensor(lr)
        ? { formulas: numbers, parameters, inputs: { lr } }
        : { formulas: numbers, parameters: { ...parameters, lr } };
    },
    check: async ({ state, step }) => {
      assertNotPreparing(`${what}: a step refreshes roots by its count, so that it`, 'counts');
      if (schedule.begins(step)) await checkFailures(state, what);
      return undefined;
    },
    update: async (step) => {
      using scope = new Scope();
      const { leaves } = step;
      const params = leaves.map(({ param }) => param);
      const groups = groupsOf(
        params,
        params.map(({ shape }) => cutOf(shape, cutting)),
      );
      const modes = modesOf(groups, everyAxis);
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
      if (grafting === 'none' || step.step >= start + delay) {
        const filtered = await gathered(scope, groups, u);
        const roots = await joined(scope, modes, 'root', leaves);
        const lengths = grafting === 'none' ? undefined : await gathered(scope, groups, d);
        const results: Tensor[] = [];
        for (const [at, batch] of filtered.entries()) {
          const own = modes.flatMap(({ group }, k) => (group === at ? [roots[k] as Tensor] : []));
          const turned = await alongAxes(scope, batch, own, false);
          results.push(
            lengths === undefined ? turned : await grafted(scope, turned, lengths[at] as Tensor),
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

/** Blocks with the lengths of others. */
async function grafted(scope: Scope, x: Tensor, like: Tensor): Promise<Tensor> {
  const squares = async (of: Tensor): Promise<Tensor> => {
    const all = scope.track(await map(SQUARE, { x: of }));
    return scope.track(
      await sumTo(floats(all), [of.shape[0] ?? 0, ...of.shape.slice(1).map(() => 1)]),
    );
  };
  const sums = { own: await squares(x), wanted: await squares(like) };
  return scope.track(await map(GRAFTED, { x, ...sums }));
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
  const { lr: _lr, ...told } = given;
  return optimiserOf(ruleOf(read(given), told), readSettings(given, what));
}
