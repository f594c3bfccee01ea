import { replaced } from '@mercer/autodiff/transform';
import type { Tree } from '@mercer/autodiff';
import { add, mul, neg, sub, variable } from '@mercer/formula';
import type { OptionNames } from '@mercer/options';
import { full, map, Scope, tensor, zeros, type Tensor } from '@mercer/tensor';
import { assertNotPreparing, readOptions } from '@mercer/tensor/operation';
import { checkCount, checkNumber, checkChoice } from '../checks.js';
import { evaluated } from '../evaluated.js';
import { checkTensors, NamedState, withOptions } from '../optimiser-of.js';
import { OptimError } from '../optim-error.js';
import type { Optimiser, OptimiserState, StepExtras, StepReport } from '../optimiser.js';
import { gradientsOf, parameterLeaves, type NamedLeaf } from '../tree.js';
import { FlatForm } from './flat-tensor.js';
import { strongWolfe, type LinePoint } from './strong-wolfe.js';

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
/** A pair is kept where its curvature is larger. */
const LEAST_CURVATURE = 1e-10;

const [x, d, t, y, a] = [variable('x'), variable('d'), variable('t'), variable('y'), variable('a')];
const ALONG = add(x, mul(t, d));
const LESS = sub(x, mul(a, y));
const TIMES = mul(a, x);
const NEGATIVE = neg(x);
const DIFFERENCE = sub(x, y);

/** The numbers of a new state. */
const FIRST_NUMBERS = [0, 0, 0, 1];

/** Two vectors, and the inverse of their product. */
interface Pair {
  readonly step: Tensor;
  readonly change: Tensor;
  readonly rho: number;
}

/** Numbers of a state beside its vectors, in the order of the tensor `numbers`. */
interface Numbers {
  iterations: number;
  /** Pairs that were ever kept. */
  pairs: number;
  t: number;
  /** The first guess of the inverse Hessian is this times the identity: 1 until a pair is kept. */
  scale: number;
}

