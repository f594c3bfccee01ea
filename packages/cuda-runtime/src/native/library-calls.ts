import type { BufferHandle, CommunicatorHandle, DeviceHandle, StreamHandle } from './handles.js';

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
/** type, side, uplo, transpose, unit diagonal, shape of b, factor of b */
type TriangularProblem = readonly [
  type: number,
  side: number,
  uplo: number,
  transpose: number,
  unit: number,
  rows: number,
  columns: number,
  alpha: number,
];
/** type, n, addresses of the matrices, their leading dimension and number, pivots */
type LuBatch = readonly [
  type: number,
  n: number,
  ...pointers: Region,
  leading: number,
  count: number,
  ...pivots: OptionalRegion,
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

/** The raw calls of cuSOLVER, cuBLASLt and cuBLAS, on a stream. */
export interface LibraryCalls {
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
    widePivots: number,
    rows: number,
    columns: number,
    leading: number,
  ): WorkspaceBytes;
  getrf(
    stream: StreamHandle,
    type: number,
    widePivots: number,
    rows: number,
    columns: number,
    ...rest: readonly [...a: Matrix, ...pivots: OptionalRegion, ...work: Scratch, ...info: Region]
  ): void;
  getrs(
    stream: StreamHandle,
    type: number,
    widePivots: number,
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

  blasPrepare(stream: StreamHandle): Promise<void>;
  trsm(
    stream: StreamHandle,
    ...rest: readonly [...problem: TriangularProblem, ...a: Matrix, ...b: Matrix, ...work: Scratch]
  ): void;
  trsmBatched(
    stream: StreamHandle,
    ...rest: readonly [
      ...problem: TriangularProblem,
      ...pointers: Region,
      leading: number,
      ...rights: Region,
      rightLeading: number,
      count: number,
      ...work: Scratch,
    ]
  ): void;
  getrfBatched(
    stream: StreamHandle,
    ...rest: readonly [...batch: LuBatch, ...infos: Region, ...work: Scratch]
  ): void;
  getrsBatched(
    stream: StreamHandle,
    ...rest: readonly [
      ...batch: LuBatch,
      transpose: number,
      columns: number,
      ...rights: Region,
      rightLeading: number,
      ...work: Scratch,
    ]
  ): void;

  ncclUniqueId(): Uint8Array;
  communicatorCreate(
    device: DeviceHandle,
    size: number,
    rank: number,
    timeoutMs: number,
  ): CommunicatorHandle;
  communicatorJoin(communicator: CommunicatorHandle, id: Uint8Array): Promise<void>;
  communicatorRun(
    communicator: CommunicatorHandle,
    stream: StreamHandle,
    gathers: number,
    type: number,
    reduction: number,
    count: number,
    ...memory: readonly [...input: Region, ...output: Region]
  ): Promise<void>;
  communicatorClose(communicator: CommunicatorHandle): Promise<void>;
  communicatorAbort(communicator: CommunicatorHandle): void;
  communicatorDispose(communicator: CommunicatorHandle): void;
}
