import type { LoadAttempt } from '../errors.js';
import type { NativeFailure } from './failure.js';

declare const kind: unique symbol;
/** An opaque, type-tagged handle of the addon. */
export interface Handle<K extends string> {
  readonly [kind]: K;
}
export type DeviceHandle = Handle<'device'>;
export type StreamHandle = Handle<'stream'>;
export type EventHandle = Handle<'event'>;
export type BufferHandle = Handle<'buffer'>;
export type PinnedHandle = Handle<'pinned'>;
export type ModuleHandle = Handle<'module'>;
export type FunctionHandle = Handle<'function'>;
export type GraphHandle = Handle<'graph'>;
export type GraphExecHandle = Handle<'graphExec'>;

/** A part of a buffer: its handle and a byte offset. Undefined where it may be left out. */
type Region = readonly [buffer: BufferHandle, offset: number];
type OptionalRegion = Region | readonly [undefined, 0];
/** A matrix in column-major order: a region and its leading dimension in elements. */
type Matrix = readonly [...Region, leading: number];
/** Memory that a call may use, and its bytes. */
type Scratch = readonly [...OptionalRegion, bytes: number];
/** type, vectors, uplo, n, batch, matrix, values */
type EigenProblem = readonly [
  type: number,
  vectors: number,
  uplo: number,
  n: number,
  batch: number,
  ...a: Matrix,
  ...values: Region,
];
/** type, u, vt, rows, columns, matrix, values, and the factors */
type SingularProblem = readonly [
  type: number,
  u: number,
  vt: number,
  rows: number,
  columns: number,
  ...a: Matrix,
  ...values: Region,
  ...u: readonly [...OptionalRegion, leading: number],
  ...vt: readonly [...OptionalRegion, leading: number],
];
/** type, side, transpose, shape of c, number of reflectors, a, tau, c */
type Reflection = readonly [
  type: number,
  side: number,
  transpose: number,
  rows: number,
  columns: number,
  reflectors: number,
  ...a: Matrix,
  ...tau: Region,
  ...c: Matrix,
];

/** Bytes of temporary memory: the device's is given by the caller, the host's is taken by the call. */
export interface WorkspaceBytes {
  readonly deviceBytes: number;
  readonly hostBytes: number;
}

export interface Candidate {
  readonly path: string;
  readonly onlyIfLoaded?: boolean;
}

export interface OpenResult {
  readonly opened: boolean;
  readonly path: string;
  readonly attempts: readonly LoadAttempt[];
}

/** The raw calls, one per driver operation. They throw the errors of `errors.ts`. */
export interface Addon {
  initialise(makeError: (failure: NativeFailure) => Error): ArrayBuffer;
  pendingCount(): number;

  openDriver(candidates: readonly Candidate[]): OpenResult;
  openNvrtc(candidates: readonly Candidate[], major: number): OpenResult;
  openCusolver(candidates: readonly Candidate[]): OpenResult;
  openCublasLt(candidates: readonly Candidate[]): OpenResult;
  driverVersion(): number;
  cusolverVersion(): number;
  cublasLtVersion(): number;
  nvrtcInfo(): { major: number; minor: number; identity: string; archs: number[] };

  deviceCount(): number;
  deviceInfo(index: number): { name: string; uuid: string; totalBytes: number };
  deviceAttribute(index: number, attribute: number): number;
  deviceOpen(index: number): DeviceHandle;
  deviceClose(device: DeviceHandle): void;
  deviceMemory(device: DeviceHandle): { freeBytes: number; totalBytes: number };
  deviceLive(device: DeviceHandle): { bytes: number; buffers: number };
  deviceCause(device: DeviceHandle): Error | undefined;
  deviceSynchronize(device: DeviceHandle): void;
  priorityRange(device: DeviceHandle): [least: number, greatest: number];
  canAccessPeer(device: DeviceHandle, peer: DeviceHandle): boolean;
  enablePeerAccess(device: DeviceHandle, peer: DeviceHandle): void;

  streamCreate(device: DeviceHandle, priority: number): StreamHandle;
  streamDispose(stream: StreamHandle): void;
  streamHandle(stream: StreamHandle): bigint;
  streamQuery(stream: StreamHandle): boolean;
  streamSynchronize(stream: StreamHandle): void;
  streamWhenDone(stream: StreamHandle): Promise<void>;
  streamWhenBelow(stream: StreamHandle, limit: number): Promise<void>;
  streamInFlight(stream: StreamHandle): number;
  streamCapturing(stream: StreamHandle): boolean;
  streamBeginCapture(stream: StreamHandle): void;
  streamEndCapture(stream: StreamHandle): GraphHandle;

