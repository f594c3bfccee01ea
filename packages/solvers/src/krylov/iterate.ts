import { prepare, type Prepared } from '@mercer/autodiff';
import { prepareWarm } from '@mercer/autodiff/transform';
import { MercerError, stack, type Tensor } from '@mercer/tensor';
import { askForCapture, isAmbientByContext, unlessAborted } from '@mercer/tensor/operation';
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

/** Asks for the kernels of a solve, as `askAhead` says: what it does before the host learns anything of it, a check and the end. */
export async function askForSolve<S extends KrylovState>(method: KrylovMethod<S>): Promise<void> {
  const { system } = method;
  if (system.isCapturable && method.isCapturable !== false) askForCapture(system.device);
  const made: State[] = [];
  try {
    const first = await method.start();
    made.push(first);
    const next = await method.step(first);
    made.push(next);
    const checked = await method.check(next);
    made.push(checked);
    made.push({ asked: await standing(first, system) });
    made.push({ x: await system.restored(checked.x) });
  } finally {
    for (const one of made) release(one);
  }
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
  /** Iterations between two looks; default: 10 on a GPU, and more where it repeats them by itself; on a CPU 1 with `onIteration`, or of work that cannot be captured, and else all until the next check. */
  readonly batch?: number | undefined;
}

/**
 * Runs a method to its end: until every column is done by its true residual. Iterations are enqueued in batches, and what they came to is
 * read one batch late: while the device works on a batch, the host looks at the one before. A CPU repeats iterations that may be captured until all columns rest, and is looked at then.
 *
 * @param what what its errors are of: what the user called
 * @returns the last state, which the caller disposes, and what is read of it
 */
