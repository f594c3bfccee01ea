import { nccl } from '@mercer/cuda-runtime';
import { describeValue, type OptionNames } from '@mercer/options';
import { CudaDevice } from '../cuda-device.js';
import type { DeviceLike, SignalOption } from '../device.js';
import { device as deviceNamed } from '../devices.js';
import { MercerError } from '../mercer-error.js';
import { readOptions } from '../read-options.js';
import { bytesOfId } from './group-id.js';
import { ProcessGroup } from './process-group.js';

/** What a process tells of itself when it joins a group. */
export interface JoinGroupOptions extends SignalOption {
  /** Of `createGroupId()` in one of the processes, the same in all. */
  readonly id: string;
  /** How many processes there are. */
  readonly size: number;
  /** Of this process, from 0 to size - 1. */
  readonly rank: number;
  /** The GPU that it computes on, another one for each process of a machine. Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** How long a call waits for the other processes before it rejects and ends the group. Default 600,000. */
  readonly timeoutMs?: number | undefined;
}

const OPTIONS: OptionNames<JoinGroupOptions> = {
  id: true,
  size: true,
  rank: true,
  device: true,
  timeoutMs: true,
  signal: true,
};

/** Milliseconds that a call waits where nothing is said; some days at most. */
const TIMEOUT = { usual: 600_000, most: 2 ** 31 } as const;

/**
 * Joins a group of processes, each with a GPU of its own, on one machine or several: resolves when all have joined. They talk through NCCL, which is
 * found like CUDA's other libraries. A CPU is no member: its processes have `devices: ['cpu', 'cpu']` and worker threads.
 *
 * Several GPUs of one process need no group: the option `devices` of reductions, distances and gradients spreads rows over them.
 *
 * @throws MercerError INVALID_ARGUMENT; UNSUPPORTED for a CPU; LibraryNotFoundError without NCCL, with what to install; NcclError: NCCL_TIMEOUT where
 *   not all come in time, NCCL_INVALID_USAGE for two ranks on one GPU or ranks that say different sizes; the signal's reason
 *
 * @example
 * ```ts
 * import { joinGroup, tensor } from '@mercer/tensor';
 *
 * // In each of two processes; the one that starts the other has made the id with createGroupId().
 * const { GROUP_ID: id, RANK = '0' } = process.env;
 * if (id !== undefined) {
 *   const rank = Number(RANK);
 *   const group = await joinGroup({ id, rank, size: 2, device: `cuda:${rank}` });
 *   const sum = await group.allReduce(await tensor([rank, 1], { device: group.device }));
 *   console.log(await sum.toNested()); // [ 1, 2 ] in both
 *   await group.close();
 * }
 * ```
 */
export async function joinGroup(options: JoinGroupOptions): Promise<ProcessGroup> {
  const {
    id,
    size,
    rank,
    device: like,
    timeoutMs = TIMEOUT.usual,
    signal,
  } = readOptions('joinGroup', options, OPTIONS);
  const bytes = bytesOfId(id);
  if (!Number.isSafeInteger(size) || size < 1 || size > 2 ** 20) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `joinGroup: size is ${describeValue(size)}. Pass how many processes there are, from 1 on.`,
    );
  }
  if (!Number.isSafeInteger(rank) || rank < 0 || rank >= size) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `joinGroup: rank is ${describeValue(rank)} in a group of ${size}. Pass 0 to ${size - 1}, each in one process.`,
    );
  }
  if (!(timeoutMs > 0 && timeoutMs <= TIMEOUT.most)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `joinGroup: timeoutMs is ${describeValue(timeoutMs)}. Pass milliseconds above 0, or leave it out.`,
    );
  }
  const device = deviceNamed(like);
  if (!(device instanceof CudaDevice)) {
    throw new MercerError(
      'UNSUPPORTED',
      `joinGroup: ${device.id} is no GPU, and groups talk through NCCL, which knows GPUs alone. On a CPU one process uses all cores; pass a device such as 'cuda:0' where there is one.`,
    );
  }
  signal?.throwIfAborted();
  const communicator = await nccl.join(device.native, {
    id: bytes,
    size,
    rank,
    timeoutMs: Math.ceil(timeoutMs),
    signal,
  });
  return new ProcessGroup(communicator, device, { size, rank });
}
