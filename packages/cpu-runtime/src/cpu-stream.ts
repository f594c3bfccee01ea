import { rawBinding } from './addon.js';
import { assertOwn, Branded } from './brand.js';
import { CpuEvent } from './cpu-event.js';
import { CpuGraph } from './cpu-graph.js';
import { CpuRuntimeError } from './errors.js';
import {
  assertStable,
  HostBuffer,
  keepAliveOf,
  type HostBytes,
  isHostArrayBuffer,
} from './host-buffer.js';
import type { RawBuffer, RawStream } from './raw-binding.js';

/** How a graph is repeated. */
export interface Repeated {
  /** Default 1. */
  readonly times?: number | undefined;
  /** Work between two repetitions. */
  readonly between?: CpuGraph | undefined;
  /** Numbers, float64, that are looked at after each repetition: when none of them is 0, the rest is left out. They must lie in memory that one of the graphs keeps. */
  readonly rests?: { readonly address: number; readonly count: number } | undefined;
}

/**
 * A queue of work: launches, copies, events, in the order they were enqueued, one after the other. Different streams run
 * side by side on the one thread pool and share it evenly. Nothing here blocks the event loop.
 */
export class CpuStream extends Branded {
  #raw: RawStream;

  /** @internal Use `cpu.createStream()`. */
  constructor() {
    super();
    this.#raw = rawBinding().createStream();
  }

  /** @internal */
  get raw(): RawStream {
    return this.#raw;
  }

