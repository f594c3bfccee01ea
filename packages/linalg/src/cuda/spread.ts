import { setImmediate as turn } from 'node:timers/promises';
import type { CudaEvent, CudaStream, DeviceWorkspace } from '@mercer/cuda-runtime';
import type { Device, Storage } from '@mercer/tensor';
import { nativeStream, regionOf, runNative } from '@mercer/tensor/cuda';
import { availableBytes } from './available-bytes.js';
import type { CudaCall } from './cuda-call.js';
import { prepared, solverStreams } from './streams.js';
import type { Scratch } from './scratch.js';

/** Streams for factorisations; more do not overlap further on an H200 (docs/performance.md). */
export const FACTOR_STREAMS = 8;
/** Streams for eigenvalues and singular values: the library's own locks leave nothing to more. */
export const SPECTRAL_STREAMS = 4;
/** Matrices under way on a stream before the next is enqueued: a full queue of the driver would block the caller. */
const AHEAD = 4;
/** Milliseconds of enqueuing after which others may run. */
const PATIENCE = 4;
/** The share of free memory that workspaces may take. */
const SHARE = 0.25;
const ALIGNMENT = 256;

/** Where the library works on one matrix. */
export interface Lane {
  readonly stream: CudaStream;
  readonly workspace: DeviceWorkspace;
}

/** Work on each matrix of a call by itself. */
export interface SpreadWork {
  /** Memory that the work reads or writes. */
  readonly touches: readonly Storage[];
  /** Streams at most. */
  readonly streams: number;
  /** Device bytes that one matrix needs on the way. */
  readonly workspaceBytes: (native: CudaStream) => number;
  /** Told how many matrices were given to the library. */
  readonly onProgress?: CudaCall['onProgress'];
  /** Enqueues the work on matrix z, or does it where it gives a promise. */
  readonly each: (lane: Lane, z: number) => Promise<void> | undefined;
}

/**
 * Does the work on every matrix, in turn on several streams at once: as many as the work allows, the matrices need and free
 * memory has workspaces for. In a capture all of it goes to the call's own stream. A signal ends it between matrices.
 */
export async function spread(call: CudaCall, scratch: Scratch, work: SpreadWork): Promise<void> {
  const { stream, signal } = call;
  const { device, count } = scratch;
  if (count === 0) return;
  const own = nativeStream(stream);
  const wanted = own.capturing ? 1 : Math.min(work.streams, count);
  const first = wanted === 1 ? [stream] : await solverStreams(device, wanted);
  // Also where it is not used now: a capture later could not make its handles.
  await prepared(stream);
  const one = nativeStream(first[0] ?? stream);
  const bytes = Math.ceil((work.workspaceBytes(one) + 1) / ALIGNMENT) * ALIGNMENT;
  const beside = wanted === 1 ? [] : first.slice(0, fitting(device, bytes));
  const workspace = scratch.bytes(bytes * Math.max(1, beside.length));
  const writes = [...work.touches, workspace];
  await runNative(stream, { what: call.setting.what, writes, beside }, async (natives) => {
    const clock: Clock = { since: performance.now(), done: 0, signal };
    const lanes = (natives.beside.length > 0 ? natives.beside : [natives.stream]).map(
      (native, i) => new Queue(native, { ...regionOf(workspace), byteOffset: i * bytes, bytes }),
    );
    const runs = lanes.map((lane, i) => lane.run(work, clock, i, lanes.length, count));
    // Also after a failure nothing may be enqueued behind the work's end.
    const failed = (await Promise.allSettled(runs)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  });
}

/** How many workspaces of a size there is memory for, at least 1. */
function fitting(device: Device, bytes: number): number {
  return Math.max(1, Math.floor((availableBytes(device) * SHARE) / bytes));
}

/** What all lanes share. */
interface Clock {
  /** When others ran last. */
  since: number;
  /** Matrices that were given to the library. */
  done: number;
  readonly signal: AbortSignal | undefined;
}

/** One stream and the matrices that are its own. */
class Queue implements Lane {
  readonly stream: CudaStream;
  readonly workspace: DeviceWorkspace;
  #underWay: CudaEvent[] = [];

  constructor(stream: CudaStream, workspace: DeviceWorkspace) {
    this.stream = stream;
    this.workspace = workspace;
  }

  /** Does what is its own: matrix `first` and every `step`th after it. All lanes share a clock. */
  async run(
    { each, onProgress }: SpreadWork,
    clock: Clock,
    first: number,
    step: number,
    count: number,
  ): Promise<void> {
    try {
      for (let z = first; z < count; z += step) {
        clock.signal?.throwIfAborted();
        await each(this, z);
        onProgress?.({ done: ++clock.done, total: count });
        if (this.stream.capturing || z + step >= count) continue;
        await this.#room();
        if (performance.now() - clock.since > PATIENCE) {
          await turn();
          clock.since = performance.now();
        }
      }
    } finally {
      for (const event of this.#underWay) event.dispose();
    }
  }

  async #room(): Promise<void> {
    const event = this.stream.device.createEvent();
    this.stream.record(event);
    this.#underWay.push(event);
    if (this.#underWay.length <= AHEAD) return;
    const oldest = this.#underWay.shift();
    await oldest?.synchronize();
    oldest?.dispose();
  }
}
