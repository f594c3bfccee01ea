import { replaced } from '@mercer/autodiff/transform';
import type { Tree } from '@mercer/autodiff';
import type { OptionNames } from '@mercer/options';
import { full, Scope, zeros, type Tensor } from '@mercer/tensor';
import { assertNotPreparing, readOptions } from '@mercer/tensor/operation';
import { checkCount, checkNumber, checkChoice } from '../checks.js';
import { checkEvaluate, checkValue, evaluated } from '../evaluated.js';
import { checkTensors, NamedState, nothingToRefresh, withOptions } from '../optimiser-of.js';
import { OptimError } from '../optim-error.js';
import {
  STEP_EXTRAS,
  type Optimiser,
  type OptimiserState,
  type StepExtras,
  type StepReport,
} from '../optimiser.js';
import { gradientsOf, parameterLeaves, type NamedLeaf } from '../tree.js';
import { inTurn } from '../turns.js';
import { FlatForm } from './flat-tensor.js';
import { History, numbersOf, vectorsOf } from './lbfgs-history.js';
import { iterate, largestOf, type LossPoint } from './lbfgs-iterations.js';

/** Options of {@link lbfgs}. */
export interface LbfgsOptions {
  /** The first step that is tried along each direction; default 1. */
  readonly lr?: number | undefined;
  /** Iterations of one call of `step`; default 20. */
  readonly maxIterations?: number | undefined;
  /** Evaluations after which a call of `step` begins no further iteration; default 5 / 4 of the iterations. */
  readonly maxEvaluations?: number | undefined;
  /** Pairs of steps and changes of the gradient that are kept; default 10. */
  readonly history?: number | undefined;
  /** A call ends where no element of the gradient is larger; default 1e-7. */
  readonly toleranceGrad?: number | undefined;
  /** A call ends where the loss, or every parameter, changes by less; default 1e-9. */
  readonly toleranceChange?: number | undefined;
  /** Default `strongWolfe`; `none` takes a step of `lr`. */
  readonly lineSearch?: 'strongWolfe' | 'none' | undefined;
  /**
   * What a step does where the loss or its gradient has NaN or infinity, at first or where it went: `skip` (default) ends at the last point where both are finite and reports it
   * in `skipped`; `throw` throws with nothing written. The last point of a call without a line search is not evaluated: there the parameters have to be finite.
   */
  readonly nonFinite?: 'skip' | 'throw' | undefined;
}

const LBFGS_OPTIONS: OptionNames<LbfgsOptions> = {
  lr: true,
  maxIterations: true,
  maxEvaluations: true,
  history: true,
  toleranceGrad: true,
  toleranceChange: true,
  lineSearch: true,
  nonFinite: true,
};

type Settings = Required<{ [K in keyof LbfgsOptions]: NonNullable<LbfgsOptions[K]> }>;

const WHAT = 'lbfgs';

/**
 * Limited-memory BFGS (Nocedal and Wright 2006, algorithm 7.4), with a line search for the strong Wolfe conditions. A call of `step` makes up to `maxIterations` iterations and
 * evaluates the loss for each: it needs `value`, the loss at the parameters, and `evaluate`, which gives loss and gradients at others. It reads these numbers,
 * and so waits for the device. The two-loop recursion is one of inner products in float64, so a direction reads each vector of the history twice.
 *
 * The state has `count` and `skips`, `numbers` (iterations, which vector is what, and the inner products of the pairs) and `vector0` to `vector<2 history + 4>`, each as long as all parameters
 * together: float64 where a parameter is, else float32. Three of the vectors are memory for the next step.
 *
 * ```ts
 * import { valueAndGrad } from '@mercer/autodiff';
 * import { lbfgs } from '@mercer/optim';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const loss = ({ w }: { w: Tensor }) => w.sub(3).square().sum();
 * const evaluate = valueAndGrad(loss);
 * const params = { w: await tensor([1, 2], { device: 'cpu' }) };
 * const { value, grad } = await evaluate(params);
 * const optimiser = lbfgs();
 * using state = await optimiser.init(params);
 * await optimiser.step(params, grad, state, { value, evaluate });
 * console.log(await params.w.toNested()); // [ 3, 3 ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; its steps OptimError MISSING_STATISTICS, NOT_FINITE, WRONG_STATE, MercerError CAPTURED, what `evaluate` throws, and what those of `sgd` throw. Parameters
 * and state are written at the end of a step, or not at all
 */
export function lbfgs(options?: LbfgsOptions): Optimiser {
  const given = readOptions(WHAT, options, LBFGS_OPTIONS);
  const maxIterations = checkCount(given.maxIterations ?? 20, WHAT, 'maxIterations');
  const settings: Settings = {
    lr: checkNumber(given.lr ?? 1, WHAT, 'lr'),
    maxIterations,
    maxEvaluations: checkCount(
      given.maxEvaluations ?? Math.ceil(maxIterations * 1.25),
      WHAT,
      'maxEvaluations',
    ),
    history: checkCount(given.history ?? 10, WHAT, 'history'),
    toleranceGrad: checkNumber(given.toleranceGrad ?? 1e-7, WHAT, 'toleranceGrad'),
    toleranceChange: checkNumber(given.toleranceChange ?? 1e-9, WHAT, 'toleranceChange'),
    lineSearch: checkChoice(given.lineSearch ?? 'strongWolfe', WHAT, 'lineSearch', [
      'strongWolfe',
      'none',
    ]),
    nonFinite: checkChoice(given.nonFinite ?? 'skip', WHAT, 'nonFinite', ['skip', 'throw']),
  };
  return withOptions(
    {
      name: WHAT,
      init: (params) => initialState(params, settings),
      step: (params, grads, state, extras) =>
        inTurn(state, WHAT, async () => {
          const given = readOptions(WHAT, extras as StepExtras | undefined, STEP_EXTRAS);
          return takeStep(settings, params as Tree, grads, state, given);
        }),
      refresh: () => Promise.reject(nothingToRefresh(WHAT)),
    },
    { ...settings },
  );
}

