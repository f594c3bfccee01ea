import { add, mul, neg, variable } from '@mercer/formula';
import { map, tensor, type Tensor } from '@mercer/tensor';
import { sums } from '@mercer/tensor/operation';
import type { FlatForm } from './flat-tensor.js';
import { MOST_PAIRS, pairFormulas, pairParameters, pairVectors } from './lbfgs-formulas.js';
import {
  downhill,
  forgetOldest,
  slopeOf,
  type Combination,
  type Pair,
  type PairNumbers,
} from './lbfgs-pairs.js';
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

const [x, y, d, t] = [variable('x'), variable('y'), variable('d'), variable('t')];
const ALONG = add(x, mul(t, d));
const NEGATIVE = neg(x);
const PRODUCT = [mul(x, y)];

/** A vector of the history: a row of the state, or memory of the call that is copied to one. */
interface Vector {
  readonly tensor: Tensor;
  readonly row: number | undefined;
}

/** Inner products of the vectors of a pair with the gradient, and with its last change. */
interface PairProducts {
  readonly withGradient: PairNumbers;
  readonly withChange: PairNumbers;
}

/** Rows of the state's vectors: those of the pairs, the last direction and its gradient, and as many as a step without evaluations makes. */
export const rowsOf = (history: number): number => 2 * history + 5;

/** Numbers of a state before those of its pairs. */
const OWN_NUMBERS = 5;
/** Numbers of each pair: `t` and its rows. */
const PAIR_NUMBERS = 3;

/**
 * Numbers of a state: iterations, the last `t`, pairs, the rows of the last direction and its gradient; of each pair, the oldest first, `t`, the rows of its direction and its change; then the
 * inner products of the changes (rows) with the steps, and those with the changes, as matrices (history, history) whose upper triangles are 0.
 */
export const numbersOf = (history: number): number =>
  OWN_NUMBERS + PAIR_NUMBERS * history + 2 * history * history;

/** The tensors of a state that hold what calls leave to the next. */
export interface StoredHistory {
  /** float64 ({@link numbersOf}) */
  readonly numbers: Tensor;
  /** ({@link rowsOf}, elements); a row that no number names means nothing */
  readonly vectors: Tensor;
}

const tensorsOf = ({
  direction,
  change,
}: Pair<Vector>): { readonly direction: Tensor; readonly change: Tensor } => ({
  direction: direction.tensor,
  change: change.tensor,
});

/** The iterations of one call, with the vectors that they make. */
export class Iterations {
  readonly #settings: IterationSettings;
  readonly #form: FlatForm;
  readonly #stored: StoredHistory;
  readonly #owned = new Set<Tensor>();
  /** Rows that a call may write before it ends, since nothing but the device makes it fail. */
  readonly #free: number[] = [];
  readonly #pairs: Pair<Vector>[] = [];
  readonly #perLaunch: number;
  #iterations = 0;
  #t = 0;
  #direction: Vector | undefined;
  #gradient: Vector | undefined;

  constructor(settings: IterationSettings, form: FlatForm, stored: StoredHistory) {
    this.#settings = settings;
    this.#form = form;
    this.#stored = stored;
    this.#perLaunch = Math.min(MOST_PAIRS, Math.max(1, settings.history - 1));
  }

  owned<T extends Tensor | undefined>(one: T): T {
    if (one !== undefined) this.#owned.add(one);
    return one;
  }

