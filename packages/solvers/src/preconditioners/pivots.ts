import { prepare, type Prepared } from '@mercer/autodiff';
import { eq, mul, select, sqrt, sub, div, type RealExpr } from '@mercer/formula';
import { concat, gatherRows, map, zeros, type Tensor } from '@mercer/tensor';
import { isTraced } from '@mercer/tensor/operation';
import { keeping, release, type State } from '../krylov/columns.js';
import { v } from '../krylov/decisions.js';
import { isRefused } from '../krylov/iterate.js';
import type { LinearOperator } from '../operators/linear-operator.js';
import { GAIN_OVER, times } from './low-rank.js';

/** What a pivot changes. */
interface PivotState extends State {
  /** What is left of the diagonal, (N). */
  readonly rest: Tensor;
  /** The last columns of the factor, (N, 10), zeros behind them. */
  readonly recent: Tensor;
  /** What was left before each of them, its largest entry and its sum, (10, 2). */
  readonly looks: Tensor;
  /** How many they are, (1). */
  readonly count: Tensor;
}

/** The largest entry of what is left of a diagonal, and the sum of all. */
export type Look = readonly [value: number, trace: number];

/** Pivots from which on a GPU replays them: capturing one costs as much as some of them. */
const FEW_PIVOTS = 2 * GAIN_OVER;

const at = (place: string, given: RealExpr, otherwise: string): RealExpr =>
  select(eq(v(place), v('count')), given, v(otherwise));

const COLUMN = div(sub(sub(v('row'), v('known')), v('more')), sqrt(v('most')));
const FIRST_COLUMN = div(sub(v('row'), v('more')), sqrt(v('most')));
const LESS = sub(v('rest'), mul(v('column'), v('column')));
const RECENT = at('j', v('column'), 'recent');
const LOOKS = at('i', select(eq(v('side'), 0), v('most'), v('sum')), 'looks');

/**
 * Columns of a Cholesky factor of an operator, pivots first, ten at a time. Each pivot is the same work, and chosen on the device: a GPU replays it, where the operator can be
 * captured.
 */
export class Pivots implements Disposable {
  readonly #operator: LinearOperator;
  readonly #most: number;
  #rest: Tensor;
  /** The columns so far; as many as there may be, zeros behind them, where pivots are replayed. */
  #factor: Tensor | undefined;
  #replay: Prepared<[PivotState], Promise<PivotState>> | undefined;
  #count = 0;

  private constructor(operator: LinearOperator, most: number, rest: Tensor) {
    this.#operator = operator;
    this.#most = most;
    this.#rest = rest;
  }