/**
 * Limited-memory BFGS (Nocedal and Wright 2006, algorithm 7.4), with a line search for the strong Wolfe conditions. A call of `step` makes up to `maxIterations` iterations and
 * evaluates the loss for each: it needs `value`, the loss at the parameters, and `evaluate`, which gives loss and gradients at others. It reads these numbers,
 * and so waits for the device. Vectors of the history lie flat, and the two-loop recursion runs on the device.
 *
 * ```ts
 * import { valueAndGrad } from '@mercer/autodiff';
 * import { lbfgs } from '@mercer/optim';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const loss = ({ w }: { w: Tensor }) => w.sub(3).square().sum();
 * const evaluate = valueAndGrad(loss) as never;
 * const params = { w: await tensor([1, 2], { device: 'cpu' }) };
 * const { value, grad } = await valueAndGrad(loss)(params);
 * const optimiser = lbfgs();
 * using state = await optimiser.init(params);
 * await optimiser.step(params, grad, state, { value: value as Tensor, evaluate });
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
      step: (params, grads, state, extras = {}) => takeStep(settings, params, grads, state, extras),
    },
    { ...settings },
  );
}

/** The tensors of a state, by name. */
function layoutOf(
  form: FlatForm,
  { history }: Settings,
): Readonly<Record<string, { shape: number[]; dtype: 'int32' | 'float32' | 'float64' }>> {
  const { size, dtype } = form;
  return {
    count: { shape: [], dtype: 'int32' },
    skips: { shape: [], dtype: 'int32' },
    numbers: { shape: [4], dtype: 'float64' },
    inverses: { shape: [history], dtype: 'float64' },
    direction: { shape: [size], dtype },
    gradient: { shape: [size], dtype },
    steps: { shape: [history, size], dtype },
    changes: { shape: [history, size], dtype },
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
      const isNumbers = name === 'numbers';
      const begin = isNumbers ? tensor(FIRST_NUMBERS, { dtype, device }) : undefined;
      tensors.set(name, await (begin ?? zeros(shape, { dtype, device })));
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
  const run = new Iterations(settings, form, device);
  try {
    const grad = run.owned(await form.gathered(gradients));
    const begin = value === undefined ? 0 : Number(await value.item());
    const largest = await run.largest(grad);
    let isFinite = Number.isFinite(begin) && Number.isFinite(largest);
    let said = `the loss is ${begin} and the largest element of the gradient ${largest}`;
    if (isFinite && largest > settings.toleranceGrad) {
      await run.load(stored);
      const start = run.owned(await form.gathered(tensors));
      const at = async (point: Tensor): Promise<{ value: number; grad: Tensor }> => {
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
        const found = await evaluated(scope, evaluate as NonNullable<typeof evaluate>, tree);
        const given = await gradientsOf(leaves, found.grad, WHAT);
        return { value: Number(await found.value.item()), grad: await form.gathered(given) };
      };
      const end = await run.from(start, grad, begin, at);
      isFinite = end.notFinite === undefined;
      said = end.notFinite ?? said;
      if (isFinite || nonFinite !== 'throw') {
        await form.spread(end.point, tensors);
        await run.store(stored);
      }
    }
    if (!isFinite && nonFinite === 'throw') {
      throw new OptimError(
        'NOT_FINITE',
        `${WHAT}: ${said}. Nothing was changed. Start elsewhere, lower lr, or pass nonFinite: 'skip'.`,
      );
    }
    const counted = stored(isFinite ? 'count' : 'skips');
    using more = await counted.add(1);
    await counted.copyFrom(more);
    state.step++;
    return { skipped: await full([], isFinite ? 0 : 1, { dtype: 'int32', device }) };
  } finally {
    run.dispose();
  }
}

/** The iterations of one call, with the vectors that they make. */
class Iterations {
  readonly #settings: Settings;
  readonly #form: FlatForm;
  readonly #device: Tensor['device'];
  readonly #owned = new Set<Tensor>();
  readonly #pairs: Pair[] = [];
  readonly #made: Pair[] = [];
  #numbers: Numbers = { iterations: 0, pairs: 0, t: 0, scale: 1 };
  #direction: Tensor | undefined;
  #gradient: Tensor | undefined;

  constructor(settings: Settings, form: FlatForm, device: Tensor['device']) {
    this.#settings = settings;
    this.#form = form;
    this.#device = device;
  }

  owned(one: Tensor): Tensor {
    this.#owned.add(one);
    return one;
  }

  dispose(): void {
    for (const one of this.#owned) one.dispose();
  }

  /** Reads what the last call left. */
  async load(stored: (name: string) => Tensor): Promise<void> {
    const { history } = this.#settings;
    const [numbers, inverses] = await Promise.all([
      stored('numbers').toTypedArray() as Promise<Float64Array>,
      stored('inverses').toTypedArray() as Promise<Float64Array>,
    ]);
    const [iterations = 0, pairs = 0, t = 0, scale = 1] = numbers;
    // states of older files begin with 0
    this.#numbers = { iterations, pairs, t, scale: scale === 0 ? 1 : scale };
    for (let k = Math.max(0, pairs - history); k < pairs; k++) {
      const row = k % history;
      this.#pairs.push({
        step: this.owned(stored('steps').slice(row)),
        change: this.owned(stored('changes').slice(row)),
        rho: inverses[row] ?? NaN,
      });
    }
    this.#direction = this.owned(stored('direction').view());
    this.#gradient = this.owned(stored('gradient').view());
  }

  /** Leaves them for the next. */
  async store(stored: (name: string) => Tensor): Promise<void> {
    const { history } = this.#settings;
    const { iterations, pairs, t, scale } = this.#numbers;
    const inverses = new Float64Array(history);
    for (const [k, { rho }] of this.#pairs.entries()) {
      inverses[(pairs - this.#pairs.length + k) % history] = rho;
    }
    const made = this.#made.slice(-history);
    for (const [k, { step, change }] of made.entries()) {
      const row = (pairs - made.length + k) % history;
      using steps = stored('steps').slice(row);
      using changes = stored('changes').slice(row);
      await steps.copyFrom(step);
      await changes.copyFrom(change);
    }
    const where = { device: this.#device, dtype: 'float64' } as const;
    using numbers = await tensor([iterations, pairs, t, scale], where);
    using all = await tensor(inverses, where);
    await stored('numbers').copyFrom(numbers);
    await stored('inverses').copyFrom(all);
    if (this.#direction) await stored('direction').copyFrom(this.#direction);
    if (this.#gradient) await stored('gradient').copyFrom(this.#gradient);
  }

  async dot(one: Tensor, other: Tensor): Promise<number> {
    using product = await map(mul(x, y), { x: one, y: other }, { dtype: 'float64' });
    using sum = await product.sum();
    return await sum.item();
  }

  async largest(one: Tensor): Promise<number> {
    if (one.size === 0) return 0;
    using most = await one.abs().max();
    return Number(await most.item());
  }

  /** The sum of the sizes of elements. */
  async taxicab(one: Tensor): Promise<number> {
    using sum = await one.abs().sum();
    return Number(await sum.item());
  }

  /** The direction of a gradient: the two-loop recursion, with coefficients that stay on the device. */
  async #downhill(grad: Tensor): Promise<Tensor> {
    const { dtype } = this.#form;
    const r = this.owned(await map(NEGATIVE, { x: grad }, { dtype }));
    const factors: Tensor[] = [];
    for (const { step, change, rho } of this.#pairs.toReversed()) {
      using product = await map(mul(x, y), { x: step, y: r }, { dtype: 'float64' });
      using sum = await product.sum();
      const factor = this.owned(
        await map(TIMES, { x: sum }, { parameters: { a: rho }, dtype: 'float64' }),
      );
      factors.push(factor);
      await map(LESS, { x: r, y: change, a: factor }, { out: r });
    }
    await map(TIMES, { x: r }, { out: r, parameters: { a: this.#numbers.scale } });
    for (const { step, change, rho } of this.#pairs) {
      using product = await map(mul(x, y), { x: change, y: r }, { dtype: 'float64' });
      using sum = await product.sum();
      using less = await map(
        sub(mul(variable('rho'), x), y),
        { x: sum, y: factors.pop() as Tensor },
        { parameters: { rho }, dtype: 'float64' },
      );
      await map(LESS, { x: r, y: step, a: less }, { out: r });
    }
    return r;
  }

  /** Keeps the last step and what it did to the gradient, where the loss is convex along it. */
  async #remember(grad: Tensor): Promise<void> {
    const { dtype } = this.#form;
    const { history } = this.#settings;
    const change = this.owned(
      await map(DIFFERENCE, { x: grad, y: this.#gradient as Tensor }, { dtype }),
    );
    const step = this.owned(
      await map(
        TIMES,
        { x: this.#direction as Tensor },
        { parameters: { a: this.#numbers.t }, dtype },
      ),
    );
    const curvature = await this.dot(change, step);
    if (!(curvature > LEAST_CURVATURE)) return;
    const pair = { step, change, rho: 1 / curvature };
    this.#pairs.push(pair);
    this.#made.push(pair);
    if (this.#pairs.length > history) this.#pairs.shift();
    this.#numbers.pairs++;
    this.#numbers.scale = curvature / (await this.dot(change, change));
  }

  /** Iterates from a point, where loss and gradient are finite. @returns where it ends, and what was not finite behind it */
  async from(
    start: Tensor,
    first: Tensor,
    value: number,
    evaluate: (point: Tensor) => Promise<{ value: number; grad: Tensor }>,
  ): Promise<{ readonly point: Tensor; readonly notFinite?: string }> {
    const { lr, maxIterations, maxEvaluations, toleranceGrad, toleranceChange, lineSearch } =
      this.#settings;
    const numbers = this.#numbers;
    const { dtype } = this.#form;
    let [point, grad, loss] = [start, first, value];
    let evaluations = 1;
    for (let iteration = 1; ; iteration++) {
      numbers.iterations++;
      const isFirst = numbers.iterations === 1;
      if (!isFirst) await this.#remember(grad);
      const direction = isFirst
        ? this.owned(await map(NEGATIVE, { x: grad }, { dtype }))
        : await this.#downhill(grad);
      this.#direction = direction;
      this.#gradient = grad;
      numbers.t = isFirst ? Math.min(1, 1 / (await this.taxicab(grad))) * lr : lr;
      const slope = await this.dot(grad, direction);
      if (!(slope <= -toleranceChange)) return { point };
      const from = point;
      /** The iteration was none: the next call begins with the same one. */
      const back = (notFinite: string): { point: Tensor; notFinite: string } => {
        numbers.t = 0;
        numbers.iterations--;
        return { point: from, notFinite };
      };
      const moved = async (t: number): Promise<Tensor> =>
        map(ALONG, { x: from, d: direction }, { parameters: { t }, dtype });
      const at = async (t: number): Promise<LinePoint> => {
        using to = await moved(t);
        const found = await evaluate(to);
        // the search disposes of them at once, and run.dispose where it could not
        this.owned(found.grad);
        return { t, ...found, slope: await this.dot(found.grad, direction) };
      };
      const before = loss;
      const size = await this.largest(direction);
      const isLast = iteration === maxIterations;
      if (lineSearch === 'strongWolfe') {
        const searched = await strongWolfe({
          at,
          start: { t: 0, value: loss, slope, grad },
          t: numbers.t,
          size,
          toleranceChange,
        });
        evaluations += searched.evaluations;
        numbers.t = searched.point.t;
        loss = searched.point.value;
        grad = this.owned(searched.point.grad);
      }
      point = this.owned(await moved(numbers.t));
      if (lineSearch === 'none' && !isLast) {
        const found = await evaluate(point);
        evaluations++;
        loss = found.value;
        grad = this.owned(found.grad);
      }
      if (lineSearch === 'none' && isLast) {
        const far = await this.largest(point);
        return Number.isFinite(far) ? { point } : back(`a step of ${numbers.t} is infinite`);
      }
      const largest = await this.largest(grad);
      if (!Number.isFinite(loss) || !Number.isFinite(largest)) {
        return back(
          `the loss is ${loss} and the largest element of the gradient ${largest} after a step of ${numbers.t}`,
        );
      }
      if (isLast || evaluations >= maxEvaluations || largest <= toleranceGrad) return { point };
      if (size * numbers.t <= toleranceChange || Math.abs(loss - before) < toleranceChange)
        return { point };
    }
  }
}
