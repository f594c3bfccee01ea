import { own } from '@mercer/options';
import { dtypeBytes, type DType, type Scalars } from '@mercer/kernels';
import { bytesOf } from '../checked-size.js';
import type { DeviceCore } from '../device-core.js';
import { DeviceKernel, type KernelArguments } from '../device-kernel.js';
import type { Device, LoadOptions, Storage, Stream, WatchOptions } from '../device.js';
import { inTurn } from '../call-order.js';
import { rowMajorStrides } from '../layout.js';
import { coreOf, purposeOf } from '../operations.js';
import type { LoadedProgram } from '../program.js';
import { StorageBlock } from '../storage-block.js';
import { streamFor, waitForRoom, type StreamCore } from '../stream-core.js';
import { TensorForm } from '../tensor-form.js';
import { rememberPlan, Tensor } from '../tensor.js';
import type { CallRoutine, RoutineCall } from './call-routine.js';
import { atOnce, whenEnqueued, type Enqueuing } from './enqueuing.js';
import { hearerOfLaunches, type CallAgain } from './noted-launches.js';
import { sharesMemory } from './shared-memory.js';

/** The tensors of a call: those that it reads, and those that it writes, undefined where it makes them. */
export interface CallTensors {
  readonly inputs: readonly Tensor[];
  readonly outs: readonly (Tensor | undefined)[];
}

/** The memory that a call reads, and what it writes. */
export function storagesOf({
  inputs,
  outs,
}: CallTensors): [reads: readonly StorageBlock[], writes: readonly StorageBlock[]] {
  return [inputs.map((one) => one.storage), outs.flatMap((one) => one?.storage ?? [])];
}

/** Whether calls were made earlier that touch the same memory and are not enqueued yet. */
export function isBehindOthers({ inputs, outs }: CallTensors): boolean {
  for (const { storage } of inputs) if (storage.calls?.hasWriters === true) return true;
  for (const out of outs) {
    if (out === undefined) continue;
    const { calls, hasLaterReads } = out.storage;
    if (calls?.isEmpty === false || hasLaterReads) return true;
  }
  return false;
}

/** The lists in which a call has its tensors: scratch memory is its own, and returns to the pool behind its launches. */
export type CallPart = 'input' | 'result' | 'scratch';

/** Where a kernel of a call finds its memory. */
export type CallPointer =
  /** In an input, a result or scratch memory of the call, `offset` bytes behind its first element. */
  | { readonly kind: CallPart; readonly place: number; readonly offset: number }
  /** In a tensor that is the same in every call. */
  | { readonly kind: 'held'; readonly tensor: Tensor; readonly offset: number }
  /** Nowhere: the kernel is given address 0. */
  | { readonly kind: 'none' };

/** The kernels of a program and what a call launches them with. */
export interface CallLaunch {
  readonly program: LoadedProgram<unknown>;
  readonly pointers: Readonly<Record<string, CallPointer>>;
  readonly scalars: Scalars;
  /** A row-major tensor on a GPU, whose elements are set to 0 before. */
  readonly zeroed?: { readonly kind: CallPart; readonly place: number } | undefined;
  /** What is called with the pointers and scalars instead of kernels. */
  readonly routine?: CallRoutine | undefined;
}

/** A launch of one kernel of a call, packed but for what changes from call to call. */
interface BoundLaunch {
  readonly kernel: DeviceKernel;
  readonly args: KernelArguments;
  /** In the order of the kernel's parameters. */
  readonly pointers: readonly (CallPointer | 'workspace')[];
  readonly scalars: Scalars;
}

type RoutinePointers = readonly (readonly [name: string, pointer: CallPointer])[];

/** The kernels of a program, bound. */
interface BoundProgram {
  readonly program: LoadedProgram<unknown>['program'];
  readonly scalars: Scalars;
  readonly launches: readonly BoundLaunch[];
  readonly zeroed: CallLaunch['zeroed'];
  readonly routine: { readonly is: CallRoutine; readonly pointers: RoutinePointers } | undefined;
}

