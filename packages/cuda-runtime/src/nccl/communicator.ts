import { onAbort, type OptionNames } from '@mercer/options';
import { codeOf } from '../code-of.js';
import type { CudaDevice } from '../device.js';
import { regionOf, type DeviceRegion } from '../device-region.js';
import { requireNccl } from '../library/open-libraries.js';
import type { Addon } from '../native/addon.js';
import type { CommunicatorHandle } from '../native/handles.js';
import { handleOf, native, Owned } from '../native/owned.js';
import { readOptions } from '../read-options.js';
import type { CudaStream } from '../stream.js';

const types = {
  int8: 0,
  uint8: 1,
  int32: 2,
  uint32: 3,
  int64: 4,
  uint64: 5,
  float16: 6,
  float32: 7,
  float64: 8,
  bfloat16: 9,
} as const;
const reductions = { sum: 0, product: 1, maximum: 2, minimum: 3, mean: 4 } as const;

/** Element types that NCCL computes with. */
export type NcclType = keyof typeof types;

/** How values of all ranks become one. */
export type NcclReduction = keyof typeof reductions;

/** What a process tells of itself when it joins a group. */
export interface JoinOptions {
  /** Of `nccl.uniqueId()` in one of the processes, the same in all. */
  readonly id: Uint8Array;
  /** How many processes there are. */
  readonly size: number;
  /** From 0 to size - 1, each once. */
  readonly rank: number;
  /** How long a call waits for the other ranks before it rejects and ends the group. Default ten minutes. */
  readonly timeoutMs?: number | undefined;
  /** Gives up joining. */
  readonly signal?: AbortSignal | undefined;
}

/** What all ranks gather. */
export interface GatherOptions {
  readonly dtype: NcclType;
  /** Elements of each rank. */
  readonly count: number;
  readonly input: DeviceRegion;
  /** `count` elements of each rank, in the order of ranks, or as many as the input of a reduction. */
  readonly output: DeviceRegion;
}

/** What all ranks reduce; the output may be the input. */
export interface ReduceOptions extends GatherOptions {
  /** Default sum. */
  readonly reduction?: NcclReduction | undefined;
}

const JOIN: OptionNames<JoinOptions> = {
  id: true,
  size: true,
  rank: true,
  timeoutMs: true,
  signal: true,
};
const GATHER: OptionNames<GatherOptions> = { dtype: true, count: true, input: true, output: true };
const REDUCE: OptionNames<ReduceOptions> = { ...GATHER, reduction: true };

const TEN_MINUTES = 600_000;

/**
 * One process's place in a group. Its calls run one after the other, in the order in which they were made; each resolves when its
 * result is in device memory. A call that ranks make differently rejects with `GROUP_MISMATCH` on all of them; any other failure, and a rank that
 * does not come within the timeout, ends the group.
 */
export class NcclCommunicator extends Owned<CommunicatorHandle> {
  readonly #addon: Addon;
  /** @internal */
  constructor(addon: Addon, handle: CommunicatorHandle) {
    super(handle);
    this.#addon = addon;
  }

  /**
   * Reduces the inputs of all ranks, element by element, into the output of each. It starts after the work enqueued on the stream so far.
   *
   * @see ncclAllReduce: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/colls.html
   */
  async allReduce(stream: CudaStream, options: ReduceOptions): Promise<void> {
    const { reduction = 'sum', ...rest } = readOptions('allReduce', options, REDUCE);
    await this.#run(stream, rest, false, codeOf(reductions, reduction, 'The reduction'));
  }

  /**
   * Puts the inputs of all ranks one after the other into the output of each.
   *
   * @see ncclAllGather: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/colls.html
   */
  async allGather(stream: CudaStream, options: GatherOptions): Promise<void> {
    const read = readOptions('allGather', options, GATHER);
    await this.#run(stream, read, true, 0);
  }

  async #run(
    stream: CudaStream,
    { dtype, count, input, output }: GatherOptions,
    gathers: boolean,
    reduction: number,
  ): Promise<void> {
    const type = codeOf(types, dtype, 'The element type');
    await this.#addon.communicatorRun(
      ...([this[native], handleOf(stream, 'CudaStream'), Number(gathers), type] as const),
      ...([reduction, count, ...regionOf(input), ...regionOf(output)] as const),
    );
  }

  /** Leaves the group when what was called before has ended. All ranks close. */
  async close(): Promise<void> {
    await this.#addon.communicatorClose(this[native]);
  }

  /** Gives up what is under way: it rejects with `NCCL_ABORTED`, here and, when their time is over, on the other ranks. */
  abort(): void {
    this.#addon.communicatorAbort(this[native]);
  }

  /** Leaves the group at once, whatever is under way. */
  dispose(): void {
    this.#addon.communicatorDispose(this[native]);
  }
}

/**
 * Joins a group of processes, which takes as long as the last of them does to join.
 *
 * @throws NcclError, also NCCL_TIMEOUT; LibraryNotFoundError; CudaError
 * @see ncclCommInitRankConfig: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/comms.html
 */
export async function joinCommunicator(
  device: CudaDevice,
  options: JoinOptions,
): Promise<NcclCommunicator> {
  const { id, size, rank, timeoutMs = TEN_MINUTES, signal } = readOptions('join', options, JOIN);
  signal?.throwIfAborted();
  const addon = requireNccl();
  const handle = addon.communicatorCreate(handleOf(device, 'CudaDevice'), size, rank, timeoutMs);
  const communicator = new NcclCommunicator(addon, handle);
  const giveUp = (): void => {
    communicator.abort();
  };
  const stop = signal === undefined ? undefined : onAbort(signal, giveUp);
  try {
    await addon.communicatorJoin(handle, id);
    signal?.throwIfAborted();
    return communicator;
  } catch (error) {
    communicator.dispose();
    signal?.throwIfAborted();
    throw error;
  } finally {
    stop?.();
  }
}
