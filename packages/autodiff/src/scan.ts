import { describeValue, type OptionNames } from '@mercer/options';
import {
  MercerError,
  stack,
  type ProgressOption,
  type SignalOption,
  type Tensor,
} from '@mercer/tensor';
import { formatShape, PROGRESS_OPTION, readOptions, SIGNAL_OPTION } from '@mercer/tensor/operation';
import { recomputed } from './custom.js';
import { RETURN_TENSORS } from './differentiated-call.js';
import { checkBooleans, checkFunction } from './grad.js';
import { handedOut } from './trace/handed.js';
import { Owning } from './trace/owning.js';
import { leavesOf, replaced, type Leaf, type Settled } from './tree.js';

/** Options of {@link scan}. Its signal is heeded, and its progress counted, between steps. */
export interface ScanOptions extends SignalOption, ProgressOption {
  /** How many steps. Default: the length of xs along its first axis. */
  readonly length?: number | undefined;
  /** From the last row to the first. Default: false. */
  readonly reverse?: boolean | undefined;
  /** Gradients keep the carry of each step and run it again, instead of keeping all that it computed. Default: false. */
  readonly checkpoint?: boolean | undefined;
}

const SCAN_OPTIONS: OptionNames<ScanOptions> = {
  ...SIGNAL_OPTION,
  ...PROGRESS_OPTION,
  length: true,
  reverse: true,
  checkpoint: true,
};

/** What a loop gives. */
export interface Scanned<C, Y> {
  /** What the last step gave to the next. */
  readonly carry: C;
  /** What the steps gave beside it, stacked along a new first axis in the order of xs. */
  readonly ys: Y;
}

/**
 * A loop over the rows of tensors, as JAX's `lax.scan`: each step gets what the one before it gave, and a row. What a step computes is returned when it ends, but for its results; inside a
 * derivative it is kept, or computed again with `checkpoint`.
 *
 * ```ts
 * import { scan } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const step = async (sum: Tensor, x: Tensor) => {
 *   const next = await sum.add(x);
 *   return [next, next] as const;
 * };
 * const { carry, ys } = await scan(step, await tensor(0, where), await tensor([1, 2, 3], where));
 * console.log(await carry.item(), await ys.toNested()); // 6 [ 1, 3, 6 ]
 * ```
 *
 * @param f gives `[carry, y]`: a carry like the one that it gets, in shapes and dtypes, and a tree of tensors or undefined. It is called with traced values. With
 *   `checkpoint` it is a function of its arguments alone: what a gradient is taken by comes in the carry or in xs
 * @param init the first carry: a tensor, or objects and arrays of tensors
 * @param xs the same, of one length along the first axis; undefined for none, with `length`
 * @returns tensors that the caller disposes
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH where a carry is not like the one before it; INVALID_ARGUMENT, also for no steps; what `f` throws
 */
export async function scan<C, X, R>(
  f: (carry: C, x: X) => readonly [carry: unknown, y: R] | PromiseLike<readonly [unknown, R]>,
  init: C,
  xs: X,
  options?: ScanOptions,
): Promise<Scanned<Settled<C>, Settled<R>>> {
  checkFunction('scan', f);
  const {
    length,
    reverse = false,
    checkpoint = false,
    signal,
    onProgress,
  } = readOptions('scan', options, SCAN_OPTIONS);
  checkBooleans('scan', { reverse, checkpoint }, ['reverse', 'checkpoint']);
  const [start, rows] = await Promise.all([
    leavesOf(init, 'scan: init', PASS),
    xs === undefined ? [] : leavesOf(xs, 'scan: xs', PASS),
  ]);
  const count = countOf(rows, length);
  const step = new Step(f as never, init, start, xs);
  const run = (...given: Parameters<Step['run']>): Promise<readonly Tensor[]> => step.run(...given);
  const call = checkpoint ? recomputed('scan', run) : run;
  let carry: readonly Tensor[] = start.map(({ value }) => value);
  const parts: (readonly Tensor[])[] = [];
  let made: readonly Tensor[] = [];
  try {
    for (let k = 0; k < count; k++) {
      signal?.throwIfAborted();
      const at = reverse ? count - 1 - k : k;
      const row = rows.map(({ value }) => value.slice(at));
      try {
        carry = await call(carry, row);
      } finally {
        for (const one of [...row, ...made]) one.dispose();
        made = [];
      }
      parts[at] = carry.slice(start.length);
      made = carry = carry.slice(0, start.length);
      onProgress?.({ done: k + 1, total: count });
    }
    signal?.throwIfAborted();
    const ys = await Promise.all(
      step.ys.map(async (_, place) => stack(parts.map((part) => part[place] as Tensor))),
    );
    return {
      carry: replaced(init, carry) as Settled<C>,
      ys: (step.y === undefined ? undefined : replaced(step.y, ys)) as Settled<R>,
    };
  } catch (error) {
    for (const one of made) one.dispose();
    throw error;
  } finally {
    for (const one of parts.flat()) one.dispose();
  }
}