/** A tensor that a call makes, row-major. */
export interface ResultSpec {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** How results and scratch memory are made. */
interface MadeTensor {
  readonly form: TensorForm;
  readonly bytes: number;
  readonly purpose: string;
}

/** A call that was checked, planned and loaded. */
export interface CheckedCall {
  readonly device: Device;
  /** What the call makes for each of `outs` that is not given. */
  readonly results: readonly ResultSpec[];
  /** Memory that is only needed between launches of the call. */
  readonly scratch?: readonly ResultSpec[] | undefined;
  readonly launches: readonly CallLaunch[];
  /** What has to live as long as the call is remembered. */
  readonly holds?: object | undefined;
  /** The plans that its results tell, by place: `planOf`. */
  readonly plans?: readonly (object | undefined)[] | undefined;
}

/**
 * What is left to do for a call whose tensors lie as those of one that was checked: its results are made and its kernels launched.
 * Two calls of an operation with the same options and `layoutKey` are alike, but for memory that outputs share.
 */
export class KnownCall implements CallAgain {
  readonly device: Device;
  /** Whether it calls a routine. */
  readonly hasRoutine: boolean;
  /** Whether one of them may wait in a call like one before. */
  readonly mayWait: boolean;
  readonly #core: DeviceCore;
  readonly #results: readonly MadeTensor[];
  /** In the place of `outs` where it makes all results. */
  readonly #newResults: readonly undefined[];
  readonly #scratch: readonly MadeTensor[];
  readonly #programs: readonly BoundProgram[];
  readonly #held: readonly Tensor[];
  readonly #plans: readonly (object | undefined)[];
  /** Kept alive. */
  readonly holds: object | undefined;

  constructor(checked: CheckedCall) {
    const names = ['device', 'results', 'scratch', 'launches', 'holds', 'plans'] as const;
    const { device, results, scratch = [], launches, holds, plans = [] } = own(checked, ...names);
    this.device = device;
    this.#core = coreOf(device);
    this.#results = results.map((spec) => madeTensor(device, spec));
    this.#newResults = results.map(() => undefined);
    this.#scratch = scratch.map((spec) => madeTensor(device, spec));
    this.#programs = launches.map(boundProgram);
    const routines = this.#programs.flatMap(({ routine }) => routine?.is ?? []);
    this.hasRoutine = routines.length > 0;
    this.mayWait = routines.some(({ now }) => now === undefined);
    this.holds = holds;
    this.#plans = plans;
    const pointers = launches.flatMap((one) => Object.values(one.pointers));
    this.#held = pointers.flatMap((one) => (one.kind === 'held' ? [one.tensor] : []));
  }

  /**
   * Enqueues the call and gives its results, those of `outs` among them. Undefined, with nothing done, where outputs share memory
   * with another tensor of the call, or what the call holds was disposed: the checks tell what is allowed.
   *
   * @param numbers scalars that differ from call to call, by their names in the kernels
   * @throws MercerError DISPOSED, OUT_OF_MEMORY, and as launches do
   */
  launch(tensors: CallTensors, stream: Stream, numbers?: Scalars): Tensor[] | undefined {
    return this.isLike(tensors) ? this.launchChecked(tensors, stream, numbers) : undefined;
  }

