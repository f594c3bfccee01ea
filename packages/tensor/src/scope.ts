import { describeValue } from '@mercer/options';
import type { DType } from '@mercer/kernels';
import {
  empty,
  full,
  tensor,
  zeros,
  type DTypeOf,
  type FullOptions,
  type NewOptions,
  type TensorOptions,
} from './create.js';
import type { TensorSource } from './host-array.js';
import { MercerError } from './mercer-error.js';
import { pendingCall } from './pending.js';
import { Tensor, type PendingTensor } from './tensor.js';
import { Unlaunched } from './unlaunched.js';
import { TracedValue } from './trace/traced-value.js';

/**
 * Owns the tensors that are made through it or given to `track`, and nothing else: tensors made by other code that runs
 * meanwhile are not touched.
 */
export class Scope {
  readonly #owned = new Set<Tensor>();
  readonly #unlaunched = new Set<Unlaunched>();
  #closed = false;

  /** The scope disposes this tensor when it ends, or a pending one that is not there yet when it comes. Returns it. */
  track<T extends Tensor | PendingTensor>(tensor: T): T {
    if (tensor instanceof Tensor) return this.#own(tensor);
    // a trace owns its values
    if (TracedValue.is(tensor)) return tensor;
    if (tensor instanceof Unlaunched) {
      // tracking launches nothing
      this.#unlaunched.add(tensor);
      tensor.whenThere((made) => {
        this.#unlaunched.delete(tensor);
        if (this.#closed) made.dispose();
        else this.#owned.add(made);
      });
      return tensor;
    }
    const promised: PendingTensor = tensor;
    promised.then(
      (made) => {
        if (this.#closed) made.dispose();
        else this.#owned.add(made);
      },
      () => undefined, // whoever uses the tensor is told
    );
    return tensor;
  }

  #own<T extends Tensor>(tensor: T): T {
    if (this.#closed) {
      tensor.dispose();
      throw new MercerError(
        'DISPOSED',
        `scope: ${tensor.label} was made after its scope had ended, and was disposed. Await everything inside the scope.`,
      );
    }
    this.#owned.add(tensor);
    return tensor;
  }

  /** The caller disposes this tensor, not the scope. Returns it. */
  keep<T extends Tensor>(tensor: T): T {
    this.#owned.delete(tensor);
    return tensor;
  }

  /** As the function `tensor`, owned by the scope. */
  tensor<const S extends TensorSource, D extends DType = DTypeOf<S>>(
    data: S,
    options?: TensorOptions<D>,
  ): PendingTensor<D> {
    return pendingCall(async () => this.#own(await tensor(data, options)));
  }

  /** As the function `empty`, owned by the scope. */
  empty<D extends DType = 'float32'>(shape: readonly number[], options?: NewOptions<D>): Tensor<D> {
    return this.track(empty(shape, options));
  }

  /** As the function `zeros`, owned by the scope. */
  zeros<D extends DType = 'float32'>(
    shape: readonly number[],
    options?: FullOptions<D>,
  ): PendingTensor<D> {
    return pendingCall(async () => this.#own(await zeros(shape, options)));
  }

  /** As the function `full`, owned by the scope. */
  full<D extends DType = 'float32'>(
    shape: readonly number[],
    value: number | bigint | boolean,
    options?: FullOptions<D>,
  ): PendingTensor<D> {
    return pendingCall(async () => this.#own(await full(shape, value, options)));
  }

  /** Disposes everything owned. Calling it again does nothing. */
  dispose(): void {
    this.#closed = true;
    for (const tensor of this.#owned) tensor.dispose();
    this.#owned.clear();
    for (const one of this.#unlaunched) one.dispose();
    this.#unlaunched.clear();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

/** Tensors in a returned value: itself, or in arrays and plain objects to this depth. */
const ESCAPE_DEPTH = 4;

function keepReturned(scope: Scope, value: unknown, depth: number): void {
  if (value instanceof Tensor) {
    scope.keep(value);
  } else if (depth > 0 && typeof value === 'object' && value !== null) {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (Array.isArray(value) || prototype === Object.prototype || prototype === null) {
      for (const part of Object.values(value)) keepReturned(scope, part, depth - 1);
    }
  }
}

/**
 * Runs an async function and disposes, also when it throws, the tensors made through `s` (`s.tensor`, `s.empty`,
 * `s.zeros`, `s.full`) or tracked with `s.track(t)`. Tensors in the returned value escape: the value itself, or inside
 * arrays and plain objects; anything else that shall live on is kept with `s.keep(t)`.
 *
 * @example
 * ```ts
 * import { scope } from '@mercer/tensor';
 *
 * const result = await scope(async (s) => {
 *   const a = await s.tensor([1.5, 2.5], { device: 'cpu' });
 *   const whole = s.track(await a.cast('int32'));
 *   return whole.cast('float64'); // escapes; a and whole are disposed
 * });
 * console.log(await result.toNested()); // [ 1, 2 ]
 * ```
 */
export async function scope<T>(body: (s: Scope) => Promise<T> | T): Promise<T> {
  if (typeof body !== 'function') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `scope: the body is ${describeValue(body)}. Pass a function that is given the scope.`,
    );
  }
  const s = new Scope();
  try {
    const value = await body(s);
    keepReturned(s, value, ESCAPE_DEPTH);
    return value;
  } finally {
    s.dispose();
  }
}
