import { outputsOf } from '@mercer/formula';
import type { Device, Tensor } from '@mercer/tensor';
import { runSteps, type Rows } from '@mercer/tensor/operation';
import type { Input } from '../input.js';
import type { LazyDType } from '../lazy-dtype.js';
import type { JointTask } from '../task.js';
import { BlockInputs, type Cell } from './block-inputs.js';
import type { MergeRule } from './merge-rules.js';
import { disposeState, merged, type ShardState } from './shard-state.js';

/** A kept block with a run of reduced blocks. */
export interface Shard {
  /** The place of the kept block. */
  readonly at: number;
  readonly run: number;
  readonly kept: Rows;
  readonly reduced: readonly Rows[];
}

/** What a device needs for its shards. */
export interface ShardWork {
  readonly device: Device;
  readonly dtype: LazyDType;
  readonly inputs: readonly Input[];
  readonly used: ReadonlySet<number>;
  readonly axis: 0 | 1;
  readonly rules: readonly MergeRule[] | undefined;
  readonly signal: AbortSignal;
  readonly cell: (cell: Cell, inputs: readonly Input[]) => JointTask;
  readonly compute: (task: JointTask, kept: Rows, reduced: Rows) => Tensor[] | Promise<Tensor[]>;
  /** Takes over the state of a shard. */
  readonly deliver: (shard: Shard, state: ShardState) => Promise<void>;
  /** A cell is computed. */
  readonly onDone: () => Promise<void>;
}

/** A cell of a shard. */
export interface Step {
  readonly shard: Shard;
  readonly reduced: Rows;
  readonly cell: Cell;
  readonly isLast: boolean;
}

/** Computes shards on one device, cell by cell: the parts of a shard are merged as they come, and its state is delivered. */
export async function computeShards(shards: readonly Shard[], work: ShardWork): Promise<void> {
  const { device, dtype, used, rules, signal, onDone } = work;
  using stream = device.createStream();
  const inputs = new BlockInputs(work.inputs, used, { device, stream, dtype });
  let state: ShardState | undefined;
  let delivery = Promise.resolve();
  const compute = async (step: Step, arrived: readonly Input[]): Promise<void> => {
    const results = await work.compute(
      work.cell(step.cell, arrived),
      step.shard.kept,
      step.reduced,
    );
    const part = await begun(rules, results, step.reduced);
    const earlier: ShardState | undefined = state;
    state = undefined;
    state =
      earlier === undefined || rules === undefined ? part : await merged(rules, earlier, part);
    if (!step.isLast) return;
    await delivery;
    delivery = work.deliver(step.shard, state);
    delivery.catch(() => undefined);
    state = undefined;
  };
  try {
    await runSteps(
      shards.flatMap((shard) => stepsOf(shard, work.axis)),
      {
        device,
        signal,
        take: ({ cell }) => inputs.take(cell, signal),
        release: ({ cell }) => inputs.release(cell),
        compute,
        onDone,
      },
    );
    await delivery;
  } finally {
    disposeState(state);
    await Promise.allSettled([delivery]);
  }
}

/** The cells of a shard, in their order. */
export function stepsOf(shard: Shard, axis: 0 | 1): readonly Step[] {
  const { kept, reduced } = shard;
  return reduced.map((rows, at) => ({
    shard,
    reduced: rows,
    isLast: at === reduced.length - 1,
    cell: axis === 1 ? { i: kept, j: rows } : { i: rows, j: kept },
  }));
}

/** A cell's results as a state; they are taken over. */
export async function begun(
  rules: readonly MergeRule[] | undefined,
  results: readonly Tensor[],
  [start, rows]: Rows,
): Promise<ShardState> {
  if (rules === undefined) return [{ tensors: results, rows }];
  const state: { tensors: readonly Tensor[]; rows: number }[] = [];
  let place = 0;
  try {
    for (const { parts, begin } of rules) {
      const count = parts.flatMap(outputsOf).length;
      const own = results.slice(place, (place += count));
      state.push({ tensors: await begin(own, start), rows });
    }
    return state;
  } catch (error) {
    disposeState(state);
    throw error;
  } finally {
    for (const one of results) one.dispose();
  }
}
