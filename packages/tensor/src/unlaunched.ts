import { inspect } from 'node:util';
import { MercerError } from './mercer-error.js';
import type { Stream } from './device.js';
import { ActsAsPending, pendingPrototype } from './pending.js';
import type { Tensor } from './tensor.js';

/** Where the work of a result is enqueued. */
export interface LaunchOptions {
  readonly stream?: Stream | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * A pending tensor whose work begins when somebody awaits it or uses it in an operation that is not elementwise. To callers it is a
 * promise of a tensor with the tensor's methods, as every pending result.
 */
export abstract class Unlaunched extends ActsAsPending {
  #launched: Promise<Tensor> | undefined;
  #tensor: Tensor | undefined;
  #disposed = false;

  get [Symbol.toStringTag](): string {
    return 'Pending';
  }

  /** The tensor, once it is there. */
  get tensor(): Tensor | undefined {
    return this.#tensor;
  }

  get started(): boolean {
    return this.#launched !== undefined;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** For messages. */
  protected abstract readonly label: string;

  /** Begins the work. */
  protected abstract start(options: LaunchOptions): Promise<Tensor>;

  /** It will not be launched. */
  protected abstract abandon(): void;

  override async computeInto(_out: Tensor, _options: LaunchOptions): Promise<boolean> {
    return Promise.resolve(false);
  }

  /** Enqueues the work, once; the options are those of who comes first. */
  override launch(options: LaunchOptions = {}): Promise<Tensor> {
    return (this.#launched ??= this.#begin(options));
  }

  async #begin(options: LaunchOptions): Promise<Tensor> {
    if (this.#disposed) {
      throw new MercerError(
        'DISPOSED',
        `${this.label}: it was disposed before it was computed. Use it before dispose().`,
      );
    }
    const tensor = await this.start(options);
    this.#tensor = tensor;
    if (this.disposed) tensor.dispose();
    return tensor;
  }

  then<A = Tensor, B = never>(
    onFulfilled?: ((tensor: Tensor) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.launch().then(onFulfilled, onRejected);
  }

  catch<B = never>(
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<Tensor | B> {
    return this.launch().catch(onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<Tensor> {
    return this.launch().finally(onFinally);
  }

  /** Disposes the tensor as soon as it is there; what is not launched yet never is. */
  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#tensor?.dispose();
    if (this.#launched === undefined) this.abandon();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  [inspect.custom](): string {
    return this.#tensor === undefined
      ? `Pending(${this.label})`
      : `Pending(${this.#tensor.toString()})`;
  }
}

Object.setPrototypeOf(Unlaunched.prototype, pendingPrototype);
