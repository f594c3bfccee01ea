import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  CudaEvent,
  CudaGraphExec,
  CudaStream,
  DeviceRegion,
  DeviceWorkspace,
} from '@mercer/cuda-runtime';
import type { Device, Storage, Stream } from '@mercer/tensor';
import { nativeStream, NativeTurn, regionOf } from '@mercer/tensor/cuda';
import { availableBytes, waited, type Enqueuing } from '@mercer/tensor/operation';
import type { CudaCall } from './cuda-call.js';
import { captured, Replay } from './replay.js';
import { prepared, solverStreams } from './streams.js';
import type { Scratch } from './scratch.js';

/** Streams for factorisations; more do not overlap further on an H200 (docs/performance/linear-algebra.md). */
export const FACTOR_STREAMS = 8;
/** Streams for eigenvalues and singular values: the library's own locks leave nothing to more. */
export const SPECTRAL_STREAMS = 4;
/**
 * Launches that a stream's queue in the driver takes at once: a full queue would block the caller. Between 512 and 768 held on an
 * H200 (docs/lab/many-large-systems.md).
 */
const QUEUE_LAUNCHES = 512;
/** Matrices under way on a stream that only some are done on, before it waits for the oldest. */
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
  /** The matrix's piece of a storage that the work touches. */
  readonly place: (storage: Storage) => DeviceRegion;
}

/** Work on each matrix of a call by itself: enqueued, or done by a library that waits for it. */
export type SpreadWork = SpreadNeeds &
  (
    | {
        /** Enqueues the work on a matrix. */
        readonly enqueue: (lane: Lane) => void;
        /** Launches of the library for a matrix, about. */
        readonly launches: number;
      }
    | { /** Does the work on a matrix. */ readonly compute: (lane: Lane) => Promise<void> }
  );

type EnqueuedWork = Extract<SpreadWork, { readonly enqueue: unknown }>;

interface SpreadNeeds {
  /** Memory that the work reads or writes: each has an equal piece for every matrix, one after the other. */
  readonly touches: readonly Storage[];
  /** Streams at most. */
  readonly streams: number;
  /** Device bytes that one matrix needs on the way. */
  readonly workspaceBytes: (native: CudaStream) => number;
  /** Which matrices; default all. */
  readonly only?: ((z: number) => boolean) | undefined;
  /** Told how many matrices were given to the library. */
  readonly onProgress?: CudaCall['onProgress'];
}

/**
 * Does the work on every matrix, in turn on several streams at once: as many as the work allows, the matrices need and free
 * memory has workspaces for. In a capture all of it goes to the call's own stream. A signal ends it between matrices.
 *
 * Enqueued work that a stream's queue has no room for is a graph for each stream, launched once for each of its matrices: a launch of
 * a graph takes one place of the queue, so that nothing waits for the device. Work that the library waits for, and work on some
 * matrices only, goes on when the device comes to it.
 */
export function* spread(call: CudaCall, scratch: Scratch, work: SpreadWork): Enqueuing {
  const { stream, signal } = call;
  const { device, count } = scratch;
  if (count === 0) return;
  const own = nativeStream(stream);
  const wanted = own.capturing ? 1 : Math.min(work.streams, count);
  const first = wanted === 1 ? [stream] : yield* solverStreams(device, wanted);
  // Also where it is not used now: a capture later could not make its handles.
  yield* prepared(stream);
  const one = nativeStream(first[0] ?? stream);
  const bytes = Math.ceil((work.workspaceBytes(one) + 1) / ALIGNMENT) * ALIGNMENT;
  const streamsFor = (laneBytes: number): readonly Stream[] => {
    const beside = wanted === 1 ? [] : first.slice(0, fitting(device, laneBytes));
    return beside.length > 0 ? beside : [stream];
  };
  const most = streamsFor(bytes).length;
  const graphs = !own.capturing && overflows(work, Math.ceil(count / most));
  const replay =
    graphs && count > most ? yield* Replay.prepare(call, count, work.touches) : undefined;
  const laneBytes = bytes + (replay?.bytes ?? 0);
  const streams = streamsFor(laneBytes);
  const beside = streams[0] === stream ? [] : streams;
  const memory = scratch.bytes(laneBytes * streams.length);
  const writes = [...work.touches, memory];
  using turn = new NativeTurn(stream, { what: call.setting.what, writes, beside });
  const lanes = streams.map((lane, i): ReplayLane => {
    const native = turn.streams.beside[i] ?? turn.streams.stream;
    const region = { ...regionOf(memory), byteOffset: i * laneBytes };
    const slot = { ...region, byteOffset: region.byteOffset + bytes };
    return { stream: lane, native, workspace: { ...region, bytes }, slot };
  });
  const clock: Clock = { since: performance.now(), done: 0, count, signal };
  if ('enqueue' in work && work.only === undefined) {
    yield* enqueueAll(work, lanes, clock, graphs, replay);
    return;
  }
  yield* waited(async () => {
    const enqueued = lanes.map(({ native, workspace }, i) =>
      new Queue(native, workspace).run(work, { first: i, step: lanes.length, clock }),
    );
    // Also after a failure nothing may be enqueued behind the work's end.
    const failed = (await Promise.allSettled(enqueued)).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected') throw failed.reason;
  });
}

