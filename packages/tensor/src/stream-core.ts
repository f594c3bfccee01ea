import {
  SIGNAL_OPTION,
  type Device,
  type SignalOption,
  type Storage,
  type Stream,
} from './device.js';
import { localHandle } from './local-handle.js';
import { ambientStream } from './capture/ambient-stream.js';
import { elsewhere, isCaptured } from './capture/refusals.js';
import type { CaptureLine } from './capture/work-order.js';
import { MercerError } from './mercer-error.js';
import { readOptions } from './read-options.js';
import { unlessAborted } from './unless-aborted.js';

/** A use of memory: everything that was enqueued on `stream` up to number `seq`. */
export interface StreamUse {
  readonly stream: StreamCore;
  readonly seq: number;
}

const HANDLE = localHandle('a stream', 'Create one there, with device.createStream().');

/** Launches that may be in flight on one stream; a full driver queue would block the caller for long. */
export const LAUNCH_LIMIT = 256;
const MARK_EVERY = LAUNCH_LIMIT / 4;
const SLEEP_MS = 0.05;

/** An event of either runtime. @internal */
export interface NativeEvent {
  query(): boolean;
  synchronize(): Promise<void>;
  elapsedMs(since: never): number;
  dispose(): void;
}

interface Mark {
  readonly event: NativeEvent;
}

/** Work that was captured from a stream. @internal */
export interface CapturedGraph {
  /** Enqueues all of it on a stream of the device; several times on a CPU alone, where a GPU has a graph for that. */
  launch(stream: StreamCore, repeated?: RepeatedGraph): void;
  /** Ends repetitions that are enqueued already with the one under way; undefined on a GPU, where the host enqueues each. */
  readonly stop?: () => void;
  dispose(): void;
}

/** How a CPU repeats captured work. @internal */
export interface RepeatedGraph {
  readonly times: number;
  /** Work between two repetitions. */
  readonly between: CapturedGraph;
  /** The rest is left out when none of these numbers, float64, is 0. */
  readonly rests: { readonly address: number; readonly count: number } | undefined;
}

/** Who captures the work of a stream. @internal */
export interface StreamCapture {
  /** Whether calls wait for compiled kernels, or take what there is at once as they do elsewhere. */
  readonly waitsForCompiler: boolean;
  /** Whether some of it is interpreted, or may be, until its kernels are compiled. */
  isProvisional: boolean;
  /** Captured work uses memory that was there before. */
  touch(storage: Storage, writes: boolean): void;
  /** Work that touches these storages and nothing else is captured from here to `end`: it need not wait for what does not touch them. */
  begin(reads: readonly Storage[], writes: readonly Storage[]): void;
  /** The same for work that reads the arguments of each replay, which may be any memory that was there before. */
  beginWithArguments(writes: readonly Storage[]): void;
  end(): void;
}

let sleeper: Int32Array<SharedArrayBuffer> | undefined;

/** Blocks for a moment. Memory that is shared comes with the first need, as pages may have none, and no need either. */
function sleep(): void {
  sleeper ??= new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(sleeper, 0, 0, SLEEP_MS);
}

/** What both kinds of stream share: order across streams and the bound on launches in flight. @internal */
export abstract class StreamCore<E extends NativeEvent = NativeEvent> implements Stream {
  private readonly handle = HANDLE;
  readonly device: Device;
  readonly label: string;
  /** Whether kernels are only asked for where they would be launched. */
  onlyAsks = false;
  /** Number of operations enqueued so far. */
  enqueued = 0;
  #disposed = false;
  #upperBound = 0;
  #sinceMark = 0;
  #marks: Mark[] = [];
  readonly #waitedFor = new WeakMap<StreamCore, number>();
  #newest: StreamUse | undefined;
  #tail: { readonly seq: number; readonly event: E } | undefined;
  #capture: StreamCapture | undefined;
  #capturedFrom = Infinity;

  constructor(device: Device, label: string) {
    this.device = device;
    this.label = label;
  }

  abstract get inFlight(): number;
  abstract record(): E;
  /** An event that can be measured against others. */
  abstract recordTimed(): E;
  protected abstract waitEvent(event: E): void;
  protected abstract whenDone(): Promise<void>;
  protected abstract release(): void;
  protected abstract startCapture(): void;
  protected abstract finishCapture(): CapturedGraph;

  /** How captured work gets into an order of its own; undefined where it is a list. */
  abstract get captureLine(): CaptureLine | undefined;

  get disposed(): boolean {
    return this.#disposed;
  }

  /** True while work is recorded into a graph instead of running. */
  get capturing(): boolean {
    return false;
  }

  /** Who captures its work, or did. */
  get capture(): StreamCapture | undefined {
    return this.#capture;
  }

  /** Whether a use of memory is only captured, and was never enqueued. */
  hasCaptured(use: StreamUse): boolean {
    return use.seq >= this.#capturedFrom && use.stream === this;
  }

  /** Captures all work from here on, until `endCapture`. Who waits for the stream waits for what was enqueued before. */
  beginCapture(capture: StreamCapture): void {
    this.tail();
    this.startCapture();
    this.enqueued++;
    this.#capturedFrom = this.enqueued;
    this.#capture = capture;
  }