  #disposed(one: Tensor): void {
    one.dispose();
    this.#owned.delete(one);
  }

  dispose(): void {
    for (const one of this.#owned) one.dispose();
  }

  #row(row: number): Vector {
    return { tensor: this.owned(this.#stored.vectors.slice(row)), row };
  }

  /** Memory for a vector. */
  #taken(): Vector {
    const row = this.#free.pop();
    return row === undefined ? { tensor: this.owned(this.#form.empty()), row } : this.#row(row);
  }

  /** Gives up memory of this call. */
  #dropped({ tensor: one, row }: Vector): void {
    if (row === undefined) this.#disposed(one);
  }

  /** Reads what the last call left. @param evaluates whether the caller's function, which may throw, is called before the state is written */
  async load(evaluates: boolean): Promise<void> {
    const { history } = this.#settings;
    const numbers = Array.from((await this.#stored.numbers.toTypedArray()) as Float64Array);
    const [iterations = 0, t = 0, pairs = 0, direction = 0, gradient = 0] = numbers;
    this.#iterations = iterations;
    this.#t = t;
    const products = OWN_NUMBERS + PAIR_NUMBERS * history;
    for (let k = 0; k < pairs; k++) {
      const at = OWN_NUMBERS + PAIR_NUMBERS * k;
      const [of = 0, step = 0, change = 0] = numbers.slice(at, at + PAIR_NUMBERS);
      const line = (from: number): number[] =>
        numbers.slice(from + history * k, from + history * k + k + 1);
      this.#pairs.push({
        direction: this.#row(step),
        t: of,
        change: this.#row(change),
        withDirections: line(products),
        withChanges: line(products + history * history),
      });
    }
    if (iterations > 0) {
      this.#direction = this.#row(direction);
      this.#gradient = this.#row(gradient);
    }
    if (!evaluates) this.#free.push(...this.#unused());
  }

  /** What the next call reads. */
  #kept(): readonly Vector[] {
    const last = [this.#direction, this.#gradient].filter((one) => one !== undefined);
    return [...last, ...this.#pairs.flatMap(({ direction, change }) => [direction, change])];
  }

  /** Rows of the state that hold nothing which the next call reads. */
  #unused(): number[] {
    const used = new Set(this.#kept().map(({ row }) => row));
    const all = Array.from({ length: rowsOf(this.#settings.history) }, (_, row) => row);
    return all.filter((row) => !used.has(row));
  }

  /** Leaves it. */
  async store(): Promise<void> {
    const { history } = this.#settings;
    const unused = this.#unused();
    const copied = this.#kept()
      .filter(({ row }) => row === undefined)
      .map((one) => ({ one, to: this.#row(unused.pop() as number) }));
    const rowOf = (one: Vector | undefined): number =>
      one?.row ?? copied.find((each) => each.one === one)?.to.row ?? 0;
    const numbers = new Float64Array(numbersOf(history));
    const own = [this.#iterations, this.#t, this.#pairs.length];
    numbers.set([...own, rowOf(this.#direction), rowOf(this.#gradient)]);
    const products = OWN_NUMBERS + PAIR_NUMBERS * history;
    for (const [
      k,
      { direction, t: of, change, withDirections, withChanges },
    ] of this.#pairs.entries()) {
      numbers.set([of, rowOf(direction), rowOf(change)], OWN_NUMBERS + PAIR_NUMBERS * k);
      numbers.set(withDirections, products + history * k);
      numbers.set(withChanges, products + history * (history + k));
    }
    if (copied.length > 0) {
      const from = copied.map(({ one }) => one.tensor);
      await map(x, { x: from }, { out: copied.map(({ to }) => to.tensor) });
    }
    using all = await tensor(numbers, { device: this.#stored.numbers.device });
    await this.#stored.numbers.copyFrom(all);
  }

  async dot(one: Tensor, other: Tensor): Promise<number> {
    using product = await sums(PRODUCT, { x: one, y: other });
    return product.item();
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

  /** The direction of the first iteration. @returns the slope along it */
  async #begin(gradient: Tensor): Promise<number> {
    const direction = this.#taken();
    await map(NEGATIVE, { x: gradient }, { out: direction.tensor });
    this.#direction = direction;
    return this.dot(gradient, direction.tensor);
  }

  /** Pairs as many as a launch takes at a time; once where there is none. */
  *#groups<T>(pairs: readonly T[]): Generator<readonly T[]> {
    let at = 0;
    do yield pairs.slice(at, (at += this.#perLaunch));
    while (at < pairs.length);
  }

  /**
   * Inner products of the gradient with itself, and of the last direction and change, and of pairs, with the gradient and that change. Each vector is read once.
   */
  async #products(
    gradient: Tensor,
    pairs: readonly Pair<Vector>[],
  ): Promise<{ readonly square: number; readonly all: readonly PairProducts[] }> {
    const before = this.#before();
    const all: PairProducts[] = [];
    let square = NaN;
    for (const group of this.#groups(pairs)) {
      const vectors = pairVectors(this.#perLaunch, group.map(tensorsOf), gradient);
      const { products } = pairFormulas(this.#perLaunch);
      using found = await sums(products, { gradient, ...before, ...vectors });
      const [first = NaN, ...others] = await found.toTypedArray();
      square = first;
      const isFirst = all.length === 0;
      for (let at = isFirst ? 0 : 4; at < 4 * (group.length + 1); at += 4) {
        const [dg = NaN, dy = NaN, yg = NaN, yy = NaN] = others.slice(at, at + 4);
        all.push({
          withGradient: { direction: dg, change: yg },
          withChange: { direction: dy, change: yy },
        });
      }
    }
    return { square, all };
  }

  /** Where the last iteration went and came from. */
  #before(): { readonly direction: Tensor; readonly before: Tensor } {
    return {
      direction: (this.#direction as Vector).tensor,
      before: (this.#gradient as Vector).tensor,
    };
  }

  /** Takes the direction of a gradient. The last step, and what it did to the gradient, are a pair where the loss is convex along it. @returns the slope along the direction */
  async #turn(gradient: Tensor): Promise<number> {
    const pairs = this.#pairs;
    const [last, t] = [this.#direction as Vector, this.#t];
    // the oldest of all gives way to a new pair
    const oldest = pairs.slice(0, pairs.length === this.#settings.history ? 1 : 0);
    const { square, all } = await this.#products(gradient, pairs.slice(oldest.length));
    const [newest, ...others] = all as [PairProducts, ...PairProducts[]];
    const isKept = t * newest.withChange.direction > LEAST_CURVATURE;
    const change = this.#taken();
    if (isKept) {
      for (const { direction, change: its } of oldest) {
        forgetOldest(pairs);
        this.#dropped(direction);
        this.#dropped(its);
      }
      others.push(newest);
      const withDirections = others.map(({ withChange }) => withChange.direction);
      const withChanges = others.map(({ withChange }) => withChange.change);
      pairs.push({ direction: last, t, change, withDirections, withChanges });
    } else if (oldest.length > 0) {
      others.unshift(...(await this.#products(gradient, oldest)).all.slice(1));
    }
    const along = others.map(({ withGradient }) => withGradient);
    const combination = downhill(pairs, along);
    const direction = this.#taken();
    await this.#combine(gradient, combination, { direction, change }, isKept);
    this.#dropped(this.#gradient as Vector);
    if (!isKept) {
      this.#dropped(last);
      this.#dropped(change);
    }
    this.#direction = direction;
    return slopeOf(combination, along, square);
  }

  /** Writes a direction, and the last change of the gradient, which is the newest pair's if that is kept: each vector is read once. */
  async #combine(
    gradient: Tensor,
    { gradient: first, pairs: numbers }: Combination,
    to: { readonly direction: Vector; readonly change: Vector },
    isKept: boolean,
  ): Promise<void> {
    const count = this.#perLaunch;
    const out = { direction: to.direction.tensor, change: to.change.tensor };
    const older = this.#pairs.length - Number(isKept);
    // what is not kept may be infinite
    const before = isKept ? this.#before() : { direction: gradient, before: gradient };
    let isFirst = true;
    for (const places of this.#groups(Array.from({ length: older }, (_, k) => k))) {
      const newest = isFirst && isKept ? numbers.at(-1) : undefined;
      await map(
        pairFormulas(count).results,
        {
          gradient,
          ...before,
          sum: isFirst ? gradient : out.direction,
          ...pairVectors(
            count,
            places.map((k) => tensorsOf(this.#pairs[k] as Pair<Vector>)),
            gradient,
          ),
        },
        {
          out,
          parameters: pairParameters(
            count,
            isFirst ? first : 1,
            newest ?? { direction: 0, change: 0 },
            places.map((k) => numbers[k] as PairNumbers),
          ),
        },
      );
      isFirst = false;
    }
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
    const { dtype } = this.#form;
    let [point, grad, loss] = [start, first, value];
    let evaluations = 1;
    for (let iteration = 1; ; iteration++) {
      const isFirst = ++this.#iterations === 1;
      const slope = isFirst ? await this.#begin(grad) : await this.#turn(grad);
      const direction = (this.#direction as Vector).tensor;
      this.#gradient = { tensor: grad, row: undefined };
      this.#t = isFirst ? Math.min(1, 1 / (await this.taxicab(grad))) * lr : lr;
      if (!(slope <= -toleranceChange)) return { point };
      const from = point;
      /** The iteration was none: the next call begins with the same one. */
      const back = (notFinite: string): { point: Tensor; notFinite: string } => {
        this.#t = 0;
        this.#iterations--;
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
      const isLast = iteration === maxIterations;
      if (lineSearch === 'none' && isLast) {
        point = this.owned(await moved(this.#t));
        const far = await this.largest(point);
        return Number.isFinite(far) ? { point } : back(`a step of ${this.#t} is infinite`);
      }
      const size = await this.largest(direction);
      if (lineSearch === 'strongWolfe') {
        const searched = await strongWolfe({
          at,
          start: { t: 0, value: loss, slope, grad },
          t: this.#t,
          size,
          toleranceChange,
        });
        evaluations += searched.evaluations;
        this.#t = searched.point.t;
        loss = searched.point.value;
        grad = this.owned(searched.point.grad);
      }
      point = this.owned(await moved(this.#t));
      if (lineSearch === 'none') {
        const found = await evaluate(point);
        evaluations++;
        loss = found.value;
        grad = this.owned(found.grad);
      }
      const largest = await this.largest(grad);
      if (!Number.isFinite(loss) || !Number.isFinite(largest)) {
        return back(
          `the loss is ${loss} and the largest element of the gradient ${largest} after a step of ${this.#t}`,
        );
      }
      if (isLast || evaluations >= maxEvaluations || largest <= toleranceGrad) return { point };
      if (size * this.#t <= toleranceChange || Math.abs(loss - before) < toleranceChange)
        return { point };
      if (from !== start) this.#disposed(from);
    }
  }
}