  /** @param most columns that are asked for at most */
  static async of(operator: LinearOperator, most: number): Promise<Pivots> {
    using diagonal = await operator.diagonal();
    const made = new Pivots(operator, most, await diagonal.clone());
    try {
      if (made.#mayReplay) await made.#capture();
      return made;
    } catch (error) {
      made[Symbol.dispose]();
      throw error;
    }
  }

  /** Takes the next pivots, ten at most. Nothing waits for the device but `seen`, what was left before each. */
  async next(size: number): Promise<{ readonly seen: Promise<readonly Look[]> }> {
    const begin = await this.#begin();
    const { rest, recent, looks, count } = await this.#steps(begin, size);
    count.dispose();
    const seen = readLooks(looks, size);
    seen.catch(() => undefined); // something else may throw before it is awaited
    using columns = recent;
    this.#rest.dispose();
    this.#rest = rest;
    using taken = columns.slice(null, [0, size]);
    await this.#add(taken, size);
    return { seen };
  }

  /** The sum of what is left. */
  async left(): Promise<number> {
    using sum = await this.#rest.sum(0, { keepDims: true });
    const [left = NaN] = await sum.toNested<readonly number[]>();
    return left;
  }

  /** The first columns, a new tensor. */
  async columns(used: number): Promise<Tensor> {
    using first = (this.#factor as Tensor).slice(null, [0, used]);
    return await first.clone();
  }

  get #mayReplay(): boolean {
    const { device, isCapturable, parameters } = this.#operator;
    const isPlain = ![...parameters, this.#rest].some((one) => isTraced(one));
    return device.kind === 'cuda' && isCapturable && isPlain && this.#most >= FEW_PIVOTS;
  }

  async #capture(): Promise<void> {
    const { shape, dtype, device } = this.#operator;
    const begin = await this.#begin();
    this.#factor = await zeros([shape[0], this.#most], { dtype, device });
    try {
      this.#replay = await prepare((from: PivotState) => this.#step(from), begin);
    } catch (error) {
      if (!isRefused(error)) throw error;
      this.#factor.dispose();
      this.#factor = undefined;
    } finally {
      release(begin, { rest: this.#rest });
    }
  }

  async #begin(): Promise<PivotState> {
    const [n] = this.#operator.shape;
    const { dtype, device } = this.#operator;
    const [recent, looks, count] = await Promise.all(
      [[n, GAIN_OVER], [GAIN_OVER, 2], [1]].map((shape) => zeros(shape, { dtype, device })),
    );
    return { rest: this.#rest, recent, looks, count } as PivotState;
  }

  async #steps(begin: PivotState, size: number): Promise<PivotState> {
    const given = { rest: this.#rest };
    if (this.#replay !== undefined) {
      const end = this.#replay.repeat(size, begin);
      release(begin, given);
      return end;
    }
    let now = begin;
    for (let k = 0; k < size; k++) {
      try {
        const next = await this.#step(now);
        release(now, given);
        now = next;
      } catch (error) {
        release(now, given);
        throw error;
      }
    }
    return now;
  }

  readonly #step = async ({ rest, recent, looks, count }: PivotState): Promise<PivotState> => {
    const { shape, dtype } = this.#operator;
    const [n] = shape;
    using most = await rest.max();
    using sum = await rest.sum();
    using place = await rest.argMax();
    using pivot = place.reshape([1]) as Tensor<'int32'>;
    using rows = await this.#operator.rows(pivot);
    using row = rows.reshape([n, 1]);
    using known = await knownOf(this.#factor, pivot);
    using more = await knownOf(recent, pivot);
    using column =
      known === undefined
        ? await map(FIRST_COLUMN, { row, more, most }, { dtype })
        : await map(COLUMN, { row, known, more, most }, { dtype });
    using flat = column.reshape([n]);
    const left = await map(LESS, { rest, column: flat }, { dtype });
    return await keeping({ left }, async () => {
      const columns = await map(RECENT, { recent, column, count }, { dtype, indices: { j: 1 } });
      return await keeping({ columns }, async () => {
        const seen = await map(
          LOOKS,
          { looks, most, sum, count },
          { dtype, indices: { i: 0, side: 1 } },
        );
        return await keeping({ seen }, async () => ({
          rest: left,
          recent: columns,
          looks: seen,
          count: await count.add(1),
        }));
      });
    });
  };

  async #add(taken: Tensor, size: number): Promise<void> {
    const from = this.#count;
    this.#count += size;
    const factor = this.#factor;
    if (this.#replay !== undefined && factor !== undefined) {
      using place = factor.slice(null, [from, this.#count]);
      await place.copyFrom(taken);
      return;
    }
    this.#factor = factor === undefined ? await taken.clone() : await concat([factor, taken], 1);
    factor?.dispose();
  }

  [Symbol.dispose](): void {
    this.#replay?.dispose();
    this.#rest.dispose();
    this.#factor?.dispose();
  }
}

/** What columns of a factor have of a row of the operator, (N, 1). */
async function knownOf(columns: Tensor, at: Tensor<'int32'>): Promise<Tensor>;
async function knownOf(
  columns: Tensor | undefined,
  at: Tensor<'int32'>,
): Promise<Tensor | undefined>;
async function knownOf(
  columns: Tensor | undefined,
  at: Tensor<'int32'>,
): Promise<Tensor | undefined> {
  if (columns === undefined) return undefined;
  using own = await gatherRows(columns, at);
  return await times(columns, own, { transposeB: true });
}

/** @param looks is disposed */
async function readLooks(looks: Tensor, size: number): Promise<readonly Look[]> {
  using all = looks;
  using taken = all.slice([0, size]);
  return await taken.toNested<Look[]>();
}
