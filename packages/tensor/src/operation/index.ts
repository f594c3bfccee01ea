/**
 * For authors of operations on tensors: what the packages above are made of, and what a package of one's own needs to be one more.
 * Programs that compute with tensors need none of it.
 *
 * An operation goes through these steps, each with its names here:
 *
 * 1. Options are read once, at the face: `readOptions` with an `OptionNames` of `@mercer/options`, to which `STREAM_OPTION`,
 *    `SIGNAL_OPTION`, `OUT_OPTION`, `PROGRESS_OPTION`, `WORK_OPTIONS` and `LOAD_OPTIONS` bring the shared ones.
 * 2. Operands are checked: `assertTensor`, `commonDevice`, `checkOut`, `assertWritable`, `assertNoOverlap`; `readableInput` copies one
 *    whose strides no kernel takes, `collapseBatchStride` and `strideOverBatch` say how its batch lies in memory.
 * 3. Kernels come from a problem of `@mercer/kernels`: `loadProblem` and `loadPlan`, kept in a `RecentMap` by `kernelKey`.
 * 4. `launchProgram` enqueues them where the stream has room (`roomOn`); `unlessAborted` and `inSlices` heed a signal on the way.
 * 5. A promise of a tensor is given as `pending`, so that it has the tensor's methods; `attachMethods` makes the operation a method.
 *    `attachTo` adds methods to another class, as solvers does to symbolic matrices.
 * 6. An `Operation` does 1 and 3 to 6 from rules: what identifies a call, and the checks of 2, which write the call's launches down as
 *    `CallSteps`. Its ordinary calls, its prepared calls and the memory of calls made before follow. So are made: in this package `map`,
 *    elementwise chains, reductions over axes, `concat`, `stack`, `tile`, `pad`, `take`, `sumTo` and rows by index; `cdist`, `runKernel`,
 *    `weightedDifferences` and the gradients of `@mercer/pairwise`; the reductions of `@mercer/lazy`; the operations of `@mercer/linalg`,
 *    whose steps call routines (`CallRoutine`), work of a library or a worker thread. `addReductions` writes down reductions of formulas over
 *    pairs of rows, `addSumTo` sums over axes.
 * 7. A call that comes again goes from the face to the launch: `KnownCall` and `KnownCalls`, by `layoutKey`.
 *
 * Nothing here is promised to stay as it is between minor versions.
 *
 * @example
 * ```ts
 * import { MercerError, tensor, type Tensor } from '@mercer/tensor';
 * import { assertTensor, readOptions, SIGNAL_OPTION, unlessAborted } from '@mercer/tensor/operation';
 *
 * async function single(x: Tensor<'float32'>, options?: { readonly signal?: AbortSignal }): Promise<number> {
 *   const { signal } = readOptions('single', options, SIGNAL_OPTION);
 *   assertTensor(x, 'single: x');
 *   if (x.size !== 1) {
 *     throw new MercerError('SHAPE_MISMATCH', `single: x has ${x.size} elements. Pass a tensor with one.`);
 *   }
 *   return unlessAborted(x.item(), signal);
 * }
 * console.log(await single(await tensor([[3]], { device: 'cpu' }))); // 3
 * ```
 *
 * @packageDocumentation
 */
