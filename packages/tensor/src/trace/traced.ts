import { inspect } from 'node:util';
import type { DType } from '@mercer/kernels';
import { bytesOf, formatShape, sizeOfShape } from '../checked-size.js';
import type { Device, SignalOption } from '../device.js';
import { isRowMajor } from '../layout.js';
import { MercerError, writesTraced } from '../mercer-error.js';
import type { StorageBlock } from '../storage-block.js';
import type { Tensor } from '../tensor.js';
import { Unlaunched, type LaunchOptions } from '../unlaunched.js';
import type { Arguments } from './arguments.js';
import type { Primitive } from './primitive.js';
import { promisesTraced, TracedValue } from './traced-value.js';

/** What records operations on the values of one level. */
export interface Trace {
  /** Larger for a trace that began later. The largest among the arguments of a call records it. */
  readonly level: number;
  /** Axes in front of what its values stand for that operations on them do not see: the mapped one of `vmap`. Default: 0. */
  readonly hiddenAxes?: number;
  /** Whether operations may compute, beside what is asked for, slopes that its derivatives will read. */
  readonly wantsSlopes?: boolean;
  /** Computes the operation on what the traced arguments stand for, and gives its result traced. @throws MercerError ESCAPED */
  apply(primitive: Primitive, args: Arguments): unknown;
  /** @throws MercerError ESCAPED where it has ended @param what what uses a value of it */
  assertLive(what: string): void;
  /** The elements of a value were read, with this method. @throws MercerError ESCAPED, and where a value has no elements of its own */
  noteRead(what: string): void;
}

/** Of extents or strides those that operations see. */
const seen = ({ hiddenAxes = 0 }: Trace, all: readonly number[]): readonly number[] =>
  hiddenAxes === 0 ? all : all.slice(hiddenAxes);

let levels = 0;

/** The level of a trace that begins now. */
export const nextLevel = (): number => ++levels;

/**
 * A tensor inside a function that is differentiated. It has a tensor's members and stands for one wherever an operation has a derivative rule, but it is none: what has
 * no rule refuses it, so that no gradient is lost.
 */
export class Traced extends TracedValue {
  readonly trace: Trace;
  /** What the trace knows of it. */
  readonly record: unknown;
  /** What it stands for: a tensor, or a traced value of a lower level. */
  readonly primal: Tensor;
  #disposed = false;

  constructor(trace: Trace, record: unknown, primal: Tensor) {
    super();
    this.trace = trace;
    this.record = record;
    this.primal = primal;
  }

  get device(): Device {
    return this.primal.device;
  }

  get dtype(): DType {
    return this.primal.dtype;
  }

  get shape(): readonly number[] {
    return seen(this.trace, this.primal.shape);
  }

  get strides(): readonly number[] {
    return seen(this.trace, this.primal.strides);
  }

  get offset(): number {
    return this.primal.offset;
  }

  get rank(): number {
    return this.shape.length;
  }

  get size(): number {
    return sizeOfShape(this.shape);
  }

  get bytes(): number {
    return bytesOf(this.size, this.dtype);
  }

  get isContiguous(): boolean {
    return isRowMajor(this.shape, this.strides);
  }