  eventCreate(device: DeviceHandle, timing: boolean): EventHandle;
  eventDispose(event: EventHandle): void;
  eventRecord(event: EventHandle, stream: StreamHandle): void;
  eventWaitedBy(event: EventHandle, stream: StreamHandle): void;
  eventQuery(event: EventHandle): boolean;
  eventWhenDone(event: EventHandle): Promise<void>;
  eventElapsedMs(event: EventHandle, since: EventHandle): number;

  bufferCreate(stream: StreamHandle, bytes: number): BufferHandle;
  bufferAddress(buffer: BufferHandle): bigint;
  bufferFree(buffer: BufferHandle, stream: StreamHandle | undefined): void;
  poolState(device: DeviceHandle): {
    usedBytes: number;
    reservedBytes: number;
    releaseThresholdBytes: number;
  };
  poolSetThreshold(device: DeviceHandle, bytes: number): void;
  poolTrim(device: DeviceHandle, keepBytes: number): void;
  pinnedCreate(
    device: DeviceHandle,
    bytes: number,
  ): { handle: PinnedHandle; arrayBuffer: ArrayBuffer };
  pinnedDispose(pinned: PinnedHandle, arrayBuffer: ArrayBuffer): void;

  copyToDevice(
    stream: StreamHandle,
    to: BufferHandle,
    toOffset: number,
    from: Uint8Array,
    fromOffset: number,
    bytes: number,
  ): true | Promise<void>;
  copyToDeviceSync(
    stream: StreamHandle,
    to: BufferHandle,
    toOffset: number,
    from: Uint8Array,
    fromOffset: number,
    bytes: number,
  ): void;
  copyToHost(
    stream: StreamHandle,
    from: BufferHandle,
    fromOffset: number,
    to: Uint8Array,
    toOffset: number,
    bytes: number,
  ): Promise<void>;
  copyToHostSync(
    stream: StreamHandle,
    from: BufferHandle,
    fromOffset: number,
    to: Uint8Array,
    toOffset: number,
    bytes: number,
  ): void;
  copyFromPinned(
    stream: StreamHandle,
    to: BufferHandle,
    toOffset: number,
    from: PinnedHandle,
    fromOffset: number,
    bytes: number,
  ): Promise<void>;
  copyToPinned(
    stream: StreamHandle,
    from: BufferHandle,
    fromOffset: number,
    to: PinnedHandle,
    toOffset: number,
    bytes: number,
  ): Promise<void>;
  copyBetweenBuffers(
    stream: StreamHandle,
    to: BufferHandle,
    toOffset: number,
    from: BufferHandle,
    fromOffset: number,
    bytes: number,
  ): void;
  memset(
    stream: StreamHandle,
    buffer: BufferHandle,
    offset: number,
    value: number,
    count: number,
    width: number,
  ): void;

  moduleLoad(device: DeviceHandle, image: Uint8Array): ModuleHandle;
  moduleLoadLater(
    device: DeviceHandle,
    image: Uint8Array,
    names: readonly string[],
  ): Promise<ModuleHandle>;
  moduleDispose(module: ModuleHandle): void;
  moduleFunction(module: ModuleHandle, name: string): FunctionHandle;
  moduleGlobal(module: ModuleHandle, name: string): { address: bigint; bytes: number };
  functionAttribute(fn: FunctionHandle, attribute: number): number;
  functionSetAttribute(fn: FunctionHandle, attribute: number, value: number): void;
  functionParamSizes(fn: FunctionHandle): number[];
  functionMaxActiveBlocks(fn: FunctionHandle, blockThreads: number, sharedBytes: number): number;
  functionMaxActiveClusters(fn: FunctionHandle): number;
  launch(
    fn: FunctionHandle,
    stream: StreamHandle,
    params: Uint8Array,
    paramOffsets: Uint32Array,
  ): void;
  tensorMapEncode(
    dtype: number,
    address: bigint,
    sizes: BigUint64Array,
    strideBytes: BigUint64Array,
    box: Uint32Array,
    elementStrides: Uint32Array,
    interleave: number,
    swizzle: number,
    l2Promotion: number,
    oobFill: number,
  ): Uint8Array;