const PASS = 'Pass a tensor, or arrays and objects of tensors';

/** One step of a loop, on the tensors of its trees. */
class Step {
  readonly #f: (carry: unknown, x: unknown) => unknown;
  readonly #init: unknown;
  readonly #start: readonly Leaf[];
  readonly #xs: unknown;
  /** What the first step gave beside its carry, and its tensors. */
  y: unknown;
  ys: readonly Leaf[] = [];
  #isFirst = true;

  constructor(f: never, init: unknown, start: readonly Leaf[], xs: unknown) {
    this.#f = f;
    this.#init = init;
    this.#start = start;
    this.#xs = xs;
  }

  /** The tensors of the next carry, and behind them those of y, for the caller to dispose. */
  async run(carry: readonly Tensor[], row: readonly Tensor[]): Promise<readonly Tensor[]> {
    const trace = new Owning('scan');
    const wrapped = (tree: unknown, leaves: readonly Tensor[]): unknown =>
      replaced(
        tree,
        leaves.map((one) => trace.wrap(one)),
      );
    try {
      const x = this.#xs === undefined ? undefined : wrapped(this.#xs, row);
      const given = await this.#f(wrapped(this.#init, carry), x);
      const found = await this.#resultsOf(given);
      await trace.close();
      return found.map((value) => handedOut(value, trace));
    } finally {
      await trace.close();
      trace.dispose();
    }
  }

  async #resultsOf(given: unknown): Promise<readonly Tensor[]> {
    if (!Array.isArray(given) || given.length !== 2) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `scan: the function gave ${describeValue(given)}. Return [carry, y], with undefined for no y.`,
      );
    }
    const [next, y] = given as readonly unknown[];
    const carry = inPlaces(
      await leavesOf(next, 'scan: init', RETURN_TENSORS),
      this.#start,
      'carry',
    );
    for (const [at, one] of carry.entries()) assertLike(one, this.#start[at] as Leaf);
    const ys = y === undefined ? [] : await leavesOf(y, 'scan: y', RETURN_TENSORS);
    if (this.#isFirst) [this.#isFirst, this.y, this.ys] = [false, y, ys];
    for (const { value } of [...carry, ...ys]) value.assertAlive();
    return [...carry, ...inPlaces(ys, this.ys, 'y')].map(({ value }) => value);
  }
}

/** Leaves in the order of others with the same paths. @throws MercerError SHAPE_MISMATCH */
function inPlaces(leaves: readonly Leaf[], like: readonly Leaf[], name: string): readonly Leaf[] {
  const byPath = new Map(leaves.map((leaf) => [leaf.path, leaf]));
  const refused = (among = ''): MercerError =>
    new MercerError(
      'SHAPE_MISMATCH',
      `scan: a step gave a ${name} of ${leaves.length} tensors that is not like that before it, which has ${like.length}${among}. Return the same tree in each step.`,
    );
  if (leaves.length !== like.length) throw refused();
  return like.map(({ path }) => {
    const found = byPath.get(path);
    if (found === undefined) throw refused(`, ${path} among them`);
    return found;
  });
}

function assertLike({ value }: Leaf, { value: before, path }: Leaf): void {
  const [now, then] = [value, before].map(({ shape }) => formatShape(shape));
  if (value.dtype === before.dtype && now === then) return;
  throw new MercerError(
    now === then ? 'DTYPE_MISMATCH' : 'SHAPE_MISMATCH',
    `${path} is ${before.dtype} ${then}, and a step made ${value.dtype} ${now} of it. Return a carry like the one that the step gets.`,
  );
}

function countOf(rows: readonly Leaf[], length: number | undefined): number {
  if (length !== undefined && (!Number.isSafeInteger(length) || length < 1))
    throw noSteps(`length is ${describeValue(length)}`);
  const count = length ?? rows[0]?.value.shape[0];
  if (count === undefined || count === 0)
    throw noSteps(rows.length === 0 ? 'there are neither xs nor a length' : 'xs has no rows');
  for (const { value, path } of rows) {
    if (value.shape[0] === count) continue;
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${path} has shape ${formatShape(value.shape)}, and the loop has ${count} steps. Pass tensors with a row for each.`,
    );
  }
  return count;
}

const noSteps = (why: string): MercerError =>
  new MercerError(
    'INVALID_ARGUMENT',
    `scan: ${why}. Pass at least one row or a length of 1 or more: without a step the shapes of ys are not known.`,
  );