  /** Launches, copies and graphs enqueued and not yet done. */
  get inFlight(): number {
    return rawBinding().inFlight(this.#raw);
  }

  /** True when nothing is left to do. */
  query(): boolean {
    return rawBinding().queryStream(this.#raw);
  }

  /** An event that fires when everything enqueued so far is done. */
  record(): CpuEvent {
    return new CpuEvent(rawBinding().recordEvent(this.#raw));
  }

  /** Work enqueued after this call starts only when `event`, of any stream of this environment, has fired. */
  wait(event: CpuEvent): void {
    assertOwn(event, CpuEvent, 'waiting for an event');
    rawBinding().waitEvent(this.#raw, event.raw);
  }

  /**
   * Resolves when everything enqueued so far is done.
   *
   * Rejects with `OUT_OF_MEMORY` where a launch since the last such promise could not get its scratch memory.
   */
  whenDone(): Promise<void> {
    return rawBinding().whenDone(this.#raw);
  }

  /** The same as {@link whenDone}. */
  synchronize(): Promise<void> {
    return this.whenDone();
  }

  /**
   * Copies `bytes` bytes between host memories, in order with the stream's other work; offsets in bytes. Buffers are kept until
   * the copy is done and may overlap (as memmove). The bytes of any other source are taken during the call, which takes
   * some 0.2 ms for a MiB of this thread.
   *
   * A target is a {@link HostBuffer} or a view of one: other memory of JavaScript can be transferred, resized and given back while
   * the copy waits. See {@link read}.
   *
   * @throws CpuRuntimeError `OUT_OF_RANGE` beyond the end of either side, `DISPOSED` for a disposed buffer, `INVALID_ARGUMENT`
   */
  enqueueCopy(
    target: HostBuffer | HostBytes,
    targetOffset: number,
    source: HostBuffer | HostBytes,
    sourceOffset: number,
    bytes: number,
  ): void {
    assertByteCount(targetOffset, 'targetOffset');
    assertByteCount(sourceOffset, 'sourceOffset');
    assertByteCount(bytes, 'bytes');
    const to = sideOf(target, 'target');
    if (!ownsMemory(target)) {
      throw new CpuRuntimeError(
        'INVALID_ARGUMENT',
        'copying failed: the target is memory of JavaScript, which may be gone when the copy runs. Pass a HostBuffer, or use stream.read.',
      );
    }
    const from = sideOf(source, 'source');
    if (ownsMemory(source)) {
      this.#copy(to, targetOffset, from, sourceOffset, bytes, ownersOf(target, source));
      return;
    }
    const taken = bytesOf(source as HostBytes).slice(sourceOffset, sourceOffset + bytes);
    if (taken.length < bytes) {
      throw new CpuRuntimeError(
        'OUT_OF_RANGE',
        `copying failed: the source has ${(source as HostBytes).byteLength} bytes, offset ${sourceOffset} plus ${bytes} is beyond its end.`,
      );
    }
    this.#copy(to, targetOffset, taken, 0, bytes, [...(ownersOf(target) ?? []), taken]);
  }

  /**
   * The bytes of a buffer as they are when the stream gets there, in an array of their own.
   *
   * @throws CpuRuntimeError `OUT_OF_RANGE` beyond the end of the buffer, `DISPOSED`, `OUT_OF_MEMORY` as {@link whenDone}
   *
   * @example
   * ```ts
   * import { cpu } from '@mercer/cpu-runtime';
   * const buffer = cpu.allocate(8);
   * cpu.defaultStream.enqueueCopy(buffer, 0, Float64Array.of(3), 0, 8);
   * console.log(new Float64Array((await cpu.defaultStream.read(buffer, 0, 8)).buffer)); // Float64Array(1) [ 3 ]
   * ```
   */
  async read(
    source: HostBuffer,
    sourceOffset: number,
    bytes: number,
  ): Promise<Uint8Array<ArrayBuffer>> {
    assertByteCount(bytes, 'bytes');
    const target = new Uint8Array(bytes);
    this.enqueueRead(target, source, sourceOffset);
    await this.whenDone();
    return target;
  }

  /** @internal Fills `target`, which nobody else can reach before the copy is done. */
  enqueueRead(target: ArrayBufferView, source: HostBuffer, sourceOffset: number): void {
    assertByteCount(sourceOffset, 'sourceOffset');
    if (this.capturing) {
      throw new CpuRuntimeError(
        'CAPTURING',
        'reading back failed: the stream captures work, and runs none. End the capture first, or use another stream.',
      );
    }
    const from = sideOf(source, 'source');
    this.#copy(target, 0, from, sourceOffset, target.byteLength, [target]);
  }

  #copy(
    target: RawBuffer | HostBytes,
    targetOffset: number,
    source: RawBuffer | HostBytes,
    sourceOffset: number,
    bytes: number,
    owners: object[] | undefined,
  ): void {
    const raw = this.#raw;
    rawBinding().copy(raw, target, targetOffset, source, sourceOffset, bytes, owners);
  }

  /** True between beginCapture and endCapture. */
  get capturing(): boolean {
    return rawBinding().capturing(this.#raw);
  }

  /**
   * From here on launches and copies go to a graph and do not run. Waiting, events and reading back are errors meanwhile.
   *
   * @throws CpuRuntimeError `CAPTURING` where a capture has begun
   *
   * @example
   * ```ts
   * import { cpu } from '@mercer/cpu-runtime';
   *
   * const stream = cpu.createStream();
   * const [from, to] = [cpu.allocate(8), cpu.allocate(8)];
   * stream.beginCapture();
   * stream.enqueueCopy(to, 0, from, 0, 8);
   * using graph = stream.endCapture();
   *
   * new Float64Array(from.arrayBuffer, from.byteOffset, 1)[0] = 5;
   * stream.enqueueGraph(graph);
   * console.log(new Float64Array((await stream.read(to, 0, 8)).buffer)); // Float64Array(1) [ 5 ]
   * ```
   */
  beginCapture(): void {
    rawBinding().beginCapture(this.#raw);
  }

  /**
   * Ends the capture and returns what was captured.
   *
   * @throws CpuRuntimeError `INVALID_ARGUMENT` where none has begun
   */
  endCapture(): CpuGraph {
    return new CpuGraph(rawBinding().endCapture(this.#raw));
  }

  /**
   * Enqueues all work of a graph, whatever stream it was captured from, once or several times. Repetitions follow each other on the pool's threads, without this one.
   *
   * @throws CpuRuntimeError `CAPTURING` where the stream captures itself, `DISPOSED`, `INVALID_ARGUMENT`
   */
  enqueueGraph(graph: CpuGraph, repeated?: Repeated): void {
    assertOwn(graph, CpuGraph, 'enqueueing a graph');
    const { times = 1, between, rests } = repeated ?? {};
    if (between !== undefined) assertOwn(between, CpuGraph, 'enqueueing a graph');
    rawBinding().launchGraph(
      this.#raw,
      graph.raw,
      times,
      between?.raw,
      rests?.address ?? 0,
      rests?.count ?? 0,
    );
  }

  /** Lets the handle go; work that is enqueued still runs. Using the stream afterwards throws `DISPOSED`. */
  dispose(): void {
    rawBinding().disposeStream(this.#raw);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function sideOf(side: HostBuffer | HostBytes, name: string): RawBuffer | HostBytes {
  if (side instanceof HostBuffer) return side.raw;
  if (!ArrayBuffer.isView(side) && !isHostArrayBuffer(side)) {
    assertOwn(side, HostBuffer, `copying (${name})`);
  }
  assertStable(side, `copying (${name})`);
  return side;
}

/** A view of a HostBuffer keeps the buffer itself too: dispose() would take the memory away under the copy. */
function ownersOf(...sides: readonly (HostBuffer | HostBytes)[]): object[] | undefined {
  const owners = sides.filter((side) => !(side instanceof HostBuffer)).map(keepAliveOf);
  return owners.length === 0 ? undefined : owners;
}

/** Whether the memory stays for as long as its owner, which the copy keeps, whatever becomes of its ArrayBuffer. */
function ownsMemory(side: HostBuffer | HostBytes): boolean {
  if (side instanceof HostBuffer || keepAliveOf(side) !== side) return true;
  const { linearMemory } = rawBinding();
  return (
    linearMemory !== undefined && (ArrayBuffer.isView(side) ? side.buffer : side) === linearMemory
  );
}

function bytesOf(memory: HostBytes): Uint8Array {
  return ArrayBuffer.isView(memory)
    ? new Uint8Array(memory.buffer, memory.byteOffset, memory.byteLength)
    : new Uint8Array(memory);
}

function assertByteCount(value: number, name: string): void {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new CpuRuntimeError(
      'INVALID_ARGUMENT',
      `copying failed: ${name} is ${value}. Pass a safe integer of at least 0.`,
    );
  }
}
