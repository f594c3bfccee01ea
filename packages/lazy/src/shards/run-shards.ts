import type { KeptRanges } from '@mercer/kernels';
import { empty, type Device, type Tensor } from '@mercer/tensor';
import { deviceOf, progressOf, Workers, type Rows, type ShardPlan } from '@mercer/tensor/operation';
import type { PairCall } from '../pair-call.js';
import type { ReductionOptions } from '../call-options.js';
import type { WantedResult } from '../results.js';
import type { JointTask } from '../task.js';
import { cutRanges } from './cut-ranges.js';
import { cellTask } from './cell-task.js';
import { computeShards, type Shard } from './compute-shards.js';
import { mergeRule, type Compute, type MergeRule, type PartialResult } from './merge-rules.js';
import { disposeState, merged, type ShardState } from './shard-state.js';

/** Computes a task whose rows are not cut. */
export type ComputeTask = (
  task: JointTask,
  options: ReductionOptions,
) => Tensor[] | Promise<Tensor[]>;

/** A call whose rows are cut. */
export interface ShardedCall {
  /** With the inputs of the call. */
  readonly task: JointTask;
  readonly used: ReadonlySet<number>;
  readonly call: PairCall;
  readonly wanted: readonly WantedResult[];
  readonly outs: readonly (Tensor | undefined)[];
  readonly plan: ShardPlan;
  /** Which rows meet; all, where there are none. */
  readonly ranges: KeptRanges | undefined;
  readonly devices: readonly Device[];
  readonly options: ReductionOptions;
  readonly compute: ComputeTask;
}

/** Computes all shards, each device its own one after the other, and puts the results together as they come. */
export async function runShards(call: ShardedCall): Promise<Tensor[]> {
  const { task, used, plan, devices, outs, options, ranges } = call;
  const { debug, onProgress, signal: ended } = options;
  const workers = new Workers(ended);
  const { signal } = workers;
  const merging: Compute = (of) => call.compute(of, { debug, signal });
  const { sizes } = call.call;
  const { what } = task;
  const [{ axis }] = task.reductions;
  const { indexDtype = 'int32' } = options;
  const rules =
    plan.reduced.length === 1
      ? undefined
      : task.reductions.map((one) =>
          mergeRule(one, {
            what,
            dtype: options.outDtype ?? sizes.dtype,
            indexDtype,
            compute: merging,
            isSparse: ranges !== undefined,
          }),
        );
  const shards = plan.kept.flatMap((kept, at) =>
    plan.runs.map(([first, count], run): Shard => {
      return { at, run, kept, reduced: plan.reduced.slice(first, first + count) };
    }),
  );
  const onDone = progressOf(plan.kept.length * plan.reduced.length, onProgress);
  const assembly = new Assembly(call, rules);
  const worker = async (device: Device, at: number): Promise<void> => {
    await computeShards(
      shards.filter((_, shard) => deviceOf(shard, shards.length, devices.length) === at),
      {
        device,
        signal,
        used,
        rules,
        dtype: sizes.dtype,
        inputs: task.inputs,
        axis,
        cell: cellTask(task, rules),
        compute: (of, kept, reduced) =>
          call.compute(of, {
            ...cellOptions(call, rules),
            ranges: ranges && cutRanges(ranges, axis, kept, reduced),
            device,
            signal,
          }),
        deliver: (shard, state) => assembly.add(shard, state),
        onDone,
      },
    );
  };
  try {
    await workers.run(devices, worker);
    const results = assembly.take();
    return await Promise.all(results.map((one, at) => written(one, outs[at])));
  } finally {
    assembly.dispose();
  }
}

/** Options of the reduction of a cell. */
function cellOptions(
  { call, options }: ShardedCall,
  rules: readonly MergeRule[] | undefined,
): ReductionOptions {
  const { accumulate, sumScheme, fastMath, debug, indexDtype, outDtype } = options;
  const { dtype } = call.sizes;
  const ofCell = { accumulate, sumScheme, fastMath, debug, dtype };
  return rules === undefined ? { ...ofCell, indexDtype, outDtype } : ofCell;
}

