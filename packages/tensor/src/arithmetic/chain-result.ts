import type { DType } from '@mercer/kernels';
import { formatShape } from '../checked-size.js';
import type { Device } from '../device.js';
import { MercerError } from '../mercer-error.js';
import type { Tensor } from '../tensor.js';
import { Unlaunched, type LaunchOptions } from '../unlaunched.js';
import type { LaterRead, LaterReader } from './later-read.js';
import { launchChain } from './launch-chain.js';
import type { OperatorName } from './operators.js';

/** A number that is part of the kernel, where its value decides the formula. */
export interface Literal {
  readonly literal: number;
}

/** What an elementwise operation is applied to. */
export type ChainOperand =
  /** A number that the kernel is given at each launch. */
  | number
  | Literal
  | LaterRead
  /** Computed in the same kernel. */
  | ChainResult
  /** Computed before. */
  | Unlaunched;

/** What is known of an elementwise result when it is made. */
export interface ChainParts {
  readonly operator: OperatorName;
  readonly operands: readonly ChainOperand[];
  /** What is computed before, each in a kernel of its own, also for operands that are computed in the same kernel. */
  readonly before: readonly Unlaunched[];
  /** Tensors that are read, also by operands that are computed in the same kernel. */
  readonly reads: readonly LaterRead[];
  /** Operations of the whole chain. */
  readonly operations: number;
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly computesIn: 'float32' | 'float64';
  readonly device: Device;
}

const collected = new FinalizationRegistry<{
  readonly reads: readonly LaterRead[];
  readonly self: WeakRef<LaterReader>;
}>(({ reads, self }) => {
  for (const read of reads) read.delete(self);
});

/**
 * The result of an elementwise operation that is not launched yet: a node of a chain, whose operands are tensors, numbers and other nodes.
 * The whole chain becomes one kernel when somebody awaits it or uses it elsewhere.
 *
 * It holds the memory that it reads until it is launched, by itself or as part of another chain. After that it can be used
 * again as long as what it reads is there and was not written.
 */
export class ChainResult extends Unlaunched implements LaterReader, ChainParts {
  readonly operator: OperatorName;
  readonly operands: readonly ChainOperand[];
  readonly before: readonly Unlaunched[];
  readonly reads: readonly LaterRead[];
  readonly operations: number;
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly computesIn: 'float32' | 'float64';
  readonly device: Device;
  readonly #self: WeakRef<ChainResult>;
  #holds = false;

  constructor(parts: ChainParts) {
    super();
    this.operator = parts.operator;
    this.operands = parts.operands;
    this.before = parts.before;
    this.reads = parts.reads;
    this.operations = parts.operations;
    this.shape = parts.shape;
    this.dtype = parts.dtype;
    this.computesIn = parts.computesIn;
    this.device = parts.device;
    this.#self = new WeakRef(this);
    this.hold();
  }

  override get label(): string {
    return `${this.operator} (${this.dtype} ${formatShape(this.shape)}, not computed yet)`;
  }

  override toString(): string {
    return `Pending(${this.label} on ${this.device.id})`;
  }

  /**
   * Keeps what it reads until it is launched.
   *
   * @throws MercerError DISPOSED or MODIFIED where it was part of a chain that was launched, and what it reads is gone since
   */
  hold(): void {
    if (this.#holds) return;
    for (const read of this.reads) this.#assertCurrent(read);
    this.#holds = true;
    collected.register(this, { reads: this.reads, self: this.#self }, this.#self);
    for (const read of this.reads) read.add(this.#self);
  }

  #assertCurrent(read: LaterRead): void {
    if (read.isCurrent) return;
    const { tensor } = read;
    const [code, what] = tensor.disposed
      ? (['DISPOSED', 'disposed'] as const)
      : (['MODIFIED', 'written'] as const);
    throw new MercerError(
      code,
      `${this.label}: it was computed as part of another result, and ${tensor.label}, which it reads, was ${what} since. Await it before that, to keep its values.`,
    );
  }

  /** What it reads is no longer kept for it. */
  release(): void {
    if (!this.#holds) return;
    this.#holds = false;
    collected.unregister(this.#self);
    for (const read of this.reads) read.delete(this.#self);
  }

  async enqueued(): Promise<unknown> {
    return this.launch();
  }

  protected override abandon(): void {
    this.release();
  }

  protected override async start(options: LaunchOptions): Promise<Tensor> {
    return this.launchInto(undefined, options);
  }

  override async computeInto(out: Tensor, { stream, signal }: LaunchOptions): Promise<boolean> {
    if (this.started || out.disposed || !this.#fits(out)) return false;
    await this.launchInto(out, { stream, signal });
    return true;
  }

  #fits(out: Tensor): boolean {
    const { shape, dtype, device } = this;
    return (
      out.dtype === dtype &&
      out.device === device &&
      out.rank === shape.length &&
      shape.every((extent, axis) => extent === out.shape[axis]) &&
      this.reads.every(
        ({ tensor }) => tensor === out || tensor.disposed || tensor.storage !== out.storage,
      )
    );
  }

  /** Computes it into `out`, whatever was launched before. @throws MercerError */
  async launchInto(out: Tensor | undefined, options: LaunchOptions): Promise<Tensor> {
    this.hold();
    try {
      return await launchChain(this, { ...options, out });
    } finally {
      this.#spend();
    }
  }

  /** With it, what was computed in the same kernel has been launched. */
  #spend(): void {
    this.release();
    for (const one of this.operands) if (one instanceof ChainResult && !one.started) one.#spend();
  }
}
