import type { DType } from '@mercer/kernels';
import { formatShape } from '../checked-size.js';
import type { Device } from '../device.js';
import type { Turn } from '../call-order.js';
import type { StorageBlock } from '../storage-block.js';
import type { Tensor } from '../tensor.js';
import { unlessAborted } from '../unless-aborted.js';
import { Unlaunched, type LaunchOptions } from '../unlaunched.js';
import type { Chain, ChainNode } from './chain.js';
import { LaterRead, ReadHold, type LaterReader } from './later-read.js';
import { launchChain, startChain } from './launch-chain.js';
import { canStayUnstored } from './stored-formula.js';

/**
 * The result of an elementwise operation that is not launched yet: a node of a chain, whose operands are tensors, numbers and other nodes.
 * The whole chain becomes one kernel when somebody awaits it or uses it elsewhere.
 *
 * It holds the memory that it reads until it is launched, by itself or as part of another chain. After that it can be used
 * again as long as what it reads is there and was not written.
 */
export class ChainResult extends Unlaunched implements LaterReader, ChainNode {
  readonly hasPlace = true;
  readonly canLaunch = true;
  readonly chain: Chain;
  readonly #held: ReadHold;
  /** What was computed before, as it was then; undefined where nothing is. */
  readonly #there: Map<Unlaunched, LaterRead> | undefined;

  /** @param place of the call that made it, where this is another handle for its result */
  constructor(chain: Chain, place?: number) {
    super(place);
    this.chain = chain;
    this.#held = new ReadHold(chain.reads);
    if (chain.before.length > 0) {
      this.#there = new Map<Unlaunched, LaterRead>();
      this.#awaitBefore(this.#there);
    }
    this.hold();
  }

  #awaitBefore(there: Map<Unlaunched, LaterRead>): void {
    const self = new WeakRef(this);
    for (const one of this.chain.before) {
      const known = this.#knownToOperands(one);
      if (known !== undefined) {
        there.set(one, known);
        this.#held.add(known);
        continue;
      }
      one.whenThere((tensor) => {
        const result = self.deref();
        if (result !== undefined) result.#keep(there, one, tensor);
      });
    }
  }

  twin(): ChainResult | Tensor {
    return this.tensor?.view() ?? new Twin(this.chain, this.place);
  }

  override keep(): void {
    super.keep();
    for (const one of this.chain.before) one.keep();
  }

  override letGo(): void {
    super.letGo();
    for (const one of this.chain.before) one.letGo();
  }

  get shape(): readonly number[] {
    return this.chain.shape;
  }

  get dtype(): DType {
    return this.chain.dtype;
  }

  get device(): Device {
    return this.chain.device;
  }

  override get isKnown(): boolean {
    return true;
  }

  override get label(): string {
    return `${this.chain.what} (${this.dtype} ${formatShape(this.shape)}, not computed yet)`;
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
    if (this.#held.holds) return;
    for (const read of this.chain.reads) read.assertReadable(this);
    this.#held.acquire(this);
  }

  /** What was computed before an operand, which may be disposed since. */
  #knownToOperands(one: Unlaunched): LaterRead | undefined {
    for (const operand of this.chain.operands) {
      const read = operand instanceof ChainResult ? operand.#there?.get(one) : undefined;
      if (read?.isCurrentAt() === true) return read;
    }
    return undefined;
  }

  #keep(there: Map<Unlaunched, LaterRead>, one: Unlaunched, tensor: Tensor): void {
    if (tensor.disposed || there.has(one)) return;
    const read = LaterRead.of(tensor);
    there.set(one, read);
    this.#held.add(read);
  }

  async launchedBefore(one: Unlaunched, { stream, signal }: LaunchOptions): Promise<LaterRead> {
    const known = this.#there?.get(one);
    if (known !== undefined) return known;
    // the signal is of this call alone
    const tensor = await unlessAborted(one.launch({ stream }), signal);
    return this.#there?.get(one) ?? LaterRead.of(tensor);
  }

  get joined(): readonly ChainResult[] {
    const { operands, before } = this.chain;
    return operands.flatMap((one) =>
      one instanceof ChainResult && !before.includes(one) ? [one] : [],
    );
  }

  get waits(): boolean {
    return !this.started;
  }

  /** Whether what reads it and computes in such numbers can compute it in its own kernel, with the same bits and elements. */
  joins(computesIn: Chain['computesIn']): boolean {
    const { chain } = this;
    if (this.started || chain.computesIn !== computesIn || !canStayUnstored(chain)) return false;
    return chain.reads.every((read) => read.isCurrentAt());
  }

  /** JSON sees what it sees of a tensor. */
  toJSON(): object {
    const { dtype, shape, device } = this;
    return { dtype, shape, device: device.id };
  }

  /** Whether it is computed from this memory, by itself or by what is computed in its kernel. */
  dependsOn(storage: StorageBlock): boolean {
    const parts = new Set<ChainResult>([this]);
    for (const { chain, tensor } of parts) {
      if (tensor?.storage === storage) return true;
      if (chain.reads.some((read) => read.storage === storage)) return true;
      for (const one of chain.operands) if (one instanceof ChainResult) parts.add(one);
    }
    return false;
  }

  /** What it reads is no longer kept for it. */
  release(): void {
    this.#held.release();
  }

  async enqueued(): Promise<unknown> {
    return this.launch();
  }

  protected override abandon(): void {
    this.release();
  }

  protected override start(options: LaunchOptions): Tensor | Promise<Tensor> {
    this.hold();
    return startChain(this, options) ?? this.launchInto(undefined, options);
  }

  override async computeInto(
    out: Tensor,
    { stream, signal }: LaunchOptions,
    turn: Turn,
  ): Promise<boolean> {
    if (this.started || out.disposed || !this.#fits(out)) return false;
    if (!this.chain.reads.every((read) => read.isCurrentAt(turn.place))) return false;
    await this.launchInto(out, { stream, signal }, turn);
    return true;
  }

  #fits(out: Tensor): boolean {
    const { shape, dtype, device } = this;
    return (
      out.dtype === dtype &&
      out.device === device &&
      out.rank === shape.length &&
      shape.every((extent, axis) => extent === out.shape[axis]) &&
      this.chain.reads.every((read) => read.tensor === out || read.storage !== out.storage)
    );
  }

  /** Computes it into `out`, whatever was launched before. @param turn of the call that writes `out` @throws MercerError */
  async launchInto(out: Tensor | undefined, options: LaunchOptions, turn?: Turn): Promise<Tensor> {
    this.hold();
    try {
      return await launchChain(this, { ...options, out }, turn);
    } finally {
      this.spend();
    }
  }

  /** With it, what was computed in the same kernel has been launched; what somebody keeps holds what it reads. */
  spend(): void {
    const spent = new Set<ChainResult>([this]);
    for (const node of spent) {
      if (node === this || !node.isKept) node.release();
      for (const one of node.chain.operands)
        if (one instanceof ChainResult && !one.started) spent.add(one);
    }
  }
}

/** It keeps what is computed before, also where that is disposed. */
class Twin extends ChainResult {
  constructor(chain: Chain, place: number) {
    super(chain, place);
    for (const one of chain.before) one.keep();
  }

  override dispose(): void {
    if (this.disposed) return;
    super.dispose();
    for (const one of this.chain.before) one.letGo();
  }
}
