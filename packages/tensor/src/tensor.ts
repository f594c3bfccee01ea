import { inspect, type InspectOptions } from 'node:util';
import type { DType } from '@mercer/kernels';
import { describeValue, refusePromise, type OptionNames } from '@mercer/options';
import type { Axes } from './arithmetic/axes.js';
import { assertNotPreparing } from './capture/refusals.js';
import { answerCensus, Lifetime, unwatch, watch } from './backstop.js';
import { BRAND, packageVersion, twoCopies } from './brand.js';
import { inTurn, isHeldNow, setMemoryOf, Turn } from './call-order.js';
import { checkDType, refuseDataless } from './check-argument.js';
import { bytesOf, formatShape } from './checked-size.js';
import {
  SIGNAL_OPTION,
  STREAM_OPTION,
  TRANSFER_OPTIONS,
  WORK_OPTIONS,
  type Device,
  type DeviceLike,
  type SignalOption,
  type StreamOption,
  type TransferOptions,
  type WorkOptions,
} from './device.js';
import { deviceCore } from './devices.js';
import { disposedError, noteDisposal } from './call-sites.js';
import type { ElementView } from './elementwise.js';
import { isRowMajor, type Layout } from './layout.js';
import { localHandle } from './local-handle.js';
import { MercerError, notDifferentiable } from './mercer-error.js';
import { castInto, castView, contiguousView, copyInto, fillView, moveView } from './operations.js';
import {
  contentFor,
  hasPlace,
  heard,
  isPending,
  pendingCall,
  pendingOf,
  type Pending,
} from './pending.js';
import { readOptions } from './read-options.js';
import { refuseMore } from './refuse-more.js';
import {
  READBACK_OPTIONS,
  readNested,
  readRaw,
  readTyped,
  type ReadbackOptions,
} from './readback.js';
import { shownAtHand, shownRanges, shownText } from './shown-elements.js';
import type { StorageBlock } from './storage-block.js';
import { TensorForm } from './tensor-form.js';
import { unlessAborted } from './unless-aborted.js';
import type { TensorMethods } from './tensor-methods.js';
import { TracedValue } from './trace/traced-value.js';
import type { ElementOf, NestedOf, RawArrayOf, TypedArrayOf } from './typed-arrays.js';
import {
  broadcastLayout,
  flipLayout,
  permuteLayout,
  reshapeLayout,
  sliceLayout,
  splitLayouts,
  type SliceRange,
} from './views.js';

/** Options of operations that make a tensor or write one that exists. */
export interface OutOption<D extends DType = DType> extends StreamOption {
  /** Takes the result: same shape, dtype and device, no memory shared with the inputs. */
  readonly out?: Tensor<D> | undefined;
}

/** Names of {@link OutOption}. @internal */
export const OUT_OPTION: OptionNames<OutOption> = { ...STREAM_OPTION, out: true };

/** Options of {@link Tensor.clone} and {@link Tensor.cast}. */
export interface CopyOptions<D extends DType = DType> extends OutOption<D>, SignalOption {}

const COPY_OPTIONS: OptionNames<CopyOptions> = { ...OUT_OPTION, ...SIGNAL_OPTION };

const HANDLE = localHandle(
  'a tensor',
  'Send await t.toTypedArray() and t.shape, and make tensor(data, { shape }) there.',
);

let count = 0;

/** A number for what checks and plans read of a tensor. @throws MercerError DISPOSED @internal */
export let layoutNumber: (tensor: Tensor) => number;
/** Whether it is not disposed, or was so after the call at work was made, which reads it. @internal */
export let isUsable: (tensor: Tensor) => boolean;
/** Tensors that were made later have larger numbers. @internal */
export let numberOf: (tensor: Tensor) => number;
/** The number of the tensor that was made last. @internal */
export const tensorsMade = (): number => count;
/** Remembers the plan that a result was computed with. @internal */
export let rememberPlan: (result: Tensor, plan: object) => void;
/** The plan that was remembered of a result; undefined for all else. @internal */
export let rememberedPlan: (value: unknown) => object | undefined;

