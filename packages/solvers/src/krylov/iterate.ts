import { prepare, type Prepared } from '@mercer/autodiff';
import { stack, type Tensor } from '@mercer/tensor';
import { unlessAborted } from '@mercer/tensor/operation';
import { release, unlessLeft, type State } from './columns.js';
import type { LinearSystem } from './linear-system.js';
import { CHECK_EVERY, Status, throwFailure, type ColumnReport } from './status.js';

/** What every method carries from one iteration to the next, of each column. */
export interface KrylovState extends State {
  /** (N, K). */
  readonly x: Tensor;
  /** One of `Status`. */
  readonly status: Tensor;
  readonly count: Tensor;
  /** Of the residual. */
  readonly norm: Tensor;
  readonly figure: Tensor;
  /** The least true residual, and how many iterations had been made then. */
  readonly best: Tensor;
  readonly since: Tensor;
}

/** An iterative method. Its steps are work on tensors alone: what they decide, they decide on the device, column by column. */
export interface KrylovMethod<S extends KrylovState> {
  readonly what: string;
  readonly system: LinearSystem;
  /** Of a method whose iterations are not alike until `check` begins anew: how many there are until then, which a GPU has as one batch. Otherwise 50, and 10. */
  readonly cycle?: number;
  /** false: its own work cannot be captured, whatever the system's is. */
  readonly isCapturable?: false;
  /** Before the first iteration. */
  readonly start: () => Promise<S>;
  /** One iteration. Columns that do not run stay as they are. */
  readonly step: (state: S) => Promise<S>;
  /** Computes true residuals: columns go on, from these where need be, or are done. */
  readonly check: (state: S) => Promise<S>;
}

/** What a caller is told on the way. */
export interface IterationReport {
  /** Of the column that has had most. */
  readonly iterations: number;
  /** The largest norm of a residual, by that of its right-hand side. */
  readonly residual: number;
}

/** Options of all iterative methods. */
export interface IterateOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onIteration?: ((report: IterationReport) => void) | undefined;
  /** Iterations between two looks; default: 10 on a GPU, 1 on a CPU. */
  readonly batch?: number | undefined;
}

/**
 * Runs a method to its end: until every column is done by its true residual. Iterations are enqueued in batches, and what they came to is
 * read one batch late: while the device works on a batch, the host looks at the one before.
 *
 * @param what what its errors are of: what the user called
 * @returns the last state, which the caller disposes, and what is read of it
 */
export async function iterate<S extends KrylovState>(
  method: KrylovMethod<S>,
  options: IterateOptions,
  what = method.what,
): Promise<{ readonly state: S; readonly columns: readonly ColumnReport[] }> {
  const { system, cycle = CHECK_EVERY } = method;
  const { device } = system;
  const {
    signal,
    onIteration,
    batch = device.kind === 'cuda' ? (method.cycle ?? 10) : 1,
  } = options;
  using batches = new Batches(method, batch);
  let state = await unlessLeft(method.start(), signal, release);
  let reading: Promise<readonly ColumnReport[]> | undefined;
  let working: Promise<void> | undefined;
  /** Puts a later state in the place of this one. */
  const advance = async (step: (state: S) => Promise<S>): Promise<void> => {
    const work = async (): Promise<void> => {
      const next = await step(state);
      release(state, next);
      state = next;
      working = undefined;
    };
    working = work();
    // a product may never settle
    await unlessAborted(working, signal);
  };
  try {
    for (let done = batch; ; done += batch) {
      signal?.throwIfAborted();
      reading = columnsOf(await standing(state, system));
      reading.catch(() => undefined); // a batch may throw before it is awaited
      await advance((from) => batches.run(from));
      if (done % cycle < batch) await advance(method.check);
      const seen = await unlessAborted(reading, signal);
      throwFailure(what, seen);
      const told: unknown = onIteration?.(reportOf(seen));
      await told; // where it is a promise, its failure is the solve's
      if (seen.some(isRunning)) continue;
      await advance(method.check);
      reading = columnsOf(await standing(state, system));
      const columns = await unlessAborted(reading, signal);
      throwFailure(what, columns);
      if (!columns.some(isRunning)) return { state, columns };
    }
  } catch (error) {
    await reading?.catch(() => undefined);
    const end = (): void => {
      release(state);
    };
    // what it works on is there until it has ended, whenever that is
    if (working === undefined) end();
    else if (signal?.aborted === true) void working.then(end, end);
    else end();
    throw error;
  }
}

const isRunning = ({ status }: ColumnReport): boolean => status === Status.running;

/** The residual of a column by its right-hand side; as it is where that is 0. */
export const relative = ({ norm, scale }: ColumnReport): number =>
  scale === 0 ? norm : norm / scale;

/** The most of several columns. */
export const reportOf = (columns: readonly ColumnReport[]): IterationReport => ({
  iterations: Math.max(0, ...columns.map(({ iterations }) => iterations)),
  residual: Math.max(0, ...columns.map(relative)),
});

/** Where the columns stand: rows of numbers, one for each column. */
const standing = (
  { status, count, norm, figure }: KrylovState,
  { scale, unit }: LinearSystem,
): PromiseLike<Tensor> => stack([status, count, norm, figure, scale, unit]);

/** @param standing is disposed */
async function columnsOf(standing: Tensor): Promise<readonly ColumnReport[]> {
  using all = standing;
  const rows = await all.toNested<readonly (readonly number[])[]>();
  const [states = [], counts = [], norms = [], figures = [], scales = [], units = []] = rows;
  return states.map((one, k) => ({
    status: one,
    iterations: counts[k] as number,
    norm: norms[k] as number,
    figure: figures[k] as number,
    scale: scales[k] as number,
    unit: units[k] as number,
  }));
}

/** Batches of iterations. A GPU replays the work of one iteration, or, from the second on, of a cycle, where it may be captured. */
class Batches<S extends KrylovState> implements Disposable {
  readonly #method: KrylovMethod<S>;
  readonly #length: number;
  readonly #captures: boolean;
  #replay: Prepared<[S], Promise<S>> | undefined;
  #count = 0;

  constructor(method: KrylovMethod<S>, length: number) {
    this.#method = method;
    this.#length = length;
    this.#captures = method.isCapturable !== false && method.system.isCapturable && length > 1;
  }

  async run(state: S): Promise<S> {
    this.#count++;
    const { cycle, step } = this.#method;
    if (!this.#captures || (cycle !== undefined && this.#count === 1)) return this.#steps(state);
    if (cycle === undefined) {
      this.#replay ??= await prepare(step, state);
      return this.#replay.repeat(this.#length, state) as S;
    }
    this.#replay ??= await prepare((from: S) => this.#steps(from), state);
    return this.#replay(state) as S;
  }

  /** The iterations of a batch, one after the other. */
  async #steps(state: S): Promise<S> {
    let now = state;
    try {
      for (let k = 0; k < this.#length; k++) {
        const next = await this.#method.step(now);
        if (now !== state) release(now, next);
        now = next;
      }
      return now;
    } catch (error) {
      if (now !== state) release(now, state);
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#replay?.dispose();
  }
}
