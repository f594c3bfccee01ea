import type { Device, LoadOptions, ShardOptions, Tensor } from '@mercer/tensor';
import {
  deviceOf,
  HeldBlocks,
  progressOf,
  runSteps,
  shardsWithin,
  Workers,
  type Rows,
  type ShardProblem,
} from '@mercer/tensor/operation';
import { MovedTensors } from './blocked-call.js';
import type { PairValues } from './pair-values.js';
import type { BlockPlace, SideRows } from './side-rows.js';

/** Some rows of both sides. */
export interface PairRows {
  readonly rows: Rows;
  readonly columns: Rows;
}

/** A block that is computed. */
export interface BlockStep extends PairRows {
  /** Which blocks are computed on one device, in their order. */
  readonly group: number;
  /** Of the group. */
  readonly isLast: boolean;
}

/** What blocks read of one input. */
export interface BlockRead {
  /** Blocks of equal keys are the same. */
  readonly key: (of: PairRows) => string;
  readonly bring: (of: PairRows, place: BlockPlace) => Promise<Tensor>;
}

/** Rows of one side. */
export const readRowsOf = (side: keyof PairRows, { bring }: SideRows): BlockRead => ({
  key: (of) => of[side].join(),
  bring: (of, place) => bring(of[side], place),
});

/** Values of pairs. */
export const readPairs = ({ bring }: PairValues): BlockRead => ({
  key: ({ rows, columns }) => `${rows.join()} ${columns.join()}`,
  bring: ({ rows, columns }, place) => bring(rows, columns, place),
});

/** What is gone through block by block; `N` are the names of its inputs. */
export interface BlockedPairs<N extends string> {
  readonly call: ShardOptions &
    LoadOptions & { readonly what: string; readonly parameters: readonly Tensor[] };
  readonly devices: readonly Device[];
  readonly reads: Readonly<Record<N, BlockRead>>;
}

/** What a block is computed with, on its device. */
export interface BlockInputs<N extends string> {
  readonly inputs: Readonly<Record<N, Tensor>>;
  readonly parameters: readonly Tensor[];
  readonly signal: AbortSignal;
}

/** What is computed of a block without rows, which tells shapes and dtypes: everything is checked. */
export async function ofNothing<N extends string, T>(
  { call, devices, reads }: BlockedPairs<N>,
  compute: (given: BlockInputs<N>) => Promise<T>,
): Promise<T> {
  const { signal = new AbortController().signal } = call;
  using held = new BlocksOnDevice(reads, devices[0] as Device, signal);
  const none: PairRows = { rows: [0, 0], columns: [0, 0] };
  try {
    const parameters = await held.parameters(call.parameters);
    return await compute({ inputs: await held.take(none), parameters, signal });
  } finally {
    await held.release(none);
  }
}

/** How rows are cut, and where blocks are computed. */
export interface BlockCut {
  /** Sizes that decide how rows are cut. */
  readonly sizes: Omit<ShardProblem, 'maxBytes'>;
  /** Whether rows of the first side are kept while those of the other side pass. */
  readonly byRows: boolean;
  /** How many groups of blocks there are at most; by default each shard is one. */
  readonly groups?: number;
}

/** What a device does: it has `run` compute its blocks, one after the other. */
export type DeviceWork<N extends string> = (
  device: Device,
  run: (compute: (step: BlockStep, given: BlockInputs<N>) => Promise<void>) => Promise<void>,
) => Promise<void>;

/**
 * Goes through all blocks, each device through its own: while one is computed, the inputs of the next arrive. How rows are cut does not depend on the number of devices.
 *
 * @param into gives what was collected, and leaves nothing of work that ends early
 */
export async function runBlocks<N extends string, T>(
  { call, devices, reads }: BlockedPairs<N>,
  { sizes, byRows, groups: most = Infinity }: BlockCut,
  work: DeviceWork<N>,
  into: {
    readonly finish: (groups: number) => Promise<T>;
    readonly abandon: () => Promise<void>;
  },
): Promise<T> {
  try {
    const { what, maxBytes, onProgress, parameters, signal: ended } = call;
    const plan = shardsWithin(what, sizes, devices, maxBytes);
    const shards = plan.kept.flatMap((kept) =>
      plan.runs.map(([first, count]) =>
        plan.reduced
          .slice(first, first + count)
          .map((other): PairRows =>
            byRows ? { rows: kept, columns: other } : { rows: other, columns: kept },
          ),
      ),
    );
    const count = Math.min(most, shards.length);
    const groups = Array.from({ length: count }, (_, group) => {
      const own = shards
        .filter((_, shard) => deviceOf(shard, shards.length, count) === group)
        .flat();
      return own.map((one, at): BlockStep => ({ ...one, group, isLast: at === own.length - 1 }));
    });
    const onDone = progressOf(plan.kept.length * plan.reduced.length, onProgress);
    const workers = new Workers(ended);
    const { signal } = workers;
    await workers.run(devices, async (device, at) => {
      const steps = groups.filter((_, one) => deviceOf(one, count, devices.length) === at).flat();
      if (steps.length === 0) return;
      using held = new BlocksOnDevice(reads, device, signal);
      const there = await held.parameters(parameters);
      await work(device, (compute) =>
        runSteps<BlockStep, Readonly<Record<N, Tensor>>>(steps, {
          device,
          signal,
          onDone,
          take: (step) => held.take(step),
          release: (step) => held.release(step),
          compute: (step, inputs) => compute(step, { inputs, parameters: there, signal }),
        }),
      );
    });
    return await into.finish(count);
  } catch (error) {
    await into.abandon();
    throw error;
  }
}

/** Blocks of inputs on a device: each is brought there once while a step uses it. */
class BlocksOnDevice<N extends string> implements Disposable {
  readonly #reads: readonly (readonly [name: N, read: BlockRead])[];
  readonly #place: BlockPlace;
  readonly #moved: MovedTensors;
  readonly #held = new HeldBlocks<Tensor>((block) => {
    block.dispose();
  });

  constructor(reads: Readonly<Record<N, BlockRead>>, device: Device, signal: AbortSignal) {
    this.#reads = Object.entries(reads) as [N, BlockRead][];
    this.#place = { device, stream: device.createStream(), signal };
    this.#moved = new MovedTensors(device);
  }

  parameters(tensors: readonly Tensor[]): Promise<readonly Tensor[]> {
    return this.#moved.all(tensors, this.#place.signal);
  }

  /** The inputs of a block; each call needs a `release`. */
  async take(of: PairRows): Promise<Readonly<Record<N, Tensor>>> {
    const taken = this.#reads.map(async ([name, { key, bring }]) => {
      const block = await this.#held.take(`${name} ${key(of)}`, () => bring(of, this.#place));
      return [name, block] as const;
    });
    return Object.fromEntries(await Promise.all(taken)) as Record<N, Tensor>;
  }

  async release(of: PairRows): Promise<void> {
    for (const [name, { key }] of this.#reads) await this.#held.release(`${name} ${key(of)}`);
  }

  [Symbol.dispose](): void {
    this.#moved[Symbol.dispose]();
    this.#place.stream.dispose();
  }
}
