import { mul, neg, variable } from '@mercer/formula';
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

/** A pair is kept where its curvature is larger. */
const LEAST_CURVATURE = 1e-10;

const [x, y] = [variable('x'), variable('y')];
const NEGATIVE = neg(x);
const PRODUCT = [mul(x, y)];

/** Inner products of the vectors of a pair with the gradient, and with its last change. */
interface PairProducts {
  readonly withGradient: PairNumbers;
  readonly withChange: PairNumbers;
}

/** Tensors of a state that hold what a call leaves to the next. */
export interface StoredHistory {
  /** float64 ({@link numbersOf}) */
  readonly numbers: Tensor;
  /** {@link vectorsOf} vectors; one that no number names means nothing */
  readonly vectors: readonly Tensor[];
}

/** Vectors of a state: of each pair two, the last direction and its gradient, and three that a call writes before it forgets others. */
export const vectorsOf = (history: number): number => 2 * history + 5;

/** Numbers of a state before those of its pairs, and of each pair before the inner products. */
const [OWN_NUMBERS, PAIR_NUMBERS] = [5, 3];

/**
 * Numbers of a state: iterations, the last `t`, pairs, which vectors are the last direction and its gradient; of each pair, the oldest first, `t` and which vectors are its direction and its
 * change; then for each pair the inner products of its change with the directions of the pairs up to it, and for each those with their changes, in lines of `history`.
 */
export const numbersOf = (history: number): number =>
  OWN_NUMBERS + PAIR_NUMBERS * history + 2 * history * history;

/** What iterations know of those before: the last one, and the pairs of steps and changes of the gradient. */
export class History {
  iterations = 0;
  /** The last step by its direction. */
  t = 0;
  readonly #size: number;
  readonly #form: FlatForm;
  readonly #stored: StoredHistory;
  readonly #owned = new Set<Tensor>();
  /** Vectors of the state that mean nothing, where a call may write them before it ends. */
  readonly #free: Tensor[] = [];
  readonly #pairs: Pair<Tensor>[] = [];
  readonly #perLaunch: number;
  #direction: Tensor | undefined;
  #gradient: Tensor | undefined;

  /** @param size pairs that are kept */
  constructor(size: number, form: FlatForm, stored: StoredHistory) {
    this.#size = size;
    this.#form = form;
    this.#stored = stored;
    this.#perLaunch = Math.min(MOST_PAIRS, Math.max(1, size - 1));
  }

  /** Disposes of a vector with the history. */
  owned(one: Tensor): Tensor {
    this.#owned.add(one);
    return one;
  }