  /** Whether its checks hold for tensors of the same layouts: what it holds lives, and outputs share memory with no other tensor. */
  isLike(tensors: CallTensors): boolean {
    return this.holdsAll && !sharesMemory(tensors.outs, tensors.inputs, this.#held);
  }

  get holdsAll(): boolean {
    for (const one of this.#held) if (one.disposed) return false;
    return true;
  }

  launchAgain(
    inputs: readonly Tensor[],
    numbers: Scalars | undefined,
  ): Tensor[] | Promise<Tensor[]> {
    const tensors = { inputs, outs: this.#newResults };
    const queue = streamFor(this.device, undefined, 'a call');
    if (queue.hasRoom() && !isBehindOthers(tensors))
      return this.launchChecked(tensors, queue, numbers);
    return inTurn(...storagesOf(tensors), undefined, async (own) => {
      if (!queue.hasRoom()) await waitForRoom(queue, undefined);
      return own.run(() => this.launchChecked(tensors, queue, numbers));
    });
  }

  /** The same as {@link launchChecked} for a call with a routine, which may wait. @throws as `launch`, the signal's reason */
  async enqueueChecked(
    tensors: CallTensors,
    stream: Stream,
    numbers: Scalars | undefined,
    watch: RoutineWatch,
  ): Promise<Tensor[]> {
    return whenEnqueued(this.#enqueuing(tensors, stream, numbers, watch));
  }

  /** The same for a call whose checks were made, and which holds nothing: the quick way of kernels, without a generator. @throws as `launch` */
  launchChecked(
    tensors: CallTensors,
    stream: Stream,
    numbers?: Scalars,
    watch: RoutineWatch = UNWATCHED,
  ): Tensor[] {
    if (this.mayWait) return atOnce(this.#enqueuing(tensors, stream, numbers, watch));
    const { queue, parts } = this.#memory(tensors, stream);
    const { enqueued } = queue;
    try {
      for (const one of this.#programs) {
        const { routine } = one;
        if (routine === undefined) enqueue(one, parts, queue, numbers);
        else if (!queue.onlyAsks)
          routine.is.now?.(routineCall(one, routine.pointers, parts, stream, numbers, watch));
      }
      hearerOfLaunches()?.({
        call: this,
        inputs: tensors.inputs,
        numbers,
        results: parts.result,
        enqueued: queue.enqueued - enqueued,
      });
      return this.#told(parts);
    } catch (error) {
      disposeMade(parts, tensors);
      throw error;
    } finally {
      disposeScratch(parts);
    }
  }

  /**
   * The same behind calls that touch the same memory: its results are there at once, and are written in its turn. What fails then is an
   * unhandled rejection, since nobody waits.
   *
   * @throws as `launch`, but for its launches
   */
  launchBehind(
    tensors: CallTensors,
    stream: Stream,
    numbers: Scalars | undefined,
    watch: RoutineWatch,
  ): Tensor[] {
    const { queue, parts } = this.#memory(tensors, stream);
    const held = ownHandles(parts);
    const [reads, writes] = storagesOf({ inputs: parts.input, outs: parts.result });
    const enqueueAll = (): Promise<void> =>
      whenEnqueued(this.#launches(held, stream, queue, numbers, watch));
    void inTurn(reads, writes, undefined, enqueueAll).finally(() => {
      disposeHandles(held);
      disposeScratch(parts);
    });
    return this.#told(parts);
  }

  *#enqueuing(
    tensors: CallTensors,
    stream: Stream,
    numbers: Scalars | undefined,
    watch: RoutineWatch,
  ): Enqueuing<Tensor[]> {
    const { queue, parts } = this.#memory(tensors, stream);
    let held: Parts | undefined;
    try {
      held = ownHandles(parts);
      yield* this.#launches(held, stream, queue, numbers, watch);
      return this.#told(parts);
    } catch (error) {
      disposeMade(parts, tensors);
      throw error;
    } finally {
      if (held !== undefined) disposeHandles(held);
      disposeScratch(parts);
    }
  }

  *#launches(
    parts: Parts,
    stream: Stream,
    queue: StreamCore,
    numbers: Scalars | undefined,
    watch: RoutineWatch,
  ): Enqueuing {
    // what a routine loads and remembers on its way is to be there
    if (queue.onlyAsks) return;
    const routines = this.#programs.map((one) => {
      const { routine } = one;
      if (routine === undefined) return undefined;
      const call = routineCall(one, routine.pointers, parts, stream, numbers, watch);
      return { is: routine.is, call };
    });
    for (const one of routines) if (one !== undefined) yield* one.is.ready(one.call);
    for (const [at, one] of this.#programs.entries()) {
      const routine = routines[at];
      if (routine === undefined) enqueue(one, parts, queue, numbers);
      else yield* routine.is.enqueue(routine.call);
    }
  }

  /** What the call makes beside what it is given. */
  #memory(
    { inputs, outs }: CallTensors,
    stream: Stream,
  ): { readonly queue: StreamCore; readonly parts: Parts } {
    // all before the first launch: nothing is written where one was disposed meanwhile
    for (const one of inputs) one.assertAlive();
    for (const one of outs) one?.assertAlive();
    const queue = streamFor(this.device, stream, 'a call');
    const parts: Parts = { input: inputs, result: [], scratch: [] };
    try {
      for (let place = 0; place < outs.length; place++) {
        parts.result.push(outs[place] ?? this.#make(this.#results[place], queue));
      }
      for (const one of this.#scratch) parts.scratch.push(this.#make(one, queue));
      return { queue, parts };
    } catch (error) {
      disposeMade(parts, { outs });
      disposeScratch(parts);
      throw error;
    }
  }

  /** The results, with the plans that they tell. */
  #told({ result: results }: Parts): Tensor[] {
    for (let place = 0; place < this.#plans.length; place++) {
      const [plan, result] = [this.#plans[place], results[place]];
      if (plan !== undefined && result !== undefined) rememberPlan(result, plan);
    }
    return results;
  }

  #make(made: MadeTensor | undefined, stream: StreamCore): Tensor {
    if (made === undefined) throw new TypeError('a call has a result more than it makes');
    const { bytes, purpose, form } = made;
    return new Tensor(this.#core.take(bytes, purpose, stream), form.dtype, form);
  }
}

function madeTensor(device: Device, { shape, dtype }: ResultSpec): MadeTensor {
  const layout = { shape, strides: rowMajorStrides(shape), offset: 0 };
  const form = new TensorForm(device, dtype, layout);
  return { form, bytes: bytesOf(form.size, dtype), purpose: purposeOf(shape, dtype) };
}

function boundProgram(launch: CallLaunch): BoundProgram {
  const names = ['program', 'pointers', 'scalars', 'zeroed', 'routine'] as const;
  const { program, pointers, scalars, zeroed, routine } = own(launch, ...names);
  const launches = program.steps.map(
    ({ kernel, pointers: names, scalars: ofStep }): BoundLaunch => {
      if (!(kernel instanceof DeviceKernel)) {
        throw new TypeError(`${kernel.kernel.name} was not loaded by a device of this package`);
      }
      return {
        kernel,
        args: kernel.newArguments(),
        pointers: names.map((name) => {
          if (name === 'workspace') return name;
          const pointer = own(pointers, name)[name];
          if (pointer !== undefined) return pointer;
          throw new Error(`${kernel.kernel.name}: nothing is bound to the pointer '${name}'`);
        }),
        // Frozen: they are packed once.
        scalars: Object.freeze({ ...scalars, ...ofStep }),
      };
    },
  );
  return {
    program: program.program,
    scalars,
    launches,
    zeroed,
    routine: routine && { is: routine, pointers: Object.entries(pointers) },
  };
}

/** The tensors of a call. */
interface Parts {
  readonly input: readonly Tensor[];
  readonly result: Tensor[];
  readonly scratch: Tensor[];
}

/** With handles of the call's own: the caller may dispose the tensors while it waits. */
const ownHandles = ({ input, result, scratch }: Parts): Parts => ({
  input: input.map((one) => one.view()),
  result: result.map((one) => one.view()),
  scratch,
});

function disposeHandles({ input, result }: Parts): void {
  for (const one of [...input, ...result]) one.dispose();
}

function disposeMade({ result }: Parts, { outs }: Pick<CallTensors, 'outs'>): void {
  for (const [place, one] of result.entries()) if (outs[place] === undefined) one.dispose();
}

function disposeScratch({ scratch }: Parts): void {
  for (const one of scratch) one.dispose();
}

/** Who looks on while a call waits, and how it loads what it needs on the way. */
type RoutineWatch = WatchOptions & LoadOptions;

const UNWATCHED: RoutineWatch = Object.freeze({});

/** What a routine is called with. */
function routineCall(
  { scalars }: BoundProgram,
  pointers: RoutinePointers,
  parts: Parts,
  stream: Stream,
  numbers: Scalars | undefined,
  watch: RoutineWatch,
): RoutineCall {
  const { signal, debug, onProgress } = own(watch, 'signal', 'debug', 'onProgress');
  const memory: Record<string, Tensor | undefined> = {};
  for (const [name, pointer] of pointers) memory[name] = tensorAt(pointer, parts);
  const all = numbers === undefined ? scalars : { ...scalars, ...numbers };
  return { stream, memory, scalars: all, signal, debug, onProgress };
}

function tensorAt(pointer: CallPointer, parts: Parts): Tensor | undefined {
  if (pointer.kind === 'none') return undefined;
  return pointer.kind === 'held' ? pointer.tensor : parts[pointer.kind][pointer.place];
}

/** Launches the kernels of a program; its workspace, if any, returns to the pool behind them. */
function enqueue(
  { program, scalars, launches, zeroed }: BoundProgram,
  parts: Parts,
  stream: StreamCore,
  numbers: Scalars | undefined,
): void {
  if (zeroed !== undefined) setZero(parts[zeroed.kind][zeroed.place], stream);
  const bytes = program.workspaceBytes(scalars);
  const workspace =
    bytes === 0
      ? undefined
      : stream.device.allocate(bytes, { stream, purpose: 'workspace of a kernel' });
  try {
    for (const launch of launches) {
      pack(launch, parts, workspace, numbers);
      launch.kernel.enqueue(stream, launch.args);
    }
  } finally {
    workspace?.dispose();
  }
}

/** Writes what may have changed since the last call. */
function pack(
  launch: BoundLaunch,
  parts: Parts,
  workspace: Storage | undefined,
  numbers: Scalars | undefined,
): void {
  const { kernel, args, pointers } = launch;
  for (let at = 0; at < pointers.length; at++) {
    const pointer = pointers[at] as CallPointer | 'workspace';
    if (pointer === 'workspace') {
      if (!(workspace instanceof StorageBlock))
        throw new Error('a kernel takes a workspace that its program has not');
      kernel.setPointer(args, at, workspace, 0, undefined);
    } else if (pointer.kind === 'none') {
      args.packer.setPointer(at, 0);
    } else {
      const tensor = tensorAt(pointer, parts);
      if (tensor === undefined)
        throw new TypeError('a kernel is given a tensor that the call has not');
      const { storage, byteOffset, dtype } = tensor;
      kernel.setPointer(args, at, storage, byteOffset + pointer.offset, dtype);
    }
  }
  if (numbers === undefined) kernel.setScalars(args, launch.scalars);
  else kernel.changeScalars(args, launch.scalars, numbers);
}

function setZero(to: Tensor | undefined, stream: Stream): void {
  if (to === undefined || to.size === 0) return;
  const { storage, byteOffset, size, dtype, device } = to;
  const queue = streamFor(device, stream, 'set to 0');
  storage.beforeWrite(queue);
  if (!coreOf(device).memset(storage, byteOffset, size, dtypeBytes(dtype), 0n, queue)) {
    throw new Error('only a GPU sets memory of any size to 0 without a kernel');
  }
  storage.noteWrite(queue);
}
