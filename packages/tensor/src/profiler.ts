import process from 'node:process';
import { appendFileSync, writeFileSync } from 'node:fs';
import type { LaunchableKernel, KernelCost, Scalars } from '@mercer/kernels';
import type { CpuExecutor } from './cpu-executor.js';
import type { DeviceId } from './device.js';
import type { NativeEvent, StreamCore } from './stream-core.js';

/** One launch, or one piece of work of a CUDA library, as measured by events before and after it. */
export interface ProfileRecord {
  /** Readable name of the kernel; of a library's work, the operation. */
  readonly name: string;
  readonly device: DeviceId;
  readonly stream: string;
  /** Milliseconds from the device's first profiled launch to the start of this one. */
  readonly startMs: number;
  readonly durationMs: number;
  readonly scalars: Scalars;
  /** What ran a kernel on the CPU; absent on a GPU. */
  readonly executor?: CpuExecutor;
  /** What the launch must do at least; absent where the kernel does not say. */
  readonly cost?: KernelCost;
}

/** What a record says of the work itself. */
type ProfiledWork = Pick<LaunchableKernel, 'name' | 'cost'>;

interface Pending {
  readonly stream: StreamCore;
  readonly begin: NativeEvent;
  readonly end: NativeEvent;
  readonly kernel: ProfiledWork;
  readonly scalars: Scalars;
  readonly executor: CpuExecutor | undefined;
}

/** Records are written out in pieces, so that a long run does not pile up events. */
const FLUSH_EVERY = 1024;
const EXIT_WAIT_MS = 10_000;

/** Brackets launches with timed events while it is active. */
export class Profiler {
  readonly #base = new Map<DeviceId, NativeEvent>();
  readonly #sink: (records: readonly ProfileRecord[]) => void;
  #pending: Pending[] = [];

  constructor(sink: (records: readonly ProfileRecord[]) => void) {
    this.#sink = sink;
  }

  /** The event before a launch. */
  begin(stream: StreamCore): NativeEvent {
    const event = stream.recordTimed();
    if (!this.#base.has(stream.device.id)) this.#base.set(stream.device.id, event);
    return event;
  }

  /** The event behind a launch. */
  end(
    stream: StreamCore,
    begin: NativeEvent,
    kernel: ProfiledWork,
    scalars: Scalars,
    executor?: CpuExecutor,
  ): void {
    this.#pending.push({ stream, begin, end: stream.recordTimed(), kernel, scalars, executor });
    if (this.#pending.length >= FLUSH_EVERY) this.flush();
  }

  /** Hands over the launches that are done; later ones of a stream wait for earlier ones. */
  flush(): void {
    const waiting = new Set<StreamCore>();
    const rest: Pending[] = [];
    const records: ProfileRecord[] = [];
    for (const launch of this.#pending) {
      if (waiting.has(launch.stream) || !launch.end.query()) {
        waiting.add(launch.stream);
        rest.push(launch);
      } else {
        records.push(this.#measure(launch));
      }
    }
    this.#pending = rest;
    if (records.length > 0) this.#sink(records);
  }

  /** Waits for all launches and hands them over. */
  async finish(): Promise<void> {
    await Promise.all(this.#pending.map(({ end }) => end.synchronize()));
    this.flush();
  }

  /** The same for the end of the process, where nothing can be awaited; gives up after ten seconds. */
  finishSync(): void {
    const sleeper = new Int32Array(new SharedArrayBuffer(4));
    const deadline = performance.now() + EXIT_WAIT_MS;
    this.flush();
    while (this.#pending.length > 0 && performance.now() < deadline) {
      Atomics.wait(sleeper, 0, 0, 1);
      this.flush();
    }
  }

  #measure({ stream, begin, end, kernel, scalars, executor }: Pending): ProfileRecord {
    const { id } = stream.device;
    const base = this.#base.get(id) ?? begin;
    const record: ProfileRecord = {
      name: kernel.name,
      device: id,
      stream: stream.label,
      startMs: begin === base ? 0 : begin.elapsedMs(base as never),
      durationMs: end.elapsedMs(begin as never),
      scalars,
      ...(executor && { executor }),
      ...(kernel.cost === undefined ? {} : { cost: kernel.cost(scalars) }),
    };
    if (begin !== base) begin.dispose();
    end.dispose();
    return record;
  }
}

let active: Profiler | undefined;
let environmentRead = false;

/** The profiler that launches report to, if any. @internal */
export function activeProfiler(): Profiler | undefined {
  if (!environmentRead) {
    environmentRead = true;
    const path = process.env['MERCER_PROFILE'];
    if (path !== undefined && path !== '') active = fileProfiler(path);
  }
  return active;
}

/** Writes JSON lines, the last of them when the process ends. Worker threads add to the same file. */
function fileProfiler(path: string): Profiler {
  writeFileSync(path, '', { flag: 'a' });
  const profiler = new Profiler((records) => {
    appendFileSync(path, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  });
  process.once('exit', () => {
    profiler.finishSync();
  });
  return profiler;
}

/** A profile being taken. */
export interface Profile {
  /** Ends it and resolves with the launches since the start, in the order in which they were enqueued. */
  stop(): Promise<readonly ProfileRecord[]>;
}

/**
 * Measures every launch of this thread from now on, with an event before and after it. Takes over from an earlier
 * profile, and from the one that MERCER_PROFILE asks for, until `stop()`.
 *
 * @example
 * ```ts
 * import { full, startProfile } from '@mercer/tensor';
 *
 * const profile = startProfile();
 * const ones = await full([1000], 1, { device: 'cpu' });
 * await ones.cast('float64');
 * for (const { name, durationMs } of await profile.stop()) console.log(name, durationMs);
 * ```
 */
export function startProfile(): Profile {
  const previous = activeProfiler();
  const records: ProfileRecord[] = [];
  const profiler = new Profiler((done) => {
    records.push(...done);
  });
  active = profiler;
  return {
    stop: async () => {
      if (active === profiler) active = previous;
      await profiler.finish();
      return records;
    },
  };
}