export { attachMethods, type AttachedMethod, type AttachedMethods } from '../attach-methods.js';
export { attachTo } from '../attach-to.js';
export { isAmbientByContext } from '../capture/ambient-stream.js';
export { askAhead, askForCapture } from '../capture/ask-ahead.js';
export { captured } from '../capture/capture-calls.js';
export { belongsToPrepared } from '../capture/prepared-work.js';
export {
  assertNotPreparing,
  isOnlyAsked,
  isOnlyCaptured,
  isPreparing,
} from '../capture/refusals.js';
export type { Replay } from '../capture/replay.js';
export { collapseBatchStride, strideOverBatch } from '../batch-stride.js';
export { keptPlace } from '../call-order.js';
export { formatShape, sizeOfShape } from '../checked-size.js';
export {
  LOAD_OPTIONS,
  PROGRESS_OPTION,
  SIGNAL_OPTION,
  STREAM_OPTION,
  WORK_OPTIONS,
} from '../device.js';
export type { CallLoadOptions } from '../executable.js';
export { inSlices, inSlicesOrNow } from '../in-slices.js';
export { kernelKey } from '../kernel-key.js';
export { isDense, isRowMajor } from '../layout.js';
export { modifiedError } from '../call-sites.js';
export { notDifferentiable, writesTraced } from '../mercer-error.js';
export { localHandle } from '../local-handle.js';
export { availableBytes, coreOf, roomOn } from '../operations.js';
export { assertNoOverlap, assertWritable, viewsOverlap, type MemoryView } from '../overlap.js';
export {
  arrivedNow,
  failed,
  givesPending,
  heard,
  pending,
  pendingAfter,
  pendingCall,
  pendingOrThere,
  pendingInPlace,
  pendingOf,
  promiseOf,
  callsWhenArrived,
  whenArrived,
} from '../pending.js';
export {
  launchProgram,
  loadPlan,
  loadProblem,
  type Executed,
  type LoadedProgram,
  type LoadedStep,
  type Pointers,
  type ProgramProblem,
} from '../program.js';
export { checkAxis } from '../arithmetic/axes.js';
export { readOptions } from '../read-options.js';
export { readableInput, type BoundOperand, type CopyTarget } from '../readable-input.js';
export { RecentMap } from '../recent-map.js';
export { assertTensor, isUsable, OUT_OPTION, viewOf } from '../tensor.js';
export { checkOut, commonDevice } from '../tensor-checks.js';
export { addFormula, type FormulaViews } from '../map-kernel.js';
export { addSumTo } from '../sum-to.js';
export { sums, totals, type Totals, type TotalsOptions } from '../totals/totals.js';
export { unlessAborted } from '../unless-aborted.js';
export { HeldBlocks } from '../shards/held-blocks.js';
export { hostRows } from '../shards/host-rows.js';
export { deviceOf, type Rows, type ShardPlan, type ShardProblem } from '../shards/plan-shards.js';
export { isRowReader, readRows } from '../shards/read-rows.js';
export { runSteps, type StepsWork } from '../shards/run-steps.js';
export { shardsWithin } from '../shards/shard-memory.js';
export { checkShardOptions, cutsRows, SHARD_OPTIONS, shardsOf } from '../shards/shard-options.js';
export { progressOf, Workers } from '../shards/workers.js';
export {
  Arguments,
  flatArguments,
  flatLike,
  mapArguments,
  nestedLike,
} from '../trace/arguments.js';
export { aligned, exampleShape, inFront, spreadOver, type AnyCall } from '../trace/batching.js';
export { differentiable } from '../trace/differentiable.js';
export { thereOf } from '../there.js';
export { anotherHandle } from '../trace/held-arguments.js';
export { knownNow, knownOrLater, recorded, whenKnown } from '../trace/dispatch.js';
export type { Made } from '../trace/held-arguments.js';
export {
  zerosLike,
  type AppliedCall,
  type BatchRule,
  type Composition,
  type DerivativeRule,
  type KnownValue,
  type MappedCall,
  type Primitive,
  type Share,
  type Shares,
  type Tangents,
  type Value,
  type ValueForm,
} from '../trace/primitive.js';
export { summedTo } from '../trace/summed-to.js';
export {
  isKnownResult,
  isTracedKnown,
  nextLevel,
  Traced,
  TracedResult,
  type KnownResult,
  type Primal,
  type Trace,
} from '../trace/traced.js';
export { isTraced, promisesTraced } from '../trace/traced-value.js';
export { ValueForms } from '../trace/value-forms.js';
export { type CallRoutine, type RoutineCall } from './call-routine.js';
export { atOnce, waited, whenEnqueued, type Enqueuing, type Wait } from './enqueuing.js';
export {
  CallSteps,
  partOf,
  pointerAt,
  type CallStep,
  type CallView,
  type LoadedPart,
  type StepArguments,
  type ProgramUse,
  type StepLaunch,
  type StepPrograms,
} from './call-steps.js';
export {
  KnownCall,
  type CallLaunch,
  type CallPart,
  type CallPointer,
  type CallTensors,
  type CheckedCall,
  type ResultSpec,
} from './known-call.js';
export { KnownCalls, layoutKey } from './known-calls.js';
export {
  LaunchesAgain,
  LaunchNotes,
  type NotedLaunch,
  type PlaceOfTensor,
} from './noted-launches.js';
export {
  keyPart,
  launchSteps,
  only,
  Operation,
  operationFunction,
  type CallIdentity,
  type CallPlan,
  type FreeOptions,
  type OperationRules,
  type PreparedCalls,
} from './operation.js';
export { addReductions, pairsOf, sidesOf } from '../map-reduce/add-reductions.js';
export {
  formulasOf,
  type ReductionsCall,
  type ReductionViews,
} from '../map-reduce/reductions-call.js';
export {
  halfStorage,
  pairArguments,
  pairOperand,
  type PairInput,
  type PairOperand,
  type PairSizes,
} from '../map-reduce/pair-inputs.js';
export {
  addInnerProducts,
  addSplitRows,
  type InnerProducts,
  type ProductRows,
  type SplitRows,
} from '../products/add-products.js';
export { productsOf } from '../products/products-of.js';
export {
  listOfSpans,
  rangeTables,
  vouchForSpans,
  type CallRanges,
  type RangesCall,
  type SpanTable,
} from '../map-reduce/range-tables.js';
