import { CpuRuntimeError } from '../errors.js';
import type {
  RawBinding,
  RawBuffer,
  RawEvent,
  RawFunction,
  RawGraph,
  RawStream,
} from '../raw-binding.js';
import {
  Counted,
  releaseAll,
  valueOf,
  WasmBuffer,
  WasmEvent,
  WasmFunction,
  WasmGraph,
  WasmStream,
  type StreamState,
  type WasmWork,
} from './wasm-handles.js';
import type { WasmHost } from './helper.js';
import { LAUNCH_STATUS, outOfMemory, WasmModule } from './wasm-module.js';

/** Bytes that a launch or a copy reads or writes: of a buffer, or of a view, which may lie in the module's memory. */
type Side = RawBuffer | ArrayBufferView | ArrayBuffer;

/** Most threads of the module (native/wasm/team.h). */
const MOST_THREADS = 128;

/** Caches of usual processors: there is no way to ask. */
const L1_BYTES = 2 ** 15;
const L2_BYTES = 2 ** 20;

function invalid(message: string): CpuRuntimeError {
  return new CpuRuntimeError('INVALID_ARGUMENT', message);
}

function bytesOf(view: ArrayBufferView | ArrayBuffer): Uint8Array {
  const buffer = ArrayBuffer.isView(view) ? view.buffer : view;
  // Of a detached one nothing can be made: it has no bytes.
  if (buffer.byteLength === 0) return new Uint8Array();
  return ArrayBuffer.isView(view)
    ? new Uint8Array(buffer, view.byteOffset, view.byteLength)
    : new Uint8Array(view);
}

/**
 * The runtime in WebAssembly, with the functions of the addon. Work runs when it is enqueued, on the thread of the caller and on
 * helpers where memory can be shared with them; so streams are always idle and events have always fired. Host memory lies in the
 * module's memory.
 */