/** Results are written at the end, whole. */
export async function written(result: Tensor, out: Tensor | undefined): Promise<Tensor> {
  if (out === undefined) return result;
  using made = result;
  await out.copyFrom(made);
  return out;
}

/** What all of them give; where one fails, what the others gave is disposed. */
async function allOrNone<T>(works: readonly Promise<T>[], dispose: (one: T) => void): Promise<T[]> {
  const ends = await Promise.allSettled(works);
  const made = ends.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const failed = ends.find((one) => one.status === 'rejected');
  if (failed === undefined) return made;
  for (const one of made) dispose(one);
  throw failed.reason;
}

/** Puts results together from the states of shards, kept block by kept block. */
class Assembly {
  readonly #call: ShardedCall;
  readonly #rules: readonly MergeRule[] | undefined;
  readonly #home: Device;
  /** By kept block and run. */
  readonly #states: (ShardState | undefined)[][];
  #results: Tensor[] = [];

  constructor(call: ShardedCall, rules: readonly MergeRule[] | undefined) {
    const { plan, devices } = call;
    this.#call = call;
    this.#rules = rules;
    this.#home = devices[0] as Device;
    this.#states = plan.kept.map(() => plan.runs.map(() => undefined));
  }

  /** Takes over a state; resolves when it is where it belongs, or waits for those of other runs. */
  async add({ at, run, kept }: Shard, state: ShardState): Promise<void> {
    const runs = this.#states[at] as (ShardState | undefined)[];
    runs[run] = state;
    const all = runs.filter((one) => one !== undefined);
    if (all.length < runs.length) return;
    this.#states[at] = [];
    const parts = await this.#finished(all);
    await this.#place(kept, parts);
  }

  /** The results, all of whose rows are there. */
  take(): Tensor[] {
    const results = this.#results;
    this.#results = [];
    return results;
  }

  dispose(): void {
    for (const one of this.#results) one.dispose();
    for (const runs of this.#states) for (const one of runs) disposeState(one);
  }

  /** The results of a kept block, on the first device. */
  async #finished(states: readonly ShardState[]): Promise<Tensor[]> {
    const rules = this.#rules;
    const waiting = await allOrNone(
      states.map((one) => this.#moved(one)),
      disposeState,
    );
    if (rules === undefined) return waiting.flat().flatMap(({ tensors }) => tensors);
    const results: Tensor[] = [];
    try {
      let all = waiting.shift() as ShardState;
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        all = await merged(rules, all, next);
      waiting.push(all);
      for (const [at, rule] of rules.entries()) {
        results.push(...(await rule.finish(all[at] as PartialResult)));
      }
      return results;
    } catch (error) {
      for (const one of results) one.dispose();
      throw error;
    } finally {
      for (const one of waiting) disposeState(one);
    }
  }

  async #moved(state: ShardState): Promise<ShardState> {
    const there = async (one: Tensor): Promise<Tensor> => {
      if (one.device === this.#home) return one;
      using away = one;
      return await away.to(this.#home);
    };
    const parts = state.map(async ({ tensors, rows }) => {
      const here = await allOrNone(tensors.map(there), (one) => {
        one.dispose();
      });
      return { tensors: here, rows };
    });
    return allOrNone(parts, (part) => {
      disposeState([part]);
    });
  }

  async #place([first, count]: Rows, parts: readonly Tensor[]): Promise<void> {
    const { wanted, outs, plan } = this.#call;
    if (plan.kept.length === 1) {
      this.#results = [...parts];
      return;
    }
    try {
      if (this.#results.length === 0) {
        this.#results = wanted.map(({ shape, dtype }, at) =>
          empty(shape, { dtype, device: outs[at]?.device ?? this.#home }),
        );
      }
      for (const [at, part] of parts.entries()) {
        const whole = this.#results[at] as Tensor;
        const batch = new Array<null>(whole.rank - 2).fill(null);
        using rows = whole.slice(...batch, [first, first + count]);
        await rows.copyFrom(part);
      }
    } finally {
      for (const one of parts) one.dispose();
    }
  }
}
