import { add, div, eq, gt, lt, mul, pow, select, sqrt, sub, variable } from '@mercer/formula';
import { isTensor, map, Scope, takeAlongAxis, type Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { rateOf } from '../first-order/learning-rate.js';
import { optimiserOf, readSettings } from '../optimiser-of.js';
import type { Optimiser } from '../optimiser.js';
import type { CheckedStep, Rule, RuleRefresh, RuleStep, SlotOf, StepNumbers } from '../rule.js';
import { stateDType, updateInPlace, type DeviceNumber, type UpdatedLeaf } from '../update.js';
import { alongAxes } from './along-axes.js';
import { blockLeaves } from './block-leaves.js';
import {
  cutOf,
  emptyBatches,
  gathered,
  groupsOf,
  inBatches,
  scattered,
  type Group,
} from './blocks.js';
import { assertCapturable, byHand, REFRESHES, wasRefreshed } from './by-hand.js';
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
import { exactBasis, extentsOf, refinedBasis } from './roots.js';
import {
  readSoap,
  SOAP_OPTIONS,
  toldSoap,
  type SoapOptions,
  type SoapSettings,
} from './soap-options.js';

const what = 'soap';
const v = variable;
const t = v('t');
// the first step has the bases alone, of whose gradient the rotated one would be rounding but for a diagonal
const before = sub(t, 1);
const NUMBERS = {
  moves: select(lt(1, t), 1, 0),
  rate: div(mul(v('lr'), sqrt(sub(1, pow(v('beta2'), before)))), sub(1, pow(v('beta1'), before))),
  shrink: sub(1, mul(v('lr'), v('weightDecay'))),
};
const isTaken = gt(mul(v('ok'), v('moves')), 0);
/** The gradient, and the mean with it. */
const BEGINNING = ofGradients({
  g: v('g'),
  mean: add(mul(v('beta1'), v('m')), mul(sub(1, v('beta1')), v('g'))),
});
const MEAN = select(isTaken, v('mean'), v('last'));
const SQUARE = mul(v('g'), v('g'));
const SQUARES = select(
  isTaken,
  add(mul(v('beta2'), v('v')), mul(sub(1, v('beta2')), SQUARE)),
  v('v'),
);
const DIRECTION = { last: MEAN, v: SQUARES, d: div(v('m'), add(sqrt(SQUARES), v('eps'))) };
const MOVED = {
  p: select(gt(v('moves'), 0), mul(sub(v('p'), mul(v('rate'), v('a'))), v('shrink')), v('p')),
};
// columns of a basis that stays as it was stay where they were
const ORDER = select(
  eq(v('info'), 0),
  select(lt(0, v('extent')), v('order'), v('column')),
  v('column'),
);

/** The basis of a mode, and where its columns were before. */
interface BasisResult extends ModeResult {
  readonly order: Tensor | undefined;
}

/** Computes the bases of factors, of a snapshot that is given or in the state. */
async function computeBases(
  { delay, iterations }: SoapSettings,
  modes: readonly Mode[],
  factors: readonly Tensor[] | undefined,
  { leaves }: Pick<RuleRefresh, 'leaves'>,
  isFirst: boolean,
): Promise<Refreshed<readonly BasisResult[]>> {
  const scope = new Scope();
  try {
    const { param } = leaves[0] as UpdatedLeaf;
    const stream = streamBeside(param.device, delay);
    const all = factors ?? (await joined(scope, modes, 'pending', leaves, stream));
    const old = isFirst ? [] : await joined(scope, modes, 'basis', leaves, stream);
    const found: BasisResult[] = [];
    for (const [at, one] of all.entries()) {
      const before = old[at];
      const { vectors, infos, order } = await (before === undefined
        ? exactBasis(scope, one, stream)
        : refinedBasis(scope, one, before, iterations, stream));
      const extents = await extentsOf(scope, one, stream);
      found.push({ matrices: { basis: vectors }, infos, extents, order });
    }
    return { found, scope };
  } catch (error) {
    scope.dispose();
    throw error;
  }
}

/** Squares that are ordered as the columns of the bases now are. */
async function reordered(
  scope: Scope,
  squares: Tensor,
  axis: number,
  { order, infos, extents }: BasisResult,
): Promise<Tensor> {
  if (order === undefined) return squares;
  const [count = 0, n = 0] = order.shape;
  const [info, extent] = [infos, extents].map((one) => scope.track(one.reshape([count, 1])));
  const inputs = { order, info: info as Tensor, extent: extent as Tensor };
  const made = await map(ORDER, inputs, { indices: { column: -1 }, dtype: 'int32' });
  const shape = squares.shape.map((_, k) => (k === 0 ? count : k === axis + 1 ? n : 1));
  const columns = scope.track(scope.track(made).reshape(shape));
  return scope.track(await takeAlongAxis(squares, columns, axis + 1));
}

/** Squares of each group, (count, ..sizes), ordered as the columns of the bases now are. */
async function allReordered(
  scope: Scope,
  modes: readonly Mode[],
  squares: readonly Tensor[],
  results: readonly BasisResult[],
): Promise<readonly Tensor[]> {
  const all = [...squares];
  for (const [k, result] of results.entries()) {
    const { group, axis } = modes[k] as Mode;
    all[group] = await reordered(scope, all[group] as Tensor, axis, result);
  }
  return all;
}

/** Whether no step was taken before: the next has exact bases. */
class Beginning implements Disposable {
  readonly isFirst: boolean;

  constructor(isFirst: boolean) {
    this.isFirst = isFirst;
  }

  [Symbol.dispose](): void {
    // it owns nothing
  }

  /** The device knows how many steps were taken: it is waited for in the second call, and in those behind others that were skipped. */
  static async of({ state, step }: CheckedStep): Promise<Beginning> {
    const count = state.tensors.get('count') as Tensor;
    const isBehind = async (): Promise<boolean> => Number(await count.item()) > 0;
    return new Beginning(step === 1 || !(await hasBecome(state, isBehind)));
  }
}

function ruleOf(given: SoapSettings): Rule {
  const { rate, beta1, beta2, factorBeta, eps, weightDecay, frequency, delay, maxDim } = given;
  const isManual = frequency === 'manual';
  const schedule = everySteps(isManual ? 0 : frequency, frequency, delay);
  const cutting = { maxDim: Number.MAX_SAFE_INTEGER, mergeDim: given.mergeDim };
  const isFactored = (sizes: readonly number[], axis: number): boolean =>
    (sizes[axis] ?? 0) <= maxDim && (sizes.length > 1 || given.vectors);
  const matrices: Readonly<Record<string, 'zeros' | 'identity'>> = {
    factor: 'zeros',
    basis: 'identity',
    ...(delay > 0 && { pending: 'zeros' }),
  };

  /** Refreshes that begin and take effect in a step; what took effect. */
  const refresh = async (
    scope: Scope,
    modes: readonly Mode[],
    step: RuleStep,
  ): Promise<Refreshed<readonly BasisResult[]> | undefined> => {
    if (isManual) return undefined;
    const { state } = step;
    const take = async (from: number): Promise<Refreshed<readonly BasisResult[]>> => {
      const refreshed = await landed(state, from, () =>
        computeBases(given, modes, undefined, step, false),
      );
      try {
        note(state, await land(scope, modes, refreshed.found, step));
      } catch (error) {
        refreshed.scope.dispose();
        throw error;
      }
      return refreshed;
    };
    const { isFirst } = step.checked as Beginning;
    const due = step.step - delay;
    // while no step was taken nothing is under way
    const isDue = delay > 0 && !isFirst && due > 1 && schedule.begins(due);
    const before = isDue ? await take(due) : undefined;
    if (!isFirst && !schedule.begins(step.step)) return before;
    const isLater = delay > 0 && !isFirst;
    const factors = await snapshot(scope, modes, step, isLater);
    begin(state, step.step, () => computeBases(given, modes, factors, step, isFirst));
    return isLater ? before : take(step.step);
  };

  const partsOf = (leaves: readonly UpdatedLeaf[]) => {
    const params = leaves.map(({ param }) => param);
    const groups = groupsOf(
      params,
      params.map(({ shape }) => cutOf(shape, cutting)),
    );
    return { groups, modes: modesOf(groups, isFactored) };
  };

  return {
    name: what,
    options: toldSoap(given),
    slots: ({ tensor }) => {
      const dtype = stateDType(tensor);
      const own: SlotOf = { shape: tensor.shape, dtype };
      const cut = cutOf(tensor.shape, cutting);
      return { m: own, v: own, ...factorSlots(tensor, dtype, cut, isFactored, matrices) };
    },
    ...(isManual && {
      globals: REFRESHES,
      refreshing: byHand(what, async (scope, now) => {
        const { leaves, state } = now;
        const { groups, modes } = partsOf(leaves);
        const isFirst = !(await wasRefreshed(state));
        const factors = await snapshot(scope, modes, now, false);
        const refreshed = await computeBases(given, modes, factors, now, isFirst);
        using _own = refreshed.scope;
        const failures = await land(scope, modes, refreshed.found, now);
        if (isFirst) return failures;
        const squares = leaves.map(({ slots }) => slots['v'] as Tensor);
        const old = await gathered(scope, groups, squares);
        const next = await allReordered(scope, modes, old, refreshed.found);
        await scattered(scope, groups, next, squares);
        return failures;
      }),
    }),
    numbers: (step): StepNumbers => {
      const lr = rateOf(rate, step, what);
      const parameters = { beta1, beta2, weightDecay };
      return isTensor(lr)
        ? { formulas: NUMBERS, parameters, inputs: { lr } }
        : { formulas: NUMBERS, parameters: { ...parameters, lr } };
    },
    check: async (now) => {
      assertCapturable(what, frequency);
      if (isManual) return undefined;
      const beginning = await Beginning.of(now);
      if (beginning.isFirst || schedule.begins(now.step)) await checkFailures(now.state, what);
      return beginning;
    },
    update: async (step) => {
      using scope = new Scope();
      const { leaves } = step;
      const { groups, modes } = partsOf(leaves);
      const { device } = (leaves[0] as UpdatedLeaf).param;
      const blocks = await blockLeaves(scope, groups, leaves, ['m', 'v']);
      const [batches, means] = [0, 1].map(() => emptyBatches(scope, groups, device)) as [
        readonly Tensor[],
        readonly Tensor[],
      ];
      await fromGradients(scope, groups, blocks.leaves, step, {
        formulas: BEGINNING,
        slots: ['m'],
        parameters: { beta1 },
        decay: 0,
        out: { g: batches, mean: means },
      });
      const beta = factorBeta;
      await updateFactors(scope, modes, batches, step, { beta, share: 1 - beta });
      const refreshed = await refresh(scope, modes, step);
      using _own = refreshed?.scope;
      if (groups.length === 0) return;
      const parts = (of: readonly Tensor[]): readonly Tensor[] => inBatches(scope, groups, of);
      const slot = (name: string): readonly Tensor[] =>
        blocks.leaves.map(({ slots }) => slots[name] as Tensor);
      const [m, squares] = [slot('m'), slot('v')];
      const { ok: taken, rate: now, shrink } = step.numbers;
      const ofMoves = step.numbers['moves'] as DeviceNumber;
      const [ok, moves] = [taken, ofMoves].map((one) => forEach(blocks.leaves, one)) as [
        readonly Tensor[],
        readonly Tensor[],
      ];
      let kept = squares;
      if (refreshed !== undefined) {
        const whole = leaves.map(({ slots }) => slots['v'] as Tensor);
        const old = await gathered(scope, groups, whole);
        kept = parts(await allReordered(scope, modes, old, refreshed.found));
      }
      const bases = await joined(scope, modes, 'basis', leaves);
      const turnsOf = ({ sizes }: Group, at: number): readonly (Tensor | undefined)[] =>
        sizes.map(
          (_, axis) => bases[modes.findIndex((mode) => mode.group === at && mode.axis === axis)],
        );
      const turned = async (all: readonly Tensor[], transpose: boolean): Promise<Tensor[]> => {
        const made: Tensor[] = [];
        for (const [at, group] of groups.entries()) {
          made.push(await alongAxes(scope, all[at] as Tensor, turnsOf(group, at), { transpose }));
        }
        return made;
      };
      const [ownG, ownM] = [await turned(batches, true), await turned(means, true)];
      const d = emptyBatches(scope, groups, device);
      await map(
        DIRECTION,
        { g: parts(ownG), m: parts(ownM), mean: parts(means), last: m, v: kept, ok, moves },
        { out: { last: m, v: squares, d: parts(d) }, parameters: { beta2, eps } },
      );
      await updateInPlace({
        leaves: withSlots(blocks.leaves, []),
        formulas: MOVED,
        lists: { a: parts(await turned(d, false)) },
        numbers: {
          ok: taken,
          moves: ofMoves,
          rate: now as DeviceNumber,
          shrink: shrink as DeviceNumber,
        },
      });
      await blocks.finish();
    },
  };
}

/**
 * SOAP (Vyas et al. 2024): Adam in the eigenbases of Shampoo's factors. Along each axis the gradient is rotated by the eigenvectors Q of L, the mean of its products with
 * itself; squares are kept there, and `p = (p - lr sqrt(1 - beta2^t) / (1 - beta1^t) Q (m / (sqrt(v) + eps))) (1 - lr weightDecay)`, t the count of steps behind the first.
 *
 * The first step that is taken moves nothing: it has exact eigenvectors, of its own gradient, in which that gradient is diagonal and the rest of it rounding. Then QR iterations follow the factors every `frequency` steps, columns in the order of falling
 * eigenvalues, and the squares with them. The mean of gradients is kept unrotated, so that it needs no rotation when the bases change. A refresh comes before the step's squares are added.
 *
 * Parameters of one axis, and axes longer than `maxDim`, are not rotated; axes of extent 1 count as none. A refresh that begins in step t takes effect in step t + `delay`, which waits for it if it
 * is late: a run repeats bit for bit. Where a basis cannot be computed the old one stays; `<path>/failures0.1` counts how often in a row (along axis 1), and after four times a refresh throws.
 *
 * ```ts
 * import { soap } from '@mercer/optim';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const params = { w: await tensor([[1, 2], [3, 4]], where) };
 * const optimiser = soap({ lr: 0.5, weightDecay: 0 });
 * using state = await optimiser.init(params);
 * const grads = { w: await tensor([[1, 0], [0, -4]], where) };
 * for (let step = 0; step < 2; step++) await optimiser.step(params, grads, state);
 * console.log((await params.w.toNested<number[][]>()).map((row) => row.map((x) => x.toFixed(3)))); // [ [ '0.500', '2.000' ], [ '3.000', '4.500' ] ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; its steps as those of `sgd`, and OptimError NO_PRECONDITIONER
 */
export function soap(options?: SoapOptions): Optimiser {
  const given = readOptions(what, options, SOAP_OPTIONS);
  return optimiserOf(ruleOf(readSoap(given)), readSettings(given, what));
}