export class WasmBinding implements RawBinding {
  readonly #module: WasmModule;
  /** For handles that are forgotten. */
  readonly #counted = new FinalizationRegistry<Counted>((one) => {
    one.release();
  });
  readonly #graphs = new FinalizationRegistry<readonly WasmWork[]>(releaseAll);
  #liveBytes = 0;
  #liveBuffers = 0;

  readonly #cores: number;
  #threads = 1;
  /** Whether the program said how many. */
  #decided = false;

  constructor(bytes: Uint8Array<ArrayBuffer>, host: WasmHost) {
    this.#module = new WasmModule(bytes, host);
    this.#cores = this.#module.hasThreads ? host.cores : 1;
    this.#useThreads(this.#cores);
  }

  #useThreads(threads: number): void {
    this.#threads = Math.min(threads, this.#module.hasThreads ? MOST_THREADS : 1);
    this.#module.setThreads(this.#threads);
  }

  /** Errors are of this package's class already. */
  setErrorClass(): void {
    return undefined;
  }

  info() {
    return {
      cores: this.#cores,
      level: 'wasm128',
      simd: 'wasm128',
      model: 'WebAssembly',
      l1Bytes: L1_BYTES,
      l2Bytes: L2_BYTES,
      l3Bytes: 0,
    } as const;
  }

  stats() {
    return {
      liveBytes: this.#liveBytes,
      liveBuffers: this.#liveBuffers,
      externalBytes: 0,
      floatControlViolations: 0,
    };
  }

  threads(): number {
    return this.#threads;
  }

  setThreads(threads: number): void {
    const most = this.#module.hasThreads ? MOST_THREADS : 1;
    if (threads > most) {
      throw new CpuRuntimeError(
        'THREADS_UNAVAILABLE',
        `setting the number of threads to ${threads} failed: the CPU runs WebAssembly, which has at most ${most} here. ` +
          (most > 1
            ? 'Ask for fewer, or install a native binary.'
            : 'Install a native binary for more; a page must be cross-origin isolated and have several cores.'),
      );
    }
    this.#decided = true;
    this.#useThreads(threads);
  }

  /** MERCER_CPU_THREADS is a wish. */
  suggestThreads(threads: number): void {
    if (!this.#decided) this.#useThreads(threads);
  }

  /** @internal Threads beside the caller's that have begun, and in how many launches they did something; for tests. */
  helpers(): { readonly ready: number; readonly helped: number } {
    const { exports } = this.#module;
    return { ready: exports.helpers_ready(), helped: exports.times_helped() };
  }

  /** WebAssembly has one mode: to nearest, with denormal numbers. */
  floatControl(): number {
    return 0;
  }

  get linearMemory(): ArrayBuffer {
    return this.#module.buffer;
  }

  allocate(bytes: number): RawBuffer {
    const address = this.#module.allocate(bytes);
    if (address === 0) throw outOfMemory(bytes);
    this.#liveBytes += bytes;
    this.#liveBuffers += 1;
    const memory = new Counted(address, bytes, () => {
      this.#liveBytes -= bytes;
      this.#liveBuffers -= 1;
      this.#module.release(address);
    });
    const buffer = new WasmBuffer(memory);
    this.#counted.register(buffer, memory, buffer);
    return buffer as unknown as RawBuffer;
  }

  allocateInside(bytes: number): [RawBuffer, ArrayBuffer, number] {
    const buffer = this.allocate(bytes);
    return [buffer, this.#module.buffer, Number(this.addressOfBuffer(buffer))];
  }

  externalArrayBuffer(): undefined {
    return undefined;
  }

  disposeBuffer(buffer: RawBuffer): void {
    this.#dispose(buffer as unknown as WasmBuffer);
  }

  #dispose(handle: WasmBuffer | WasmFunction): void {
    this.#counted.unregister(handle);
    handle.empty()?.release();
  }

  addressOfBuffer(buffer: RawBuffer): bigint {
    return BigInt(valueOf(buffer, WasmBuffer).address);
  }

  addressOfView(view: ArrayBufferView | ArrayBuffer): bigint {
    const bytes = bytesOf(view);
    if (bytes.buffer === this.#module.buffer) return BigInt(bytes.byteOffset);
    throw new CpuRuntimeError(
      'INVALID_ARGUMENT',
      'taking the address of a view failed: WebAssembly sees its own memory alone. Pass a view of a HostBuffer, taken after the last allocation.',
    );
  }

  loadImage(): never {
    throw new CpuRuntimeError(
      'LOAD_FAILED',
      'loading a compiled kernel failed: the CPU runs WebAssembly, which loads no machine code. Use the interpreter, or install a native binary.',
    );
  }

  findFunction(): never {
    return this.loadImage();
  }

  disposeModule(): void {
    return undefined;
  }

  disposeFunction(fn: RawFunction): void {
    this.#dispose(fn as unknown as WasmFunction);
  }

  openLapack(): string {
    return 'WebAssembly loads no library';
  }

  lapackInfo(): undefined {
    return undefined;
  }

  builtinFunction(name: string): [RawFunction, number] | undefined {
    const text = new TextEncoder().encode(name);
    const address = this.#module.withCopies([text], ([at = 0]) =>
      this.#module.call((module) => module.find_builtin(at, text.length)),
    );
    if (address === 0) {
      throw new CpuRuntimeError('SYMBOL_NOT_FOUND', `there is no built-in function named ${name}.`);
    }
    if (this.#module.exports.needs_lapack(address) !== 0) {
      this.#module.exports.release_function(address);
      return undefined;
    }
    const argBytes = this.#module.exports.arg_bytes(address) >>> 0;
    return [this.#functionAt(address, argBytes), argBytes];
  }

  makeProgram(
    words: Int32Array,
    constants: Float64Array,
    level: string,
    paramBytes: number,
  ): RawFunction {
    if (level !== 'wasm128') {
      throw new CpuRuntimeError('UNSUPPORTED_CPU', `the interpreter has no level named ${level}.`);
    }
    const address = this.#module.withCopies(
      [bytesOf(words), bytesOf(constants)],
      ([wordsAt = 0, constantsAt = 0]) =>
        this.#module.call((module) =>
          module.make_program(wordsAt, words.length, constantsAt, constants.length),
        ),
    );
    const argBytes = this.#module.exports.arg_bytes(address) >>> 0;
    if (argBytes !== paramBytes) {
      this.#module.exports.release_function(address);
      throw invalid(
        `a program takes ${argBytes} bytes of parameters, and its kernel declares ${paramBytes}.`,
      );
    }
    return this.#functionAt(address, argBytes);
  }

  #functionAt(address: number, argBytes: number): RawFunction {
    const counted = new Counted(address, argBytes, () => {
      this.#module.exports.release_function(address);
    });
    const handle = new WasmFunction(counted);
    this.#counted.register(handle, counted, handle);
    return handle as unknown as RawFunction;
  }

  createStream(): RawStream {
    return new WasmStream({ capture: undefined, outOfMemory: false }) as unknown as RawStream;
  }

  disposeStream(stream: RawStream): void {
    releaseAll((stream as unknown as WasmStream).empty()?.capture ?? []);
  }

  inFlight(stream: RawStream): number {
    valueOf(stream, WasmStream);
    return 0;
  }

  queryStream(stream: RawStream): boolean {
    valueOf(stream, WasmStream);
    return true;
  }

  async whenDone(stream: RawStream): Promise<void> {
    const state = this.#running(stream, 'waiting for a stream');
    if (!state.outOfMemory) return Promise.resolve();
    state.outOfMemory = false;
    return Promise.reject(
      new CpuRuntimeError(
        'OUT_OF_MEMORY',
        'a launch failed: its scratch memory could not be allocated. Free memory, or use a plan with smaller tiles.',
      ),
    );
  }

  /** A stream that captures nothing. */
  #running(stream: RawStream, what: string) {
    const state = valueOf(stream, WasmStream);
    if (state.capture === undefined) return state;
    throw new CpuRuntimeError(
      'CAPTURING',
      `${what} failed: the stream captures work, and runs none. End the capture first, or use another stream.`,
    );
  }

  recordEvent(stream: RawStream): RawEvent {
    this.#running(stream, 'recording an event');
    return new WasmEvent({ time: performance.now() }) as unknown as RawEvent;
  }

  waitEvent(stream: RawStream, event: RawEvent): void {
    this.#running(stream, 'waiting for an event');
    valueOf(event, WasmEvent);
  }

  queryEvent(event: RawEvent): boolean {
    valueOf(event, WasmEvent);
    return true;
  }

  whenEvent(event: RawEvent): Promise<void> {
    valueOf(event, WasmEvent);
    return Promise.resolve();
  }

  eventTime(event: RawEvent): number {
    return valueOf(event, WasmEvent).time;
  }

  disposeEvent(event: RawEvent): void {
    (event as unknown as WasmEvent).empty();
  }

  launch(
    stream: RawStream,
    fn: RawFunction,
    tasks: number,
    chunk: number,
    _scratchBytes: number,
    params: Uint8Array,
    keepAlive: readonly object[] | undefined,
  ): void {
    const state = valueOf(stream, WasmStream);
    const called = valueOf(fn, WasmFunction);
    if (params.byteLength !== called.bytes) {
      throw invalid(
        `the function takes ${called.bytes} bytes of parameters, got ${params.byteLength}.`,
      );
    }
    const run = (packed: Uint8Array, on: StreamState): void => {
      this.#module.setParams(packed);
      const status = this.#module.call((module) =>
        module.launch(called.address, BigInt(tasks), BigInt(Math.max(1, chunk))),
      );
      if (status === LAUNCH_STATUS.tooLarge)
        throw invalid('the launch has larger blocks than the program runs.');
      if (status === LAUNCH_STATUS.outOfMemory) on.outOfMemory = true;
    };
    if (state.capture === undefined) {
      run(params, state);
      return;
    }
    const taken = params.slice();
    const kept = (keepAlive ?? []).filter((one) => one instanceof WasmBuffer);
    state.capture.push({
      run: (on) => {
        run(taken, on);
      },
      kept: [called, ...kept.map(({ value }) => value)].map((one) => one.keep()),
    });
  }

  copy(
    stream: RawStream,
    target: Side,
    targetOffset: number,
    source: Side,
    sourceOffset: number,
    bytes: number,
    keepAlive: readonly object[] | undefined,
  ): void {
    const state = valueOf(stream, WasmStream);
    const to = this.#side(target);
    const from = this.#side(source);
    assertInside('target', to.bytes, targetOffset, bytes);
    assertInside('source', from.bytes, sourceOffset, bytes);
    const run = (): void => {
      // Copies that overlap are as with memmove.
      to.at(targetOffset, bytes).set(from.at(sourceOffset, bytes));
    };
    if (state.capture === undefined) {
      run();
      return;
    }
    const kept = [target, source, ...(keepAlive ?? [])].filter((one) => one instanceof WasmBuffer);
    state.capture.push({ run, kept: kept.map(({ value }) => value.keep()) });
  }

  /** The module's memory is no ArrayBuffer where it is shared. */
  #isArrayBuffer(side: object): side is ArrayBuffer {
    return side instanceof ArrayBuffer || side === this.linearMemory;
  }

  /** A view of the module's memory is taken by its place there: growth detaches views. */
  #side(side: Side): { bytes: number; at: (offset: number, bytes: number) => Uint8Array } {
    if (!ArrayBuffer.isView(side) && !this.#isArrayBuffer(side)) {
      const { address, bytes } = valueOf(side, WasmBuffer);
      return { bytes, at: (offset, length) => this.#module.bytes(address + offset, length) };
    }
    const view = bytesOf(side);
    const { byteOffset, byteLength: bytes } = view;
    return view.buffer === this.#module.buffer
      ? { bytes, at: (offset, length) => this.#module.bytes(byteOffset + offset, length) }
      : { bytes, at: (offset, length) => view.subarray(offset, offset + length) };
  }

  beginCapture(stream: RawStream): void {
    const state = valueOf(stream, WasmStream);
    if (state.capture !== undefined) {
      throw new CpuRuntimeError(
        'CAPTURING',
        'beginning a capture failed: the stream captures already. End that capture first.',
      );
    }
    state.capture = [];
  }

  endCapture(stream: RawStream): RawGraph {
    const state = valueOf(stream, WasmStream);
    const { capture } = state;
    if (capture === undefined) {
      throw invalid('ending a capture failed: the stream captures nothing. Begin a capture first.');
    }
    state.capture = undefined;
    const graph = new WasmGraph(capture);
    this.#graphs.register(graph, capture, graph);
    return graph as unknown as RawGraph;
  }

  capturing(stream: RawStream): boolean {
    return valueOf(stream, WasmStream).capture !== undefined;
  }

  graphNodeCount(graph: RawGraph): number {
    return valueOf(graph, WasmGraph).length;
  }

  launchGraph(
    stream: RawStream,
    graph: RawGraph,
    times: number,
    between: RawGraph | undefined,
    restsAddress: number,
    restsCount: number,
  ): void {
    const works = valueOf(graph, WasmGraph);
    const others = between === undefined ? [] : valueOf(between, WasmGraph);
    const state = this.#running(stream, 'launching a graph');
    const rests = (): boolean => {
      if (restsCount === 0) return false;
      const { buffer, byteOffset } = this.#module.bytes(restsAddress, 8 * restsCount);
      return !new Float64Array(buffer, byteOffset, restsCount).includes(0);
    };
    for (let done = 0; done < times; done++) {
      if (done > 0) for (const { run } of others) run(state);
      for (const { run } of works) run(state);
      if (rests()) return;
    }
  }

  /** Work is done when it is enqueued: there is nothing to stop. */
  stopGraph(graph: RawGraph): void {
    valueOf(graph, WasmGraph);
  }

  disposeGraph(graph: RawGraph): void {
    const handle = graph as unknown as WasmGraph;
    this.#graphs.unregister(handle);
    releaseAll(handle.empty() ?? []);
  }
}

function assertInside(side: string, size: number, offset: number, bytes: number): void {
  if (offset <= size && bytes <= size - offset) return;
  throw new CpuRuntimeError(
    'OUT_OF_RANGE',
    `copying failed: the ${side} has ${size} bytes, offset ${offset} plus ${bytes} is beyond its end.`,
  );
}
