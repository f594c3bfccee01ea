import { add, mul, neg, sub, variable } from '@mercer/formula';
import { map, tensor, type Tensor } from '@mercer/tensor';
import type { FlatForm } from './flat-tensor.js';
import { strongWolfe, type LinePoint } from './strong-wolfe.js';

/** What the iterations take of the options. */
export interface IterationSettings {
  readonly lr: number;
  readonly maxIterations: number;
  readonly maxEvaluations: number;
  readonly history: number;
  readonly toleranceGrad: number;
  readonly toleranceChange: number;
  readonly lineSearch: 'strongWolfe' | 'none';
}

/** A pair is kept where its curvature is larger. */
const LEAST_CURVATURE = 1e-10;

const [x, d, t, y, a] = [variable('x'), variable('d'), variable('t'), variable('y'), variable('a')];
const ALONG = add(x, mul(t, d));
const LESS = sub(x, mul(a, y));
const TIMES = mul(a, x);
const NEGATIVE = neg(x);
const DIFFERENCE = sub(x, y);

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

/** The iterations of one call, with the vectors that they make. */
export class Iterations {
  readonly #settings: IterationSettings;
  readonly #form: FlatForm;
  readonly #device: Tensor['device'];
  readonly #owned = new Set<Tensor>();
  readonly #pairs: Pair[] = [];
  readonly #made: Pair[] = [];
  #numbers: Numbers = { iterations: 0, pairs: 0, t: 0, scale: 1 };
  #direction: Tensor | undefined;
  #gradient: Tensor | undefined;

  constructor(settings: IterationSettings, form: FlatForm, device: Tensor['device']) {
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