export async function iterate<S extends KrylovState>(
  method: KrylovMethod<S>,
  options: IterateOptions,
  what = method.what,
): Promise<{ readonly state: S; readonly columns: readonly ColumnReport[] }> {
  const { system } = method;
  const { signal, onIteration } = options;
  using batches = new Batches(method, options);
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
  /** Asks where columns stand now, and gives what waits for the answer. */
  const asked = async (): Promise<() => Promise<readonly ColumnReport[]>> => {
    const answer = columnsOf(await standing(state, system));
    answer.catch(() => undefined); // a batch may throw before it is awaited
    reading = answer;
    return async () => {
      const seen = await unlessAborted(answer, signal);
      throwFailure(what, seen);
      return seen;
    };
  };
  const isDone = (columns: readonly ColumnReport[]): boolean => !columns.some(isRunning);
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { isLoop } = batches;
      let answer = isLoop ? undefined : await asked();
      await advance((from) => batches.run(from));
      const { isCheckDue } = batches;
      if (isCheckDue) await advance(method.check);
      answer ??= await asked();
      const seen = await answer();
      batches.noteLook();
      const told: unknown = onIteration?.(reportOf(seen));
      await told; // where it is a promise, its failure is the solve's
      if (!isDone(seen)) continue;
      // what a loop came to is known already
      if (isLoop && isCheckDue) return { state, columns: seen };
      await advance(method.check);
      const columns = await (await asked())();
      if (isDone(columns)) return { state, columns };
    }
  } catch (error) {
    batches.stop();
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

/** Iterations that a CPU does one by one before it repeats captured ones: their kernels are there then. */
const WARM_UP = 2;
/** How long such a repetition should be at least and at most: other work of the device waits behind it, and the host looks after each. */
const LOOP_MS = [10, 40] as const;
const FIRST_LOOP = 4;

/**
 * Batches of iterations. Where an iteration may be captured a GPU replays it, or, from the second batch on, a cycle. A CPU, and a GPU whose driver can, repeats it without the host: some 10 to 40 ms at a
 * time, until the next check at most, or until all columns rest.
 */
class Batches<S extends KrylovState> implements Disposable {
  readonly #method: KrylovMethod<S>;
  readonly #length: number;
  readonly #cycle: number;
  readonly #captures: boolean;
  /** Whether the length of a batch is the device's affair. */
  readonly #isFree: boolean;
  #loops: boolean;
  #replay: Prepared<[S], Promise<S>> | undefined;
  #isProvisional = false;
  #isDisposed = false;
  #count = 0;
  #loopLength: number;
  #loopSince: number | undefined;
  /** Iterations since the last check that was due. */
  #since = 0;

  constructor(method: KrylovMethod<S>, { batch, onIteration }: IterateOptions) {
    const { system, cycle, isCapturable } = method;
    const isGpu = system.device.kind === 'cuda';
    this.#method = method;
    this.#length = batch ?? (isGpu ? (cycle ?? 10) : 1);
    this.#cycle = cycle ?? CHECK_EVERY;
    const mayCapture = isCapturable !== false && system.isCapturable;
    this.#captures = mayCapture && this.#length > 1;
    this.#isFree =
      mayCapture && cycle === undefined && batch === undefined && onIteration === undefined;
    this.#loops = this.#isFree && !isGpu && isAmbientByContext;
    this.#loopLength = isGpu ? this.#length : FIRST_LOOP;
  }

  /** Whether the next batch is a repetition by the CPU: nothing is enqueued behind it before it is read what that came to. */
  get isLoop(): boolean {
    return this.#loops && this.#count >= WARM_UP;
  }

  /** Whether true residuals are due after the last batch. */
  get isCheckDue(): boolean {
    if (this.#since < this.#cycle) return false;
    this.#since %= this.#cycle;
    return true;
  }

  async run(state: S): Promise<S> {
    if (this.isLoop) return this.#loop(state);
    this.#count++;
    const { cycle, step } = this.#method;
    if (cycle === undefined && this.#captures) {
      await this.#capture(async () => ({ prepared: await prepare(step, state) }));
      return this.#repeated(state);
    }
    this.#since += this.#length;
    if (!this.#captures || this.#count === 1) return this.#steps(state);
    await this.#capture(async () => ({
      prepared: await prepare((from: S) => this.#steps(from), state),
    }));
    return this.#replay?.(state) as S;
  }

  /** Ends what is under way on a CPU, for nobody waits for it any more. */
  stop(): void {
    this.#replay?.stop();
  }

  async #loop(state: S): Promise<S> {
    const { step } = this.#method;
    if (this.#isProvisional) {
      this.#replay?.dispose();
      this.#replay = undefined;
    }
    try {
      await this.#capture(() => prepareWarm(step, state));
    } catch (error) {
      if (!isRefused(error)) throw error;
      this.#loops = false;
      return this.run(state);
    }
    return this.#repeatedAlone(state);
  }

  #repeated(state: S): S {
    if (this.#isFree && this.#replay?.repeatsAlone('status') === true) {
      return this.#repeatedAlone(state);
    }
    this.#since += this.#length;
    return this.#replay?.repeat(this.#length, state) as S;
  }

  #repeatedAlone(state: S): S {
    const count = Math.min(this.#loopLength, this.#cycle - this.#since);
    this.#since += count;
    this.#loopSince = performance.now();
    return this.#replay?.repeatUntil('status', count, state) as S;
  }

  /** That the host has seen what the last batch came to, of a loop, or the one before it, of a GPU: the time for it says how long the next one may be. */
  noteLook(): void {
    // before its first batch there is nothing to see
    if (this.#loopSince === undefined || this.#count === 1) return;
    const elapsed = performance.now() - this.#loopSince;
    this.#loopSince = undefined;
    const [least, most] = LOOP_MS;
    if (elapsed < least) this.#loopLength = Math.min(2 * this.#loopLength, this.#cycle);
    if (elapsed > most) this.#loopLength = Math.max(1, this.#loopLength >> 1);
  }

  /** @throws the error of the capture; DISPOSED where the solve has been left meanwhile */
  async #capture(
    capture: () => Promise<{
      readonly prepared: Prepared<[S], Promise<S>>;
      readonly isProvisional?: boolean;
    }>,
  ): Promise<void> {
    if (this.#replay !== undefined) return;
    const { prepared, isProvisional = false } = await capture();
    this.#replay = prepared;
    this.#isProvisional = isProvisional;
    if (this.#isDisposed) prepared.dispose();
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
    this.#isDisposed = true;
    this.#replay?.dispose();
  }
}

/** Whether work cannot be captured. */
export const isRefused = (error: unknown): boolean =>
  error instanceof MercerError && (error.code === 'CAPTURED' || error.code === 'UNSUPPORTED');
