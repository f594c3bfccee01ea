import type { Tree } from '@mercer/autodiff';
import { leavesOf } from '@mercer/autodiff/transform';
import { abs, add, div, eq, le, select, sub, variable } from '@mercer/formula';
import { solveCholesky } from '@mercer/linalg';
import type { OptionNames } from '@mercer/options';
import { cg, operator } from '@mercer/solvers';
import { isTensor, map, MercerError, Scope, type Tensor } from '@mercer/tensor';
import { assertNotPreparing, readOptions } from '@mercer/tensor/operation';
import { checkCount, checkNumber, checkFraction, checkChoice } from '../checks.js';
import {
  checkLearningRate,
  rateOf,
  toldRate,
  type LearningRate,
} from '../first-order/learning-rate.js';
import { OptimError } from '../optim-error.js';
import { COMMON_OPTIONS, optimiserOf, readSettings, type CommonOptions } from '../optimiser-of.js';
import type { Optimiser, PerSample } from '../optimiser.js';
import type { CheckedStep, Rule, RuleStep, StepNumbers, SteppedLeaf } from '../rule.js';
import { stateDType, updateInPlace, type DeviceNumber } from '../update.js';
import { floats, productOf } from './along-axes.js';
import { copyAll } from './blocks.js';
import { ownGradients, withSlots } from './gradients.js';
import { jacobianOf, systemDType, totalOf } from './example-gradients.js';
import { innerProduct, shortening } from './shortened.js';
import { MOVED, MOVED_ON } from './moves.js';

/** Options of {@link naturalGradient}. */
export interface NaturalGradientOptions extends CommonOptions {
  /** Default 1e-2. */
  readonly lr?: LearningRate | undefined;
  /** What is added to the Fisher matrix, more than 0; default 1e-3. */
  readonly damping?: number | undefined;
  /** `empirical` (default): from gradients with the data's labels, `perSample` of a step; `true`: with labels that are drawn from the model, `modelPerSample`. */
  readonly fisher?: 'empirical' | 'true' | undefined;
  /** `dense` (default): a Cholesky factor of order N or P, whichever is smaller; `cg`: conjugate gradients, which wait for the device. */
  readonly solver?: 'dense' | 'cg' | undefined;
  /** Of `cg`; default: its own. */
  readonly rtol?: number | undefined;
  /** Of `cg`; default: its own. */
  readonly maxIterations?: number | undefined;
  /** The most that `lr² ∇·u` may be, u being the step: it is shortened where it is more. Default: no limit. */
  readonly normConstraint?: number | undefined;
  /** Of the steps; default 0. */
  readonly momentum?: number | undefined;
  /** Adds this times the parameter to the gradient; default 0. */
  readonly weightDecay?: number | undefined;
}

const NATURAL_GRADIENT_OPTIONS: OptionNames<NaturalGradientOptions> = {
  ...COMMON_OPTIONS,
  lr: true,
  damping: true,
  fisher: true,
  solver: true,
  rtol: true,
  maxIterations: true,
  normConstraint: true,
  momentum: true,
  weightDecay: true,
};

const what = 'naturalGradient';
const v = variable;
const NUMBERS = { rate: v('lr') };
const ON_DIAGONAL = { row: -2, column: -1 };
const DAMPED = add(v('x'), select(eq(v('row'), v('column')), v('c'), 0));
const LEFT = div(sub(v('g'), v('y')), v('damping'));
const BAD = select(le(abs(v('x')), Number.MAX_VALUE), 0, 1);
const TAKEN = select(eq(v('bad'), 0), v('ok'), 0);
const FAILURES = select(eq(v('bad'), 0), 0, add(v('failures'), 1));
// where nothing is solved a step is 0 and not NaN
const FINITE = select(le(abs(v('x')), Number.MAX_VALUE), v('x'), 0);

interface Read {
  readonly rate: LearningRate;
  readonly damping: number;
  readonly extra: 'perSample' | 'modelPerSample';
  readonly isDense: boolean;
  readonly iterations: { readonly rtol?: number; readonly maxIterations?: number };
  readonly normConstraint: number | undefined;
  readonly momentum: number;
  readonly weightDecay: number;
}