  /** What was captured. It is the end of the stream. */
  endCapture(): CapturedGraph {
    this.#disposed = true;
    this.#dropMarks();
    try {
      return this.finishCapture();
    } finally {
      this.release();
    }
  }

  assertAlive(): void {
    if (this.#disposed && this.#capture !== undefined) {
      throw new MercerError(
        'CAPTURED',
        `${this.label}: prepare() has captured the function, and work of it comes later. Await everything in the function before it ends.`,
      );
    }
    if (this.#disposed) {
      throw new MercerError(
        'DISPOSED',
        `${this.label}: the stream was disposed. Create another with device.createStream().`,
      );
    }
  }

  /** Work enqueued here from now on starts after the other stream's work up to `use.seq`. */
  waitFor(use: StreamUse): void {
    const other = use.stream as StreamCore<E>;
    if (other === this || (this.#waitedFor.get(other) ?? -1) >= use.seq) return;
    if (other.hasCaptured(use)) throw isCaptured('a tensor');
    const tail = other.tail();
    this.waitEvent(tail.event);
    this.#waitedFor.set(other, tail.seq);
  }

  /** An event behind everything enqueued so far; the same one while nothing is added. */
  tail(): { readonly seq: number; readonly event: E } {
    if (this.#capture !== undefined && this.#tail !== undefined) return this.#tail;
    if (this.#tail?.seq !== this.enqueued) {
      this.#tail?.event.dispose();
      this.#tail = { seq: this.enqueued, event: this.record() };
    }
    return this.#tail;
  }

  /** The work that was enqueued last. */
  newest(): StreamUse {
    const seq = this.enqueued;
    if (this.#newest?.seq !== seq) this.#newest = { stream: this, seq };
    return this.#newest;
  }

  /** True when a launch would not have to wait. */
  hasRoom(): boolean {
    if (this.#upperBound < LAUNCH_LIMIT) return true;
    this.#upperBound = this.inFlight;
    return this.#upperBound < LAUNCH_LIMIT;
  }

  /** Counts one launch in, and blocks while too many are in flight. */
  admit(): void {
    this.assertAlive();
    while (!this.hasRoom()) sleep();
    this.#upperBound++;
    this.#sinceMark++;
    // An event of a capture cannot be asked whether it is reached.
    if (this.#sinceMark >= MARK_EVERY && !this.capturing) {
      this.#sinceMark = 0;
      this.#marks = this.#marks.filter((mark) => {
        const pending = !mark.event.query();
        if (!pending) mark.event.dispose();
        return pending;
      });
      this.#marks.push({ event: this.record() });
    }
  }

  async room(options?: SignalOption): Promise<void> {
    const { signal } = readOptions('room', options, SIGNAL_OPTION);
    signal?.throwIfAborted();
    this.assertAlive();
    while (!this.hasRoom()) {
      const oldest = this.#marks.find((mark) => !mark.event.query());
      // A failed device has no queue left; its error reaches whoever waits for results.
      const done = (oldest?.event.synchronize() ?? this.whenDone()).catch(() => undefined);
      await unlessAborted(done, signal);
      if (oldest === undefined) return;
    }
  }

  async synchronize(options?: SignalOption): Promise<void> {
    const { signal } = readOptions('synchronize', options, SIGNAL_OPTION);
    signal?.throwIfAborted();
    this.assertAlive();
    await unlessAborted(this.whenDone(), signal);
  }

  /** Resolves when everything enqueued so far is done, also on a stream that was disposed since. */
  tailDone(): Promise<void> {
    return this.#disposed ? this.tail().event.synchronize() : this.whenDone();
  }

  dispose(): void {
    if (this.#disposed) return;
    this.tail();
    this.#disposed = true;
    this.#dropMarks();
    this.release();
  }

  #dropMarks(): void {
    for (const mark of this.#marks) mark.event.dispose();
    this.#marks = [];
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Waits until a launch would not block, without a turn where that is so. @throws the signal's reason */
export async function waitForRoom(stream: Stream, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  if (!(isStreamCore(stream) && stream.hasRoom())) await stream.room({ signal });
}

const isStreamCore = (value: unknown): value is StreamCore => value instanceof StreamCore;

/**
 * The stream an operation runs on: the caller's, checked, or the device's default.
 *
 * @throws MercerError INVALID_ARGUMENT, DEVICE_MISMATCH, DISPOSED
 */
export function streamFor(device: Device, stream: Stream | undefined, what: string): StreamCore {
  const chosen: unknown = stream ?? device.defaultStream;
  if (!isStreamCore(chosen)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: options.stream is not a stream of this package. Use device.createStream().`,
    );
  }
  if (chosen.device !== device) {
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: ${chosen.label} belongs to ${chosen.device.id} and the work to ${device.id}. Use a stream of ${device.id}.`,
    );
  }
  chosen.assertAlive();
  const ambient = ambientStream();
  if (ambient?.capture !== undefined && ambient !== chosen) {
    throw elsewhere(what, ambient.device, chosen.label);
  }
  return chosen;
}