  graphNodeCount(graph: GraphHandle): number;
  graphDispose(graph: GraphHandle): void;
  graphInstantiate(graph: GraphHandle): GraphExecHandle;
  graphExecLaunch(exec: GraphExecHandle, stream: StreamHandle): void;
  graphExecUpload(exec: GraphExecHandle, stream: StreamHandle): void;
  graphExecDispose(exec: GraphExecHandle): void;

  solverPrepare(stream: StreamHandle): Promise<void>;
  potrfWorkspace(
    stream: StreamHandle,
    type: number,
    uplo: number,
    n: number,
    leading: number,
  ): WorkspaceBytes;
  potrf(
    stream: StreamHandle,
    type: number,
    uplo: number,
    n: number,
    ...rest: readonly [...a: Matrix, ...work: Scratch, ...info: Region]
  ): void;
  potrs(
    stream: StreamHandle,
    type: number,
    uplo: number,
    n: number,
    columns: number,
    ...rest: readonly [...a: Matrix, ...b: Matrix, ...info: Region]
  ): void;
  getrfWorkspace(
    stream: StreamHandle,
    type: number,
    rows: number,
    columns: number,
    leading: number,
  ): WorkspaceBytes;
  getrf(
    stream: StreamHandle,
    type: number,
    rows: number,
    columns: number,
    ...rest: readonly [...a: Matrix, ...pivots: OptionalRegion, ...work: Scratch, ...info: Region]
  ): void;
  getrs(
    stream: StreamHandle,
    type: number,
    transpose: number,
    n: number,
    columns: number,
    ...rest: readonly [...a: Matrix, ...pivots: OptionalRegion, ...b: Matrix, ...info: Region]
  ): void;
  geqrfWorkspace(
    stream: StreamHandle,
    type: number,
    rows: number,
    columns: number,
    leading: number,
  ): WorkspaceBytes;
  geqrf(
    stream: StreamHandle,
    type: number,
    rows: number,
    columns: number,
    ...rest: readonly [...a: Matrix, ...tau: Region, ...work: Scratch, ...info: Region]
  ): void;
  ormqrWorkspace(stream: StreamHandle, ...problem: Reflection): WorkspaceBytes;
  ormqr(
    stream: StreamHandle,
    ...rest: readonly [...problem: Reflection, ...work: Scratch, ...info: Region]
  ): void;
  potrfBatched(
    stream: StreamHandle,
    type: number,
    uplo: number,
    n: number,
    ...rest: readonly [...pointers: Region, leading: number, count: number, ...infos: Region]
  ): void;
  potrsBatched(
    stream: StreamHandle,
    type: number,
    uplo: number,
    n: number,
    ...rest: readonly [
      ...pointers: Region,
      leading: number,
      ...rights: Region,
      rightLeading: number,
      count: number,
      ...info: Region,
    ]
  ): void;
  syevdWorkspace(stream: StreamHandle, ...problem: EigenProblem): WorkspaceBytes;
  syevd(
    stream: StreamHandle,
    ...rest: readonly [...problem: EigenProblem, ...work: Scratch, ...infos: Region]
  ): Promise<void>;
  gesvdWorkspace(stream: StreamHandle, ...problem: SingularProblem): WorkspaceBytes;
  gesvd(
    stream: StreamHandle,
    ...rest: readonly [...problem: SingularProblem, ...work: Scratch, ...info: Region]
  ): Promise<void>;

  matmul(
    stream: StreamHandle,
    inputType: number,
    outputType: number,
    compute: number,
    transposeA: number,
    transposeB: number,
    m: number,
    n: number,
    k: number,
    batch: number,
    alpha: number,
    beta: number,
    ...rest: readonly [
      ...a: readonly [...Matrix, stride: number],
      ...b: readonly [...Matrix, stride: number],
      ...c: readonly [...Matrix, stride: number],
      ...d: readonly [...Matrix, stride: number],
      ...work: Scratch,
    ]
  ): void;

  nvrtcCompile(
    source: string,
    fileName: string,
    options: readonly string[],
    nameExpressions: readonly string[],
    ptx: boolean,
  ): Promise<{ binary: Uint8Array; log: string; loweredNames: [string, string][] }>;
}
