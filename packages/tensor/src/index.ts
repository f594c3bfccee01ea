/**
 * Strided tensors on GPU and CPU, devices, streams and memory. What operations are written with stands in
 * `@mercer/tensor/operation`.
 *
 * @packageDocumentation
 */
import './arithmetic/reduction-methods.js';
import './trace/traced-methods.js';
export type { DebugOption } from '@mercer/jit-cache';
export { dtypeBytes, DTYPES, isDType, type DType } from '@mercer/kernels';
export * from './arithmetic/functions.js';
export type { ElementwiseOptions } from './arithmetic/elementwise.js';
export type { Axes } from './arithmetic/axes.js';
export type {
  NormOptions,
  ReductionMethods,
  VarianceOptions,
} from './arithmetic/reduction-methods.js';
export type { ReductionOptions } from './arithmetic/reductions.js';
export type { ElementwiseMethods } from './arithmetic/methods.js';
export type {
  CommonDType,
  CommonMethod,
  ComparisonMethod,
  Elementwise,
  FloatingDType,
  FloatingMethod,
  FloatingUnaryMethod,
  Operand,
  OperandKind,
  SameDType,
  SameMethod,
  TensorOperand,
  TotalDType,
  TruthMethod,
} from './arithmetic/result-types.js';
export type { ArrowLike, ArrowTableLike, ArrowVectorLike } from './arrow.js';
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
export { createGroupId } from './group/group-id.js';
export { joinGroup, type JoinGroupOptions } from './group/join-group.js';
export { ProcessGroup, type AllReduceOptions, type GroupReduction } from './group/process-group.js';
export { diag, eye, type EyeOptions } from './creators/diagonals.js';
export { oneHot, type ClassDType, type OneHotOptions } from './creators/one-hot.js';
export { arange, linspace, type LinspaceOptions } from './creators/ranges.js';
export { tril, triu } from './creators/triangles.js';
export type {
  AllocateOptions,
  CreateStreamOptions,
  Device,
  DeviceId,
  DeviceLike,
  DeviceMemory,
  LaunchArguments,
  LoadAllOptions,
  LoadedKernel,
  LoadOptions,
  MemoryArgument,
  PointerArgument,
  Progress,
  ProgressOption,
  SignalOption,
  Storage,
  Stream,
  StreamOption,
  TransferOptions,
  WorkOptions,
} from './device.js';
export { defaultDevice, device, devices } from './devices.js';
export { cumSum, type CumSum } from './scan/cum-sum.js';
export {
  topK,
  type TopK,
  type TopKCall,
  type TopKFree,
  type TopKOptions,
  type TopKOut,
} from './sorting/top-k.js';
export { argSort, sort, type ArgSort, type Sort, type SortOptions } from './sorting/sort.js';
export { unique, type Unique, type UniqueCall, type UniqueOptions } from './sorting/unique.js';
export { compress } from './indexing/compress.js';
export { index, type AxisIndices, type IndexRange } from './indexing/index-axes.js';
export type { HostIndices } from './indexing/indices.js';
export { take, takeAlongAxis, type TakeCall } from './indexing/take.js';
export type { FrameLike } from './data-frame.js';
export type { StridedSource, TensorSource } from './host-array.js';
export { closeJitCache, configureJitCache, jitCache } from './jit.js';
export type { CountRows, CountRowsOptions } from './count-rows.js';
export type { GatherRows, GatherRowsOptions } from './gather-rows.js';
export { columnMajorStrides, rowMajorStrides, type Layout } from './layout.js';
export type { MapInputs, MapTensors } from './map-inputs.js';
export type { MapListInputs, MapListTensors } from './map-lists.js';
export type {
  ListMapOptions,
  MapFormulas,
  MapOptions,
  PreparedMapOptions,
  SeveralListMapOptions,
  SeveralMapOptions,
} from './map-options.js';
export { map } from './map.js';
export type { MapCall, MapDType, MapListResults, MapPrepare, MapResults } from './map-call.js';
export { memory, type MemoryReport } from './memory.js';
export { MercerError, type MercerErrorCode } from './mercer-error.js';
export type { Nested } from './nested.js';
export { isPending, type Pending } from './pending.js';
export { planOf, type ResultPlan, type StepsPlan } from './plan-of.js';
export { concat, stack, type JoinCall, type JoinedDType } from './shaping/join.js';
export { pad, type Pad, type PadOptions, type PadWidth, type PadWidths } from './shaping/pad.js';
export type { PreparedShaping, ShapingOptions } from './shaping/shaping-options.js';
export { tile, type Tile } from './shaping/tile.js';
export { flip, split } from './shaping/view-functions.js';
export { startProfile, type Profile, type ProfileRecord } from './profiler.js';
export { timeSpan, type TimedSpan } from './time-span.js';
export * as random from './random/index.js';
export type { ReadbackOptions } from './readback.js';
export { countRows, gatherRows, scatterAdd } from './rows-by-index.js';
export type { ScatterAdd, ScatterAddOptions } from './scatter-add.js';
export type { BlockDestination, BlockWriter } from './block-destination.js';
export type { RowReader } from './row-reader.js';
export type { ShardOptions } from './shards/shard-options.js';
export { scope, Scope } from './scope.js';
export { sumTo, type SumTo, type SumToOptions } from './sum-to.js';
export * from './tensor-methods.js';
export {
  isTensor,
  Tensor,
  type CopyOptions,
  type OutOption,
  type PendingTensor,
} from './tensor.js';
export type {
  ElementOf,
  InputTypedArray,
  NestedOf,
  RawArrayOf,
  TypedArrayOf,
} from './typed-arrays.js';
export { unsafeKernel } from './unsafe-kernel/unsafe-kernel.js';
export type {
  PreparedUnsafeOptions,
  UnsafeArguments,
  UnsafeCall,
  UnsafeExtents,
  UnsafeGiven,
  UnsafeGrid,
  UnsafeKernel,
  UnsafeKernelDefinition,
  UnsafeLaunch,
  UnsafeOptions,
  UnsafeParameter,
  UnsafeParameters,
  UnsafeResults,
  UnsafeSizes,
  UnsafeText,
} from './unsafe-kernel/definition.js';
export { broadcastShapes, type SliceRange } from './views.js';
