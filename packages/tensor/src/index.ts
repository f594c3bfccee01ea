export type { DebugOption } from '@mercer/jit-cache';
export { dtypeBytes, DTYPES, isDType, type DType } from '@mercer/kernels';
export type { ArrowLike, ArrowTableLike, ArrowVectorLike } from './arrow.js';
export { formatShape, sizeOfShape } from './checked-size.js';
export { collapseBatchStride, strideOverBatch } from './batch-stride.js';
export { cpuExecutor, type CpuExecutor, type CpuExecutorChoice } from './cpu-executor.js';
export {
  empty,
  full,
  tensor,
  zeros,
  type DTypeOf,
  type FullOptions,
  type NewOptions,
  type PlacementOptions,
  type TensorOptions,
} from './create.js';
export {
  LOAD_OPTIONS,
  PROGRESS_OPTION,
  SIGNAL_OPTION,
  STREAM_OPTION,
  WORK_OPTIONS,
  type AllocateOptions,
  type CreateStreamOptions,
  type Device,
  type DeviceId,
  type DeviceLike,
  type DeviceMemory,
  type LaunchArguments,
  type LoadAllOptions,
  type LoadedKernel,
  type LoadOptions,
  type MemoryArgument,
  type PointerArgument,
  type Progress,
  type ProgressOption,
  type SignalOption,
  type Storage,
  type Stream,
  type StreamOption,
  type TransferOptions,
  type WorkOptions,
} from './device.js';
export { defaultDevice, device, devices } from './devices.js';
export type { StridedSource, TensorSource } from './host-array.js';
export { closeJitCache, configureJitCache, jitCache } from './jit.js';
export { countRows, type CountRowsOptions } from './count-rows.js';
export { gatherRows, type GatherRowsOptions } from './gather-rows.js';
export type { CallLoadOptions } from './executable.js';
export { inSlices } from './in-slices.js';
export { kernelKey } from './kernel-key.js';
export { columnMajorStrides, isDense, isRowMajor, rowMajorStrides, type Layout } from './layout.js';
export { localHandle } from './local-handle.js';
export type { MapInputs } from './map-inputs.js';
export type { MapOptions } from './map-options.js';
export { map, type MapDType } from './map.js';
export { memory, type MemoryReport } from './memory.js';
export { MercerError, type MercerErrorCode } from './mercer-error.js';
export type { Nested } from './nested.js';
export { assertNoOverlap, assertWritable, viewsOverlap, type MemoryView } from './overlap.js';
export { givesPending, isPending, pending, pendingOf, type Pending } from './pending.js';
export { startProfile, type Profile, type ProfileRecord } from './profiler.js';
export { timeSpan, type TimedSpan } from './time-span.js';
export {
  launchProgram,
  loadPlan,
  loadProblem,
  type Executed,
  type LoadedProgram,
  type LoadedStep,
  type Pointers,
  type ProgramProblem,
} from './program.js';
export {
  KnownCall,
  type CallLaunch,
  type CallPointer,
  type CallTensors,
  type CheckedCall,
  type ResultSpec,
} from './operation/known-call.js';
export { KnownCalls } from './operation/known-calls.js';
export { layoutKey } from './operation/layout-key.js';
export { RecentMap } from './recent-map.js';
export { roomOn } from './operations.js';
export type { ReadbackOptions } from './readback.js';
export { readableInput, type BoundOperand, type CopyTarget } from './readable-input.js';
export { scatterAdd, type ScatterAddOptions } from './scatter-add.js';
export { scope, Scope } from './scope.js';
export { unlessAborted } from './unless-aborted.js';
export { sumTo, type SumToOptions } from './sum-to.js';
export { readOptions } from './read-options.js';
export {
  assertTensor,
  isTensor,
  OUT_OPTION,
  Tensor,
  type CopyOptions,
  type OutOption,
  type PendingTensor,
} from './tensor.js';
export { attachMethods, type AttachedMethod, type AttachedMethods } from './attach-methods.js';
export * from './tensor-methods.js';
export { checkOut, commonDevice } from './tensor-checks.js';
export type {
  ElementOf,
  InputTypedArray,
  NestedOf,
  RawArrayOf,
  TypedArrayOf,
} from './typed-arrays.js';
export { broadcastShapes, type SliceRange } from './views.js';
