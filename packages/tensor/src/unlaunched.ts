import { own } from '@mercer/options';
import { inspect } from 'node:util';
import { MercerError } from './mercer-error.js';
import type { Stream } from './device.js';
import { ambientStream, inContextOf } from './capture/ambient-stream.js';
import { placeInOrder, type Turn } from './call-order.js';
import { ActsAsPending, pendingPrototype, promiseOf } from './pending.js';
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
  #keepers = 0;
  #waiting: ((tensor: Tensor) => void)[] = [];
  /** Among calls: it reads what those before it write. */
  readonly place: number;
  /** Where it is launched, by whomever: as part of the function in which it was made. */
  readonly #context = ambientStream();

  constructor(place = placeInOrder()) {
    super();
    this.place = place;
  }

  get [Symbol.toStringTag](): string {
    return 'Pending';
  }

  /** The tensor, once it is there. */
  get tensor(): Tensor | undefined {
    return this.#tensor;
  }

  /** Calls back with the tensor as soon as it is there, before anybody who awaits it goes on. */
  whenThere(take: (tensor: Tensor) => void): void {
    if (this.#tensor === undefined) this.#waiting.push(take);
    else take(this.#tensor);
  }

  get started(): boolean {
    return this.#launched !== undefined;
  }

  get disposed(): boolean {
    return this.#disposed;
  }

  /** For messages. */
  protected abstract readonly label: string;

  /** Whether shape and dtype are known already. */
  get isKnown(): boolean {
    return false;
  }

  /** Somebody needs it though it is disposed, or was computed as part of another result. */
  keep(): void {
    this.#keepers++;
  }

  protected get isKept(): boolean {
    return this.#keepers > 0;
  }

  /** They no longer do. */
  letGo(): void {
    this.#keepers--;
    if (this.#disposed) this.#end();
  }

  /** A result of which shape and dtype are known, in an object, so that a promise of it launches nothing. */
  async made(): Promise<{ readonly made: unknown }> {
    return Promise.resolve({ made: this });
  }

  /** Begins the work. Gives the tensor itself where nothing has to be waited for. */
  protected abstract start(options: LaunchOptions): Tensor | Promise<Tensor>;

  /** It will not be launched. */
  protected abstract abandon(): void;

  override async computeInto(_out: Tensor, _options: LaunchOptions, _turn: Turn): Promise<boolean> {
    return Promise.resolve(false);
  }

  /** Enqueues the work, once; the options are those of who comes first. */
  override launch(options: LaunchOptions = {}): Promise<Tensor> {
    return (this.#launched ??= promiseOf(() => this.#begin(own(options, 'stream', 'signal'))));
  }

  #begin(options: LaunchOptions): Tensor | Promise<Tensor> {
    if (this.#disposed && this.#keepers === 0) {
      throw new MercerError(
        'DISPOSED',
        `${this.label}: it was disposed before it was computed. Use it before dispose().`,
      );
    }
    const started = inContextOf(this.#context, () => this.start(options));
    return started instanceof Promise
      ? started.then((tensor) => this.#come(tensor))
      : this.#come(started);
  }

  #come(tensor: Tensor): Tensor {
    this.#tensor = tensor;
    for (const take of this.#waiting) take(tensor);
    this.#waiting = [];
    if (this.disposed && this.#keepers === 0) tensor.dispose();
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
    this.#end();
  }

  #end(): void {
    if (this.#keepers > 0) return;
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