  get label(): string {
    const { trace, primal, dtype, shape } = this;
    return `traced ${trace.hiddenAxes === undefined ? primal.label : `${dtype} ${formatShape(shape)}`}`;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** @throws MercerError DISPOSED */
  assertAlive(): void {
    if (!this.#disposed) return;
    throw new MercerError(
      'DISPOSED',
      `${this.label} was disposed and cannot be used. Use it before dispose().`,
    );
  }

  /** Another handle for the same value, disposed by itself. */
  twin(): Traced {
    return new Traced(this.trace, this.record, this.primal);
  }

  /** The trace keeps what it needs. */
  dispose(): void {
    this.#disposed = true;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** @throws MercerError NOT_DIFFERENTIABLE: a value of a function that is differentiated is not overwritten */
  copyFrom(): never {
    throw writesTraced('copyFrom', 'it overwrites a traced value');
  }

  /** @throws MercerError NOT_DIFFERENTIABLE */
  fill(): never {
    throw writesTraced('fill', 'it overwrites a traced value');
  }

  toTypedArray(options?: never): Promise<unknown> {
    return this.#read('toTypedArray').toTypedArray(options);
  }

  toNested(options?: never): Promise<unknown> {
    return this.#read('toNested').toNested(options);
  }

  item(options?: SignalOption): Promise<unknown> {
    return this.#read('item').item(options);
  }

  print(options?: SignalOption): Promise<void> {
    return this.#read('print').print(options);
  }

  async ready(options?: SignalOption): Promise<this> {
    this.trace.assertLive('ready');
    await this.primal.ready(options);
    return this;
  }

  #read(what: string): Tensor {
    this.assertAlive();
    this.trace.noteRead(what);
    return this.primal;
  }

  [inspect.custom](): string {
    return this.toString();
  }

  override toString(): string {
    const { dtype, shape, device } = this;
    return `Traced(${dtype} ${formatShape(shape)} on ${device.id}${this.disposed ? ', disposed' : ''})`;
  }

  toJSON(): object {
    const { dtype, shape, device } = this;
    return { dtype, shape, device: device.id };
  }
}

/** A traced elementwise result that is not launched yet: its shape and dtype are known. */
export class TracedResult extends Unlaunched {
  readonly hasPlace = true;
  readonly trace: Trace;
  readonly record: unknown;
  readonly primal: KnownResult;

  constructor(trace: Trace, record: unknown, primal: KnownResult) {
    super();
    this.trace = trace;
    this.record = record;
    this.primal = primal;
    promisesTraced(this);
  }

  get shape(): readonly number[] {
    return seen(this.trace, this.primal.shape);
  }

  get dtype(): DType {
    return this.primal.dtype;
  }

  get device(): Device {
    return this.primal.device;
  }

  get rank(): number {
    return this.shape.length;
  }

  twin(): TracedResult {
    return new TracedResult(this.trace, this.record, this.primal);
  }

  override get isKnown(): boolean {
    return true;
  }

  dependsOn(storage: StorageBlock): boolean {
    return this.primal.dependsOn(storage);
  }

  override get label(): string {
    return `a traced elementwise result (${this.dtype} ${formatShape(this.shape)})`;
  }

  protected override start(options: LaunchOptions): Tensor | Promise<Tensor> {
    const tracedOf = (primal: Tensor): Tensor =>
      new Traced(this.trace, this.record, primal) as unknown as Tensor;
    const launched = this.primal.launch(options);
    const { tensor } = this.primal;
    if (tensor !== undefined) return tracedOf(tensor);
    return launched.then(tracedOf, (error: unknown) => {
      // what a trace owns ends with it
      this.trace.assertLive('an elementwise result');
      throw error;
    });
  }

  protected override abandon(): void {
    // the trace owns what it stands for
  }

  /** @throws MercerError DISPOSED */
  assertAlive(): void {
    if (!this.disposed) return;
    throw new MercerError(
      'DISPOSED',
      `${this.label} was disposed and cannot be used. Use it before dispose().`,
    );
  }
}

/** A result that is not launched, of which shape and dtype are known. */
export type KnownResult = Unlaunched & {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly device: Device;
  /** Whether it is computed from this memory. */
  dependsOn(storage: StorageBlock): boolean;
  /** Another result of the same elements, disposed by itself. */
  twin(): KnownResult | Tensor;
};

/** What a traced value stands for. */
export type Primal = Tensor | KnownResult;

/** A value of a trace. */
export const isTracedKnown = (value: unknown): value is Traced | TracedResult =>
  value instanceof Traced || value instanceof TracedResult;

/** A result of a call of which shape and dtype are known. */
export const isKnownResult = (value: unknown): value is KnownResult =>
  value instanceof Unlaunched && value.isKnown;