  /** Disposes of a vector that is owned. */
  dropped(one: Tensor): void {
    if (this.#owned.delete(one)) one.dispose();
  }

  dispose(): void {
    for (const one of this.#owned) one.dispose();
  }

  /** The direction that was turned to last. */
  get direction(): Tensor {
    return this.#direction as Tensor;
  }

  /**
   * Reads what the last call left.
   *
   * @param isSure that nothing but the device makes this call fail: it then writes vectors of the state at once, else in {@link store} alone
   */
  async load(isSure: boolean): Promise<void> {
    const { numbers: given, vectors } = this.#stored;
    const numbers = Array.from((await given.toTypedArray()) as Float64Array);
    const [iterations = 0, t = 0, pairs = 0, direction = -1, gradient = -1] = numbers;
    this.iterations = iterations;
    this.t = t;
    for (let k = 0; k < pairs; k++) {
      const at = OWN_NUMBERS + PAIR_NUMBERS * k;
      const [of = NaN, first = -1, second = -1] = numbers.slice(at, at + PAIR_NUMBERS);
      const line = (from: number): number[] => numbers.slice(from, from + k + 1);
      this.#pairs.push({
        direction: vectors[first] as Tensor,
        t: of,
        change: vectors[second] as Tensor,
        withDirections: line(this.#line(k)),
        withChanges: line(this.#line(this.#size + k)),
      });
    }
    if (iterations > 0) {
      this.#direction = vectors[direction];
      this.#gradient = vectors[gradient];
    }
    if (isSure) this.#free.push(...this.#unused());
  }

  /** Where a line of inner products begins. */
  #line(number: number): number {
    return OWN_NUMBERS + this.#size * (PAIR_NUMBERS + number);
  }

  /** What the next call reads. */
  #kept(): readonly Tensor[] {
    const last = [this.#direction, this.#gradient].filter((one) => one !== undefined);
    return [...last, ...this.#pairs.flatMap(({ direction, change }) => [direction, change])];
  }

  /** Vectors of the state that hold nothing of it. */
  #unused(): Tensor[] {
    const kept = new Set(this.#kept());
    return this.#stored.vectors.filter((one) => !kept.has(one));
  }

  /** Leaves it to the next. */
  async store(): Promise<void> {
    const { numbers: given, vectors } = this.#stored;
    const places = new Map(vectors.map((one, place) => [one, place]));
    const from = this.#kept().filter((one) => !places.has(one));
    const out = this.#unused().slice(0, from.length);
    for (const [k, one] of from.entries()) places.set(one, places.get(out[k] as Tensor) ?? -1);
    const placeOf = (one: Tensor | undefined): number => (one && places.get(one)) ?? -1;
    const last = [placeOf(this.#direction), placeOf(this.#gradient)];
    const numbers = new Float64Array(numbersOf(this.#size));
    numbers.set([this.iterations, this.t, this.#pairs.length, ...last]);
    for (const [k, pair] of this.#pairs.entries()) {
      const { direction, change } = pair;
      const own = [pair.t, placeOf(direction), placeOf(change)];
      numbers.set(own, OWN_NUMBERS + PAIR_NUMBERS * k);
      numbers.set(pair.withDirections, this.#line(k));
      numbers.set(pair.withChanges, this.#line(this.#size + k));
    }
    // memory for all of it is there before anything is written
    using all = await tensor(numbers, { device: given.device });
    if (from.length > 0) await map(x, { x: from }, { out });
    await given.copyFrom(all);
  }

  /** The inner product of two vectors, in float64. */
  async dot(one: Tensor, other: Tensor): Promise<number> {
    using product = await sums(PRODUCT, { x: one, y: other });
    return await product.item();
  }

  #taken(): Tensor {
    return this.#free.pop() ?? this.owned(this.#form.empty());
  }

  /**
   * Turns to the direction of a gradient. The last step, and what it did to the gradient, become a pair where the loss is convex along it.
   *
   * @param gradient owned
   * @returns the slope along the direction
   */
  async turn(gradient: Tensor): Promise<number> {
    const [last, before] = [this.#direction, this.#gradient];
    this.iterations++;
    this.#gradient = gradient;
    if (this.iterations > 1) return this.#turned(gradient, last as Tensor, before as Tensor);
    const direction = this.#taken();
    await map(NEGATIVE, { x: gradient }, { out: direction });
    this.#direction = direction;
    return this.dot(gradient, direction);
  }

  async #turned(gradient: Tensor, last: Tensor, before: Tensor): Promise<number> {
    const pairs = this.#pairs;
    const { t } = this;
    // the oldest of all gives way to a new pair
    const oldest = pairs.slice(0, pairs.length === this.#size ? 1 : 0);
    const own = { gradient, before, direction: last };
    const { square, all } = await this.#products(own, pairs.slice(oldest.length));
    const [newest, ...products] = all as [PairProducts, ...PairProducts[]];
    const isKept = t * newest.withChange.direction > LEAST_CURVATURE;
    const change = this.#taken();
    if (isKept) {
      for (const pair of oldest) {
        forgetOldest(pairs);
        this.dropped(pair.direction);
        this.dropped(pair.change);
      }
      products.push(newest);
      const withDirections = products.map(({ withChange }) => withChange.direction);
      const withChanges = products.map(({ withChange }) => withChange.change);
      pairs.push({ direction: last, t, change, withDirections, withChanges });
    } else if (oldest.length > 0) {
      products.unshift(...(await this.#products(own, oldest)).all.slice(1));
    }
    const along = products.map(({ withGradient }) => withGradient);
    const combination = downhill(pairs, along);
    const direction = this.#taken();
    // what is no pair may be infinite
    const vectors = isKept ? own : { gradient, before: gradient, direction: gradient };
    await this.#combine(vectors, combination, isKept, { direction, change });
    if (before !== gradient) this.dropped(before);
    if (!isKept) {
      this.dropped(last);
      this.dropped(change);
    }
    this.#direction = direction;
    return slopeOf(combination, along, square);
  }

  /** Pairs as many as a launch takes at a time; once where there is none. */
  *#groups<T>(pairs: readonly T[]): Generator<readonly T[]> {
    let at = 0;
    do yield pairs.slice(at, (at += this.#perLaunch));
    while (at < pairs.length);
  }

  /** Inner products in one pass over all vectors: the square of the gradient, and those of the last direction and change, and of pairs. */
  async #products(
    own: Readonly<Record<'gradient' | 'before' | 'direction', Tensor>>,
    pairs: readonly Pair<Tensor>[],
  ): Promise<{ readonly square: number; readonly all: readonly PairProducts[] }> {
    const { products } = pairFormulas(this.#perLaunch);
    const all: PairProducts[] = [];
    let square = NaN;
    for (const group of this.#groups(pairs)) {
      const vectors = pairVectors(this.#perLaunch, group, own.gradient);
      using found = await sums(products, { ...own, ...vectors });
      const [first = NaN, ...others] = await found.toTypedArray();
      square = first;
      // the last direction and change are in front of each group
      for (let at = all.length === 0 ? 0 : 4; at < 4 * (group.length + 1); at += 4) {
        const [dg = NaN, dy = NaN, yg = NaN, yy = NaN] = others.slice(at, at + 4);
        all.push({
          withGradient: { direction: dg, change: yg },
          withChange: { direction: dy, change: yy },
        });
      }
    }
    return { square, all };
  }

  /** Writes the last change of the gradient and a sum of vectors, in one pass over all. @param isKept whether the last direction and change are the newest pair */
  async #combine(
    own: Readonly<Record<'gradient' | 'before' | 'direction', Tensor>>,
    combination: Combination,
    isKept: boolean,
    out: Readonly<Record<'direction' | 'change', Tensor>>,
  ): Promise<void> {
    const count = this.#perLaunch;
    const older = this.#pairs.length - Number(isKept);
    let sum = { vector: own.gradient, times: combination.gradient };
    let newest = isKept ? combination.pairs.at(-1) : undefined;
    for (const group of this.#groups([...combination.pairs.slice(0, older).entries()])) {
      const pairs = group.map(([k]) => this.#pairs[k] as Pair<Tensor>);
      const numbers = group.map(([, one]) => one);
      await map(
        pairFormulas(count).results,
        { ...own, sum: sum.vector, ...pairVectors(count, pairs, own.gradient) },
        { out, parameters: pairParameters(count, sum.times, newest, numbers) },
      );
      sum = { vector: out.direction, times: 1 };
      newest = undefined;
    }
  }
}