/** Remembers what reads a tensor later: as a member, since a `WeakMap` would keep its newest entries past collections of young objects. @internal */
export let rememberLaterRead: (tensor: Tensor, read: object) => void;
/** What was remembered so. @internal */
export let laterReadOf: (tensor: Tensor) => object | undefined;

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/**
 * A strided view of device memory. Views share storage and each is disposed by itself; the memory is returned with the
 * last one, in stream order, so disposing right behind a call of an operation is fine, awaited or not. Strides and offset count elements.
 *
 * @example
 * ```ts
 * import { tensor } from '@mercer/tensor';
 *
 * const a = await tensor([[1, 2, 3], [4, 5, 6]], { device: 'cpu' });
 * const column = a.slice(null, 1);
 * console.log(column.shape, await column.toNested()); // [ 2 ] [ 2, 5 ]
 * ```
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- see the interface below
export class Tensor<D extends DType = DType> implements Layout {
  private readonly handle = HANDLE;
  readonly device: Device;
  readonly dtype: D;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  /** Number of elements. */
  readonly size: number;
  /** Bytes from the start of the storage to the first element. */
  readonly byteOffset: number;
  readonly #id = ++count;
  readonly #lifetime: Lifetime;
  readonly #form: TensorForm<D>;
  #plan: object | undefined;
  #laterRead: object | undefined;

  static {
    layoutNumber = (tensor) => tensor.#form.numberAt(tensor.storage.address + tensor.byteOffset);
    numberOf = (tensor) => tensor.#id;
    rememberPlan = (tensor, plan) => {
      tensor.#plan = plan;
    };
    rememberLaterRead = (tensor, read) => {
      tensor.#laterRead = read;
    };
    laterReadOf = (tensor) => tensor.#laterRead;
    isUsable = (tensor) => {
      const { released, storage, releasedAt } = tensor.#lifetime;
      return !released || isHeldNow(storage, releasedAt);
    };
    setMemoryOf((value) => (isTensor(value) && isUsable(value) ? value.storage : undefined));
    rememberedPlan = (value) => (isObject(value) && #plan in value ? value.#plan : undefined);
  }

  /** @internal Takes over one reference to the storage. Use tensor(), empty(), zeros() or full(). */
  constructor(storage: StorageBlock, dtype: D, layout: Layout | TensorForm<D>) {
    const form =
      layout instanceof TensorForm ? layout : new TensorForm(storage.device, dtype, layout);
    this.device = form.device;
    this.dtype = dtype;
    this.shape = form.shape;
    this.strides = form.strides;
    this.offset = form.offset;
    this.size = form.size;
    this.byteOffset = form.byteOffset;
    this.#form = form;
    this.#lifetime = new Lifetime(storage);
    watch(this, this.#lifetime);
  }

  get [BRAND](): string {
    return packageVersion();
  }

  get rank(): number {
    return this.shape.length;
  }

  /** Bytes of the elements; the storage may be larger or, for a broadcast view, smaller. */
  get bytes(): number {
    return bytesOf(this.size, this.dtype);
  }

  /** Readable name: 'float32 [3, 4] tensor #7 on cuda:0'. */
  get label(): string {
    return `${this.dtype} ${formatShape(this.shape)} tensor #${this.#id} on ${this.device.id}`;
  }

  get disposed(): boolean {
    return this.#lifetime.released;
  }

  /** The memory, shared by all views of it. @throws MercerError DISPOSED */
  get storage(): StorageBlock {
    this.assertAlive();
    return this.#lifetime.storage;
  }

  /** @throws MercerError DISPOSED naming the tensor */
  assertAlive(): void {
    if (!isUsable(this)) throw disposedError(this);
  }

  /** True when the elements lie in row-major order without gaps. */
  get isContiguous(): boolean {
    return isRowMajor(this.shape, this.strides);
  }

  /** Part of the tensor, one range per dimension: an index, `[start, stop, step]`, or null for all. Shares memory. */
  slice(...ranges: readonly SliceRange[]): Tensor<D> {
    return this.#view(sliceLayout(this, ranges));
  }

  /** The last two dimensions exchanged; a tensor of rank 0 or 1 as it is. Shares memory. */
  transpose(...more: readonly never[]): Tensor<D> {
    refuseMore('transpose', more, 'Call permute(axes), which takes the axes in their new order');
    const axes = this.shape.map((_, axis) => axis);
    if (axes.length >= 2) axes.push(...axes.splice(-2).reverse());
    return this.#view(permuteLayout(this, axes));
  }

  /** Dimension `axes[i]` becomes dimension i. Shares memory. */
  permute(axes: readonly number[]): Tensor<D> {
    return this.#view(permuteLayout(this, axes));
  }

  /**
   * The same elements in row-major order under another shape; one extent may be -1. Shares memory.
   *
   * @throws MercerError NOT_CONTIGUOUS where a copy would be needed: call contiguous() first.
   */
  reshape(shape: readonly number[]): Tensor<D> {
    return this.#view(reshapeLayout(this, shape));
  }

  /** Walked backwards along an axis, several, or all where none are named. Shares memory. */
  flip(axes?: Axes, ...more: readonly never[]): Tensor<D> {
    refuseMore('flip', more, 'Pass several axes as one array');
    return this.#view(flipLayout(this, axes));
  }

  /**
   * Its parts along an axis: `sections` equal ones, or parts of the sizes in an array. Each shares memory, and is disposed by itself.
   *
   * @throws MercerError SHAPE_MISMATCH where the parts do not make up the axis; INVALID_ARGUMENT
   */
  split(sections: number | readonly number[], axis = 0): Tensor<D>[] {
    return splitLayouts(this, sections, axis).map((part) => this.#view(part));
  }

  /** Repeated along dimensions of extent 1 and along new leading ones, with stride 0. Shares memory. */
  broadcastTo(shape: readonly number[]): Tensor<D> {
    return this.#view(broadcastLayout(this, shape));
  }

  /** Another handle for the same elements, disposed by itself. */
  view(...more: readonly never[]): Tensor<D> {
    refuseMore('view', more, 'Call reshape(shape) for the same elements in another shape');
    return this.#view(this);
  }

  #view(layout: Layout): Tensor<D> {
    return new Tensor(this.storage.retain(), this.dtype, layout);
  }

  /**
   * The elements in row-major order without gaps: a view where they are so already, else a copy. Resolves when the work is
   * enqueued.
   */
  contiguous(options?: WorkOptions): Pending<Tensor<D>> {
    return pendingCall(async (): Promise<Tensor<D>> => {
      const given = readOptions('contiguous', options, WORK_OPTIONS);
      given.signal?.throwIfAborted();
      return wrap(await contiguousView(this, given), this.dtype);
    });
  }

  /** A row-major copy. Resolves when the work is enqueued. */
  clone(options?: CopyOptions<D>): Pending<Tensor<D>> {
    return pendingCall(() => this.#copy(this.dtype, options, 'clone'));
  }

  /**
   * The elements as another dtype, always a copy. Floating to floating rounds to nearest even; floating to integer
   * truncates and saturates, NaN gives 0; integer to integer wraps; to bool is `x != 0`. Resolves when the work is enqueued.
   */
  cast<E extends DType>(dtype: E, options?: CopyOptions<NoInfer<E>>): Pending<Tensor<E>> {
    return pendingCall(() => this.#copy(dtype, options, 'cast'));
  }

  async #copy<E extends DType>(
    dtype: E,
    options: CopyOptions<E> | undefined,
    what: string,
  ): Promise<Tensor<E>> {
    checkDType(dtype, what);
    const given = readOptions(what, options, COPY_OPTIONS);
    const { out } = given;
    if (out === undefined) return wrap(await castView(this, dtype, given, what), dtype);
    assertTensor(out, `${what}: out`);
    await castInto(out, this, dtype, given, what);
    return out;
  }

  /**
   * A copy on another device, or another handle for the same elements where they are there already. Between two GPUs it resolves when
   * the copy is enqueued; between host and GPU when the bytes have been read, which a signal ends between pieces of 128 MiB on the way
   * to a GPU, and behind the one copy on the way to the host.
   */
  to(device: DeviceLike, options?: TransferOptions): Pending<Tensor<D>> {
    return pendingCall(async (): Promise<Tensor<D>> => {
      const given = readOptions('to', options, TRANSFER_OPTIONS);
      given.signal?.throwIfAborted();
      const target = deviceCore(device);
      if (target === this.storage.device) return this.view();
      return wrap(await moveView(this, target, given), this.dtype);
    });
  }

  /**
   * Overwrites the elements with those of `source`, converted and broadcast. Resolves with this tensor when the work is enqueued; from
   * another device as `to` does. An elementwise result like this tensor is computed into it: `await w.copyFrom(w.sub(g.mul(0.1)))`.
   */
  copyFrom(source: Tensor | Pending<Tensor>, options?: TransferOptions): Pending<Tensor<D>> {
    const copy = async (): Promise<Tensor<D>> => {
      heard([source]);
      const given = readOptions('copyFrom', options, TRANSFER_OPTIONS);
      if (isPending(source)) return this.#overwrite(source, given);
      assertTensor(source, 'copyFrom: the source');
      await copyInto(this, source, given);
      return this;
    };
    return hasPlace(source) ? pendingCall(copy) : pendingOf(copy);
  }

  /** Overwrites the elements with those of a result: in the turn of this call, unless that is still waiting for calls of its own. */
  async #overwrite(source: Pending<Tensor>, given: TransferOptions): Promise<this> {
    const written = [this.storage];
    if (!hasPlace(source)) await source;
    const turn = new Turn([], written);
    try {
      const from = await contentFor(this, source, given, turn);
      if (from === this) return this;
      assertTensor(from, 'copyFrom: the source');
      await turn.run(() => copyInto(this, from, given));
      return this;
    } finally {
      turn.end();
    }
  }

  /** Overwrites every element with one value. Resolves with this tensor when the work is enqueued. */
  fill(value: number | bigint | boolean, options?: WorkOptions): Pending<Tensor<D>> {
    return pendingCall(async (): Promise<Tensor<D>> => {
      await fillView(this, value, readOptions('fill', options, WORK_OPTIONS));
      return this;
    });
  }

  /**
   * The elements in row-major order, once the device has them; rejects with the device's error. A signal rejects the wait at once,
   * while the device's work goes on. float16 and bfloat16 come as Float32Array, or with `raw: true` as their bits in a Uint16Array.
   */
  async toTypedArray<R extends boolean = false>(
    options?: ReadbackOptions<R>,
  ): Promise<R extends true ? RawArrayOf<D> : TypedArrayOf<D>> {
    const given = readOptions('toTypedArray', options, READBACK_OPTIONS);
    const array = given.raw === true ? readRaw(this, given) : readTyped(this, given);
    return (await array) as R extends true ? RawArrayOf<D> : TypedArrayOf<D>;
  }

  /**
   * Nested arrays as deep as the rank (at rank 0 the element itself), once the device has the elements. A signal rejects the wait at
   * once, while the device's work goes on. The depth is not known to the type: a variable of a type such as `number[][]` takes the
   * result as the caller says that it is.
   */
  async toNested<N extends NestedOf<D> = NestedOf<D>>(options?: WorkOptions): Promise<N> {
    return (await readNested(this, readOptions('toNested', options, WORK_OPTIONS))) as N;
  }

  /**
   * The one element of a tensor that has one, of any rank, once the device has it. A signal rejects the wait at once.
   *
   * @throws MercerError SHAPE_MISMATCH for a tensor with none or several
   */
  async item(options?: SignalOption): Promise<ElementOf<D>> {
    const { signal } = readOptions('item', options, SIGNAL_OPTION);
    if (this.size !== 1) {
      throw new MercerError(
        'SHAPE_MISMATCH',
        `item: ${this.label} has ${this.size} elements, not one. Pick one with slice(...), or read all with toNested().`,
      );
    }
    const one = this.reshape([]);
    try {
      return (await readNested(one, { signal }, 'item')) as ElementOf<D>;
    } finally {
      one.dispose();
    }
  }

  /**
   * Writes dtype, shape, device and the first elements along each axis to the console, once the device has them. A signal rejects the
   * wait at once.
   */
  async print(options?: SignalOption): Promise<void> {
    const { signal } = readOptions('print', options, SIGNAL_OPTION);
    const part = this.slice(...shownRanges(this.shape));
    try {
      console.log(
        `${String(this)} ${shownText(await readNested(part, { signal }, 'print'), this.shape)}`,
      );
    } finally {
      part.dispose();
    }
  }

  /**
   * Resolves with this tensor when what was enqueued to write it is done; rejects with the device's error, or at once with the signal's
   * reason while the work goes on.
   */
  ready(options?: SignalOption): Pending<Tensor<D>> {
    return pendingCall(async (): Promise<Tensor<D>> => {
      const { signal } = readOptions('ready', options, SIGNAL_OPTION);
      assertNotPreparing('ready', 'waits');
      this.storage.assertComputed();
      await inTurn([this.storage], [], signal, () =>
        unlessAborted(this.storage.lastWrite.stream.tailDone(), signal),
      );
      return this;
    });
  }

  /** Returns the memory with the last view of it. Calling it again does nothing; any other use is an error. */
  dispose(): void {
    if (!this.#lifetime.release()) return;
    unwatch(this, this.#lifetime);
    noteDisposal(this);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /**
   * Shape, dtype and device, and the first elements along each axis where they lie in host memory and nothing is pending that
   * writes them. `print()` waits for them.
   */
  [inspect.custom](_depth?: number, options?: InspectOptions): string {
    if (answerCensus(this.#lifetime)) return '';
    const nested = this.disposed ? undefined : shownAtHand(this);
    return nested === undefined
      ? this.toString()
      : `${this.toString()} ${shownText(nested, this.shape, options)}`;
  }

  /** Shape, dtype and device. */
  toString(): string {
    return `Tensor(${this.dtype} ${formatShape(this.shape)} on ${this.device.id}${this.disposed ? ', disposed' : ''})`;
  }

  /** What JSON.stringify sees: shape, dtype and device. */
  toJSON(): { dtype: D; shape: readonly number[]; device: string } {
    return { dtype: this.dtype, shape: this.shape, device: this.device.id };
  }
}

/** A tensor that is promised: see {@link Pending}. */
export type PendingTensor<D extends DType = DType> = Pending<Tensor<D>>;

// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- see there
export interface Tensor<D extends DType = DType> extends TensorMethods<D> {}

/** The tensor of a view; takes over its reference to the storage. @internal */
export function wrap<D extends DType>(view: ElementView, dtype: D): Tensor<D> {
  return new Tensor(view.storage, dtype, view);
}

/**
 * Another handle for memory of a tensor, laid out and typed as said; the caller disposes it, and has checked that it stays inside.
 *
 * @internal
 */
export function viewOf<D extends DType>(tensor: Tensor, layout: Layout, dtype: D): Tensor<D> {
  return new Tensor(tensor.storage.retain(), dtype, layout);
}

/** True for a tensor of this copy of the package. */
export function isTensor(value: unknown): value is Tensor {
  return value instanceof Tensor;
}

/**
 * Checks an argument that must be a live tensor.
 *
 * @throws MercerError INVALID_ARGUMENT, DISPOSED, or TWO_COPIES naming both versions
 */
export function assertTensor(value: unknown, what: string): asserts value is Tensor {
  if (value instanceof Tensor) {
    value.assertAlive();
    return;
  }
  if (TracedValue.is(value)) throw notDifferentiable(what);
  refusePromise(value, what);
  const other = twoCopies(value, what);
  if (other !== undefined) throw other;
  refuseDataless(value, what);
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: expected a tensor, got ${describeValue(value)}. Make one with tensor(data).`,
  );
}