const vectorNames = (history: number): readonly string[] =>
  Array.from({ length: vectorsOf(history) }, (_, place) => `vector${place}`);

/** The tensors of a state, by name. */
function layoutOf(
  form: FlatForm,
  { history }: Settings,
): Readonly<Record<string, { shape: number[]; dtype: 'int32' | 'float32' | 'float64' }>> {
  const { size, dtype } = form;
  return {
    count: { shape: [], dtype: 'int32' },
    skips: { shape: [], dtype: 'int32' },
    numbers: { shape: [numbersOf(history)], dtype: 'float64' },
    ...Object.fromEntries(vectorNames(history).map((name) => [name, { shape: [size], dtype }])),
  };
}

async function initialState(params: unknown, settings: Settings): Promise<NamedState> {
  const leaves = await parameterLeaves(params, WHAT);
  const [{ tensor: first }] = leaves as readonly [NamedLeaf];
  const tensors = new Map<string, Tensor>();
  const form = new FlatForm(leaves.map(({ tensor: one }) => one));
  const { device } = first;
  try {
    for (const [name, { shape, dtype }] of Object.entries(layoutOf(form, settings))) {
      tensors.set(name, await zeros(shape, { dtype, device }));
    }
  } catch (error) {
    for (const one of tensors.values()) one.dispose();
    throw error;
  }
  return new NamedState(WHAT, tensors);
}

async function takeStep(
  settings: Settings,
  params: Tree,
  grads: unknown,
  state: OptimiserState,
  extras: StepExtras,
): Promise<StepReport> {
  assertNotPreparing(WHAT, 'reads the loss');
  const { lineSearch, maxIterations, nonFinite } = settings;
  const leaves = await parameterLeaves(params, WHAT);
  const gradients = await gradientsOf(leaves, grads, WHAT);
  const tensors = leaves.map(({ tensor: one }) => one);
  const form = new FlatForm(tensors);
  const { device } = tensors[0] as Tensor;
  const kept = checkTensors(WHAT, state, device, layoutOf(form, settings));
  const stored = (name: string): Tensor => kept.get(name) as Tensor;
  const { value, evaluate } = extras;
  const evaluates = lineSearch === 'strongWolfe' || maxIterations > 1;
  if (evaluates && (value === undefined || evaluate === undefined)) {
    throw new OptimError(
      'MISSING_STATISTICS',
      `${WHAT}: step was given no ${value === undefined ? 'value' : 'evaluate'}. Pass { value, evaluate } as the fourth argument: the loss at the parameters, and a function of parameters that gives { value, grad }.`,
    );
  }
  if (value !== undefined) checkValue(value, WHAT, device.id);
  checkEvaluate(evaluate, WHAT);
  const history = new History(settings.history, form, {
    numbers: stored('numbers'),
    vectors: vectorNames(settings.history).map(stored),
  });
  // what the caller's function may write is copied
  const flat = (all: readonly Tensor[]): Tensor | Promise<Tensor> =>
    evaluates ? form.gathered(all) : form.flat(all);
  try {
    const grad = history.owned(await flat(gradients));
    const [begin, largest] = await Promise.all([
      value === undefined ? 0 : value.item().then(Number),
      largestOf(grad),
      history.load(!evaluates),
    ]);
    let isFinite = Number.isFinite(begin) && Number.isFinite(largest);
    let said = `the loss is ${begin} and the largest element of the gradient ${largest}`;
    if (isFinite && largest > settings.toleranceGrad) {
      const start = history.owned(await flat(tensors));
      const at = async (point: Tensor): Promise<LossPoint> => {
        using scope = new Scope();
        const trial: Tensor[] = [];
        for (const [k, part] of form
          .parts(point)
          .map((one) => scope.track(one))
          .entries()) {
          const { dtype } = tensors[k] as Tensor;
          trial.push(
            scope.track(dtype === form.dtype ? part.view() : await part.cast(dtype as 'float32')),
          );
        }
        const tree = replaced(params, trial) as Tree;
        const found = await evaluated(scope, evaluate as NonNullable<typeof evaluate>, WHAT, tree);
        const given = await gradientsOf(leaves, found.grad, WHAT);
        return { value: Number(await found.value.item()), grad: await form.gathered(given) };
      };
      const end = await iterate(settings, history, start, { value: begin, grad }, at);
      isFinite = end.notFinite === undefined;
      said = end.notFinite ?? said;
      if (isFinite || nonFinite !== 'throw') {
        // first, for a gradient may be the memory of a parameter
        await history.store();
        await form.spread(end.point, tensors);
      }
    }
    if (!isFinite && nonFinite === 'throw') {
      throw new OptimError(
        'NOT_FINITE',
        `${WHAT}: ${said}. Nothing was changed. Start elsewhere, lower lr, or pass nonFinite: 'skip'.`,
      );
    }
    const counted = stored(isFinite ? 'count' : 'skips');
    await counted.copyFrom(counted.add(1));
    state.step++;
    return { skipped: await full([], isFinite ? 0 : 1, { dtype: 'int32', device }) };
  } finally {
    history.dispose();
  }
}