function read(given: NaturalGradientOptions): Read {
  const positive = (name: 'damping' | 'normConstraint' | 'rtol', value: number): number => {
    if (checkNumber(value, what, name) > 0) return value;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${name} is 0. Pass a number that is more than 0.`,
    );
  };
  const { rtol, maxIterations, normConstraint } = given;
  const solver = checkChoice(given.solver ?? 'dense', what, 'solver', ['dense', 'cg']);
  if (solver === 'dense' && (rtol !== undefined || maxIterations !== undefined)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: rtol and maxIterations are of solver 'cg', and it is 'dense'. Leave them away, or pass solver: 'cg'.`,
    );
  }
  const fisher = checkChoice(given.fisher ?? 'empirical', what, 'fisher', ['empirical', 'true']);
  return {
    rate: checkLearningRate(given.lr ?? 1e-2, what),
    damping: positive('damping', given.damping ?? 1e-3),
    extra: fisher === 'true' ? 'modelPerSample' : 'perSample',
    isDense: solver === 'dense',
    iterations: {
      ...(rtol !== undefined && { rtol: positive('rtol', rtol) }),
      ...(maxIterations !== undefined && {
        maxIterations: checkCount(maxIterations, what, 'maxIterations'),
      }),
    },
    normConstraint:
      normConstraint === undefined ? undefined : positive('normConstraint', normConstraint),
    momentum: checkFraction(given.momentum ?? 0, what, 'momentum'),
    weightDecay: checkNumber(given.weightDecay ?? 0, what, 'weightDecay'),
  };
}

/** What gradients of examples come with. @throws OptimError MISSING_STATISTICS */
function perSampleOf(extras: RuleStep['extras'], extra: Read['extra']): PerSample {
  const given = extras[extra];
  if (given !== undefined) return given;
  throw new OptimError(
    'MISSING_STATISTICS',
    `${what}: a step needs the gradient of each example${extra === 'perSample' ? '' : ', with labels that are drawn from the model'}, and none were passed. Pass step(params, grads, state, { ${extra} }), such as what perSampleGradients() gives.`,
  );
}

/** (damping I + JᵀJ / N)⁻¹ g for a column g. */
async function solved(
  scope: Scope,
  j: Tensor,
  g: Tensor,
  { damping, isDense, iterations }: Read,
): Promise<Tensor> {
  const [count = 0, total = 0] = j.shape;
  if (count === 0 || total === 0) return scope.track(await g.div(damping));
  const solve = async (system: Tensor, c: number, side: Tensor): Promise<Tensor> => {
    const parameters = { c };
    const a = scope.track(await map(DAMPED, { x: system }, { parameters, indices: ON_DIAGONAL }));
    const { x, infos } = await solveCholesky(floats(a), floats(side));
    scope.track(infos);
    return scope.track(x);
  };
  if (!isDense) {
    const share = 1 / count;
    const fisher = operator({
      shape: [total, total],
      dtype: j.dtype as 'float64',
      device: j.device,
      matvec: async (x) => {
        using inner = new Scope();
        const half = await productOf(inner, j, x);
        const whole = await productOf(inner, j, half, { transposeA: true, alpha: share });
        return await whole.add(x.mul(damping));
      },
      rmatvec: 'symmetric',
    });
    const { x } = await cg(fisher, floats(g), iterations);
    return scope.track(x);
  }
  if (count >= total) {
    const system = await productOf(scope, j, j, { transposeA: true, alpha: 1 / count });
    return solve(system, damping, g);
  }
  // the identity of Woodbury: a system of the examples
  const system = await productOf(scope, j, j, { transposeB: true });
  const side = await productOf(scope, j, g);
  const inner = await solve(system, damping * count, side);
  const y = await productOf(scope, j, inner, { transposeA: true });
  return scope.track(await map(LEFT, { g, y }, { parameters: { damping } }));
}

/** Gradients of the examples of a step, as a matrix. */
class Examples implements Disposable {
  readonly scope = new Scope();
  j!: Tensor;

  [Symbol.dispose](): void {
    this.scope.dispose();
  }

  /** Calls the function that gives them, where one does. */
  async find(now: CheckedStep, extra: Read['extra']): Promise<void> {
    const per = perSampleOf(now.extras, extra);
    const isMade = typeof per === 'function';
    const tree = isMade
      ? await (per as (params: Tree) => PromiseLike<Tree>)(now.params as Tree)
      : (per as Tree);
    if (isMade) {
      for (const { value } of await leavesOf(tree, extra, 'Give a tensor or a tree of tensors')) {
        this.scope.track(value);
      }
    }
    this.j = await jacobianOf(this.scope, now, tree, extra);
  }
}

/** All options, as they are named. */
const optionsOf = ({ rate, extra, isDense, iterations, ...others }: Read) => ({
  ...others,
  ...iterations,
  lr: toldRate(rate),
  fisher: extra === 'perSample' ? 'empirical' : 'true',
  solver: isDense ? 'dense' : 'cg',
});

