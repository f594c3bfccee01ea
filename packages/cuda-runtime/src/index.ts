export { cudaAttributes, type CudaAttribute } from './attributes.js';
export { cuda, type CudaReport, type DeviceSummary } from './cuda.js';
export { CudaFunction, type FunctionAttributes, type LaunchGeometry } from './cuda-function.js';
export { cublas } from './cublas/cublas.js';
export type { GetrfBatchedOptions, GetrsBatchedOptions, LuBatch } from './cublas/batched-lu.js';
export type { TriangularSolve, TrsmBatchedOptions, TrsmOptions } from './cublas/triangular.js';
export { cublasLt } from './cublaslt/cublaslt.js';
export { enqueueMatmul, type WholeProduct } from './cublaslt/matmul.js';
export type {
  MatmulOptions,
  ProductCompute,
  ProductMatrix,
  ProductType,
} from './cublaslt/matmul.js';
export type { PotrfBatchedOptions, PotrsBatchedOptions } from './cusolver/batched-cholesky.js';
export type { PotrfOptions, PotrfShape, PotrsOptions } from './cusolver/cholesky.js';
export type { PivotType, RealType, Side, Triangle } from './matrix-options.js';
export { cusolver } from './cusolver/cusolver.js';
export type {
  SyevBatchedOptions,
  SyevBatchedShape,
  SyevdOptions,
  SyevdShape,
} from './cusolver/eigen.js';
export type { FactorShape, GetrfOptions, GetrfShape, GetrsOptions } from './cusolver/lu.js';
export type { GeqrfOptions, OrmqrOptions, OrmqrShape } from './cusolver/qr.js';
export type { GesvdOptions, GesvdShape, SingularVectors } from './cusolver/svd.js';
export { DeviceBuffer } from './device-buffer.js';
export { CudaDevice, type CudaEventOptions, type CudaStreamOptions } from './device.js';
export type { DeviceMatrix, DeviceRegion, DeviceWorkspace } from './device-region.js';
export {
  AddonNotFoundError,
  CublasError,
  CudaError,
  CusolverError,
  LibraryNotFoundError,
  NcclError,
  NvrtcError,
  OutOfMemoryError,
  type CudaErrorCode,
  type CudaErrorFields,
  type CudaMisuseCode,
  type LoadAttempt,
  type StatusErrorFields,
} from './errors.js';
export { CudaEvent } from './event.js';
export { CudaGraph, CudaGraphExec } from './graph.js';
export type { LibraryReport } from './library/library-report.js';
export { MemoryPool } from './memory-pool.js';
export { CudaModule } from './module.js';
export type { HostMemory } from './host-memory.js';
export type { WorkspaceBytes } from './native/library-calls.js';
export { nccl } from './nccl/nccl.js';
export { NcclCommunicator } from './nccl/communicator.js';
export type {
  GatherOptions,
  JoinOptions,
  NcclReduction,
  NcclType,
  ReduceOptions,
} from './nccl/communicator.js';
export { nvrtc, type CompileRequest, type CompileResult } from './nvrtc.js';
export { PinnedBuffer } from './pinned-buffer.js';
export { CudaStream } from './stream.js';
export { encodeTensorMap, type TensorMapOptions } from './tensor-map.js';
