declare const kind: unique symbol;
interface Handle<Name extends string> {
  readonly [kind]: Name;
}

export type RawStream = Handle<'stream'>;
export type RawEvent = Handle<'event'>;
export type RawModule = Handle<'module'>;
export type RawFunction = Handle<'function'>;
export type RawBuffer = Handle<'buffer'>;
export type RawGraph = Handle<'graph'>;

/** Facts that need no compiler. */
export interface RawInfo {
  readonly cores: number;
  readonly level: string;
  readonly simd: 'avx512' | 'avx2' | 'sse' | 'neon' | 'wasm128';
  readonly model: string;
  readonly l1Bytes: number;
  readonly l2Bytes: number;
  readonly l3Bytes: number;
}

/**
 * The functions of the addon, one to one: the lowest rung. They check types and lifetimes (a wrong call throws
 * {@link CpuRuntimeError}, it never crashes), but not what a kernel does with its parameters.
 */
export interface RawBinding {
  setErrorClass(errorClass: new (code: never, message: string) => Error): void;
  info(): RawInfo;
  stats(): {
    liveBytes: number;
    liveBuffers: number;
    /** What V8 was told about memory outside its heap, by everyone in this environment. */
    externalBytes: number;
    floatControlViolations: number;
  };
  threads(): number;
  setThreads(threads: number): void;
  suggestThreads(threads: number): void;
  /** Control bits of the calling thread's floating-point unit (MXCSR without flags, FPCR). */
  floatControl(): number;

  /**
   * Where all host memory lies in one ArrayBuffer (WebAssembly): that of now. An allocation may put another one in its place and
   * detach this one with its views. Undefined where every buffer has memory of its own.
   */
  readonly linearMemory?: ArrayBuffer;
  allocate(bytes: number): RawBuffer;
  allocateInside(bytes: number): [RawBuffer, ArrayBuffer, number];
  externalArrayBuffer(buffer: RawBuffer): ArrayBuffer | undefined;
  disposeBuffer(buffer: RawBuffer, view: ArrayBuffer | undefined): void;
  addressOfBuffer(buffer: RawBuffer): bigint;
  addressOfView(view: ArrayBufferView | ArrayBuffer): bigint;

  /** `guard: false` loads an image although it changes the floating-point control word; for tests of the guard. */
  loadImage(image: Uint8Array, guard: boolean): RawModule;
  findFunction(module: RawModule, entry: string): RawFunction;
  disposeModule(module: RawModule): void;
  disposeFunction(fn: RawFunction): void;

  /** Why the library at `path` cannot be used; undefined when one is open, this or an earlier one. */
  openLapack(path: string): string | undefined;
  lapackInfo(): { path: string; vendor: string; integerBits: 32 | 64 } | undefined;
  /** A built-in function by name, and the size of its packed parameters; undefined for a routine of LAPACK's while none is open. */
  builtinFunction(name: string, level: string): [RawFunction, number] | undefined;

  /** A program for the interpreter, checked, to be run with this level. */
  makeProgram(
    words: Int32Array,
    constants: Float64Array,
    level: string,
    paramBytes: number,
  ): RawFunction;

  createStream(): RawStream;
  disposeStream(stream: RawStream): void;
  inFlight(stream: RawStream): number;
  queryStream(stream: RawStream): boolean;
  whenDone(stream: RawStream): Promise<void>;
  recordEvent(stream: RawStream): RawEvent;
  waitEvent(stream: RawStream, event: RawEvent): void;
  queryEvent(event: RawEvent): boolean;
  whenEvent(event: RawEvent): Promise<void>;
  eventTime(event: RawEvent): number | undefined;
  disposeEvent(event: RawEvent): void;

  launch(
    stream: RawStream,
    fn: RawFunction,
    tasks: number,
    chunk: number,
    scratchBytes: number,
    params: Uint8Array,
    keepAlive: readonly object[] | undefined,
  ): void;
  copy(
    stream: RawStream,
    target: RawBuffer | ArrayBufferView | ArrayBuffer,
    targetOffset: number,
    source: RawBuffer | ArrayBufferView | ArrayBuffer,
    sourceOffset: number,
    bytes: number,
    keepAlive: readonly object[] | undefined,
  ): void;

  beginCapture(stream: RawStream): void;
  endCapture(stream: RawStream): RawGraph;
  capturing(stream: RawStream): boolean;
  graphNodeCount(graph: RawGraph): number;
  launchGraph(
    stream: RawStream,
    graph: RawGraph,
    times: number,
    between: RawGraph | undefined,
    restsAddress: number,
    restsCount: number,
  ): void;
  stopGraph(graph: RawGraph): void;
  disposeGraph(graph: RawGraph): void;
}