function ruleOf(given: Read): Rule {
  const { rate, extra, isDense, momentum, weightDecay, normConstraint } = given;
  return {
    name: what,
    options: optionsOf(given),
    refusesScale:
      'has its curvature from gradients of examples, which are of the loss itself and not of a scaled one',
    globals: { failures: { shape: [], dtype: 'int32', value: 0 } },
    slots: ({ tensor }) =>
      momentum > 0 ? { m: { shape: tensor.shape, dtype: stateDType(tensor) } } : {},
    numbers: (count): StepNumbers => {
      const lr = rateOf(rate, count, what);
      return isTensor(lr)
        ? { formulas: NUMBERS, parameters: {}, inputs: { lr } }
        : { formulas: NUMBERS, parameters: { lr } };
    },
    check: async (now) => {
      if (!isDense) assertNotPreparing(`${what}: with solver: 'cg' a step`);
      const examples = new Examples();
      try {
        await examples.find(now, extra);
        return examples;
      } catch (error) {
        examples[Symbol.dispose]();
        throw error;
      }
    },
    update: async (now) => {
      using scope = new Scope();
      const { leaves, state } = now;
      const { j } = now.checked as Examples;
      const dtype = systemDType(leaves);
      const { device } = (leaves[0] as SteppedLeaf).param;
      const total = totalOf(leaves);
      const g = await ownGradients(scope, now, weightDecay);
      const column = scope.empty([total, 1], { dtype, device });
      const partsOf = (whole: Tensor): readonly Tensor[] => {
        let at = 0;
        return g.map(({ shape, size }) => {
          const part = scope.track(whole.slice([at, (at += size)]));
          return scope.track(part.reshape(shape));
        });
      };
      await copyAll(g, partsOf(column));
      const x = await solved(scope, j, column, given);
      const bads = scope.track(await map(BAD, { x }, { dtype: 'uint8' }));
      const bad = scope.track(await bads.sum());
      const failures = state.tensors.get('failures') as Tensor;
      await map(FAILURES, { bad, failures }, { out: failures });
      const taken = async (of: Tensor | undefined): Promise<Tensor | undefined> =>
        of && scope.track(await map(TAKEN, { bad, ok: of }, { dtype: of.dtype as 'float64' }));
      const { ok, rate: lr } = now.numbers as Readonly<Record<'ok' | 'rate', DeviceNumber>>;
      const finite = scope.track(await map(FINITE, { x }));
      const u = partsOf(finite);
      const product = await innerProduct(scope, g, u, device);
      await updateInPlace({
        leaves: withSlots(leaves, ['m']),
        formulas: momentum > 0 ? MOVED_ON : MOVED,
        lists: { u },
        numbers: {
          ok: { float32: await taken(ok.float32), float64: await taken(ok.float64) },
          rate: lr,
          nu: await shortening(scope, now, product, normConstraint),
        },
        parameters: momentum > 0 ? { momentum } : {},
      });
    },
  };
}

/**
 * The natural gradient (Amari 1998): p = p - lr (damping I + F)⁻¹ ∇, F = JᵀJ / N being the Fisher matrix of N examples, and the rows of J the gradients of their losses. With
 * the data's labels F is the empirical one, with labels that are drawn from the model an estimate of the true one.
 *
 * With fewer examples than parameters the system has their order: `(∇ - Jᵀ (damping N I + J Jᵀ)⁻¹ J ∇) / damping`, which loses digits to cancellation as the damping
 * falls. Where the system has no solution, as where a gradient of an example is not finite, parameters and momentum stay as they are, and the state `failures` counts
 * how often in a row.
 *
 * ```ts
 * import { naturalGradient } from '@mercer/optim';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu', dtype: 'float64' } as const;
 * const params = { w: await tensor([1, 1], where) };
 * const perSample = { w: await tensor([[2, 0], [0, 4]], where) }; // of two examples
 * const optimiser = naturalGradient({ lr: 1, damping: 1e-6 });
 * using state = await optimiser.init(params);
 * await optimiser.step(params, { w: await tensor([1, 2], where) }, state, { perSample });
 * console.log((await params.w.toNested<number[]>()).map((x) => x.toFixed(3))); // [ '0.500', '0.750' ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; its steps as those of `sgd`, and OptimError MISSING_STATISTICS; with `cg` what it throws
 */
export function naturalGradient(options?: NaturalGradientOptions): Optimiser {
  const given = readOptions(what, options, NATURAL_GRADIENT_OPTIONS);
  return optimiserOf(ruleOf(read(given)), readSettings(given, what));
}