/** All matrices, the lanes in turn: as they are, or each as a launch of its lane's graph. */
function* enqueueAll(
  work: EnqueuedWork,
  lanes: readonly ReplayLane[],
  clock: Clock,
  graphs: boolean,
  replay: Replay | undefined,
): Enqueuing {
  const { count, signal } = clock;
  signal?.throwIfAborted();
  const made: CudaGraphExec[] = [];
  try {
    if (graphs) {
      for (const [first, lane] of lanes.entries()) {
        made.push(graphOf(work, lane, { first, step: lanes.length, clock }, replay));
      }
    }
    for (let z = 0; z < count; z++) {
      signal?.throwIfAborted();
      const { native: stream, workspace } = lanes[z % lanes.length] as ReplayLane;
      const graph = made[z % lanes.length];
      if (graph === undefined) work.enqueue({ stream, workspace, place: pieceOf(z, count) });
      else graph.launch(stream);
      if (isPatienceOver(work, clock)) yield { until: () => breathe(clock), isOptional: true };
    }
  } finally {
    for (const graph of made) graph.dispose();
  }
}

/** Whether a stream's queue lacks room for so many matrices of the work. */
function overflows(work: SpreadWork, matrices: number): boolean {
  return 'enqueue' in work && work.only === undefined && matrices * work.launches > QUEUE_LAUNCHES;
}

/** How many lanes there is memory for, at least 1. */
function fitting(device: Device, bytes: number): number {
  return Math.max(1, Math.floor((availableBytes(device) * SHARE) / bytes));
}

/** What all lanes share. */
interface Clock {
  /** When others ran last. */
  since: number;
  /** Matrices that were given to the library. */
  done: number;
  readonly count: number;
  readonly signal: AbortSignal | undefined;
}

/** The matrices of a lane: `first` and every `step`th after it. */
interface Turns {
  readonly first: number;
  readonly step: number;
  readonly clock: Clock;
}

/** Tells of a matrix; whether others have waited for long. */
function isPatienceOver({ onProgress }: SpreadWork, clock: Clock): boolean {
  onProgress?.({ done: ++clock.done, total: clock.count });
  return performance.now() - clock.since > PATIENCE;
}

/** Lets others run. */
async function breathe(clock: Clock): Promise<void> {
  await nextTurn();
  clock.since = performance.now();
}

/** A stream and its memory. */
interface ReplayLane {
  readonly stream: Stream;
  readonly native: CudaStream;
  readonly workspace: DeviceWorkspace;
  readonly slot: DeviceRegion;
}

/** The work on the matrices of a lane as a graph, launched once for each of them; without `replay` that is one. */
function graphOf(
  work: EnqueuedWork,
  { stream, native, workspace, slot }: ReplayLane,
  { first, step, clock }: Turns,
  replay: Replay | undefined,
): CudaGraphExec {
  const enqueue = (place: Lane['place']): void => {
    work.enqueue({ stream: native, workspace, place });
  };
  return replay === undefined
    ? captured(native, () => {
        enqueue(pieceOf(first, clock.count));
      })
    : replay.capture(stream, slot, { first, step }, enqueue);
}

/** One stream and the matrices that are its own, one by one. */
class Queue {
  readonly #stream: CudaStream;
  readonly #workspace: DeviceWorkspace;
  #underWay: CudaEvent[] = [];

  constructor(stream: CudaStream, workspace: DeviceWorkspace) {
    this.#stream = stream;
    this.#workspace = workspace;
  }

  async run(work: SpreadWork, { first, step, clock }: Turns): Promise<void> {
    const { only } = work;
    const stream = this.#stream;
    const workspace = this.#workspace;
    try {
      for (let z = first; z < clock.count; z += step) {
        if (only?.(z) === false) continue;
        clock.signal?.throwIfAborted();
        const lane = { stream, workspace, place: pieceOf(z, clock.count) };
        if ('enqueue' in work) work.enqueue(lane);
        else await work.compute(lane);
        if (only !== undefined && !stream.capturing) await this.#room();
        if (isPatienceOver(work, clock)) await breathe(clock);
      }
    } finally {
      for (const event of this.#underWay) event.dispose();
    }
  }

  async #room(): Promise<void> {
    const event = this.#stream.device.createEvent();
    this.#stream.record(event);
    this.#underWay.push(event);
    if (this.#underWay.length <= AHEAD) return;
    const oldest = this.#underWay.shift();
    await oldest?.synchronize();
    oldest?.dispose();
  }
}

/** The pieces of matrix z. */
function pieceOf(z: number, count: number): Lane['place'] {
  return (storage) => ({
    ...regionOf(storage),
    byteOffset: (z * storage.bytes) / count,
  });
}
