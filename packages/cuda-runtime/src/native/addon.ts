import type { LoadAttempt } from '../errors.js';
import type { NativeFailure } from './failure.js';
import type {
  BufferHandle,
  DeviceHandle,
  EventHandle,
  FunctionHandle,
  GraphExecHandle,
  GraphHandle,
  ModuleHandle,
  PinnedHandle,
  StreamHandle,
} from './handles.js';
import type { LibraryCalls } from './library-calls.js';

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
export interface Addon extends LibraryCalls {
  initialise(makeError: (failure: NativeFailure) => Error): ArrayBuffer;
  pendingCount(): number;

  openDriver(candidates: readonly Candidate[]): OpenResult;
  openNvrtc(candidates: readonly Candidate[], major: number): OpenResult;
  openCusolver(candidates: readonly Candidate[]): OpenResult;
  openCublasLt(candidates: readonly Candidate[]): OpenResult;
  openCublas(candidates: readonly Candidate[]): OpenResult;
  openNccl(candidates: readonly Candidate[]): OpenResult;
  driverVersion(): number;
  cusolverVersion(): number;
  cublasLtVersion(): number;
  cublasVersion(): number;
  ncclVersion(): number;
  nvrtcInfo(): { major: number; minor: number; identity: string; archs: number[] };

  deviceCount(): number;
  deviceInfo(index: number): { name: string; uuid: string; totalBytes: number };
  deviceAttribute(index: number, attribute: number): number;
  deviceOpen(index: number, mostLaunchGraphs: number): DeviceHandle;
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
  streamKeepForCapture(stream: StreamHandle, buffer: BufferHandle): void;
  streamEndCapture(stream: StreamHandle): GraphHandle;
  streamCapturePoint(stream: StreamHandle): number;
  streamFollowCapture(stream: StreamHandle, points: Uint32Array): void;

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
  bufferIsHeld(buffer: BufferHandle): boolean;
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
  launchIn(
    f: FunctionHandle,
    graph: GraphExecHandle,
    point: number,
    params: Uint8Array,
    offsets: Uint32Array,
    ofLoops: boolean,
  ): void;
  loopOf(
    f: FunctionHandle,
    graph: GraphExecHandle,
    params: Uint8Array,
    offsets: Uint32Array,
  ): GraphExecHandle;
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

  nvrtcCompile(
    source: string,
    fileName: string,
    options: readonly string[],
    nameExpressions: readonly string[],
    ptx: boolean,
  ): Promise<{ binary: Uint8Array; log: string; loweredNames: [string, string][] }>;
}
