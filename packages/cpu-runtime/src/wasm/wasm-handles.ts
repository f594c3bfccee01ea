import { CpuRuntimeError } from '../errors.js';

/** Something in the module's memory, freed when its handle and all graphs that use it have let it go. */
export class Counted {
  readonly address: number;
  /** Bytes of memory; of a function those of its parameters. */
  readonly bytes: number;
  #users = 1;
  readonly #free: (address: number, bytes: number) => void;

  constructor(address: number, bytes: number, free: (address: number, bytes: number) => void) {
    this.address = address;
    this.bytes = bytes;
    this.#free = free;
  }

  keep(): this {
    this.#users += 1;
    return this;
  }

  release(): void {
    this.#users -= 1;
    if (this.#users === 0) this.#free(this.address, this.bytes);
  }
}

/** What JavaScript holds of a thing of the runtime; empty once it is disposed. A forgotten one is disposed by the collector. */
abstract class Handle<T extends object> {
  /** What messages call it. */
  static readonly kind: string;
  #value: T | undefined;

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    if (this.#value === undefined) {
      throw new CpuRuntimeError(
        'DISPOSED',
        `the ${(this.constructor as typeof Handle).kind} was disposed. Do not use it after dispose().`,
      );
    }
    return this.#value;
  }

  /** What it held, the first time. */
  empty(): T | undefined {
    const value = this.#value;
    this.#value = undefined;
    return value;
  }
}

/** Host memory. */
export class WasmBuffer extends Handle<Counted> {
  static override readonly kind = 'buffer';
}

/** A program or a built-in function of the module, by its address there. */
export class WasmFunction extends Handle<Counted> {
  static override readonly kind = 'function';
}

/** A launch or a copy, ready to be run any number of times, and what it keeps. */
export interface WasmWork {
  readonly run: (on: StreamState) => void;
  readonly kept: readonly Counted[];
}

/** Work captured from a stream. */
export class WasmGraph extends Handle<WasmWork[]> {
  static override readonly kind = 'graph';
}

/** What a stream has besides work that waits, which there is none of. */
export interface StreamState {
  capture: WasmWork[] | undefined;
  /** A launch got no scratch memory, and no promise has said so yet. */
  outOfMemory: boolean;
}

/** A queue of work, which is empty all the time: work runs when it is enqueued. */
export class WasmStream extends Handle<StreamState> {
  static override readonly kind = 'stream';
}

/** A moment, in milliseconds. */
export class WasmEvent extends Handle<{ readonly time: number }> {
  static override readonly kind = 'event';
}

/** @throws CpuRuntimeError `INVALID_ARGUMENT` for anything else, `DISPOSED` */
export function valueOf<T extends object>(
  handle: unknown,
  type: (new (value: T) => Handle<T>) & { readonly kind: string },
): T {
  if (handle instanceof type) return handle.value;
  throw new CpuRuntimeError(
    'INVALID_ARGUMENT',
    `the argument is not a ${type.kind} handle of @mercer/cpu-runtime.`,
  );
}

/** Lets go what captured work keeps. */
export function releaseAll(works: readonly WasmWork[]): void {
  for (const { kept } of works) for (const one of kept) one.release();
}
