import { full, type Device, type Tensor } from '@mercer/tensor';
import { unlessAborted } from '@mercer/tensor/operation';

/** Tensors by name. */
export type State = Readonly<Record<string, Tensor>>;

/** What numbers of columns are computed in. */
export const IN_FLOAT64 = { dtype: 'float64' } as const;

/** Disposes of the tensors of a state, but for those that another has too. */
export function release(state: State, kept?: State): void {
  const others = new Set(Object.values(kept ?? {}));
  for (const one of Object.values(state)) if (!others.has(one)) one.dispose();
}

/** What work gives; what was made before it is disposed where it throws. */
export async function keeping<T>(made: State, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    release(made);
    throw error;
  }
}

/** What work gives, or the signal's reason as soon as that aborts: what the work gives later is disposed then. */
export async function unlessLeft<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  dispose: (late: T) => void,
): Promise<T> {
  try {
    return await unlessAborted(work, signal);
  } catch (error) {
    void work.then(dispose, () => undefined);
    throw error;
  }
}

/** Inner products of columns (N, K), or of more along an axis, each in float64: products and sums are exact to its rounding, whatever the columns are. */
export class Dots implements Disposable {
  readonly #one: Tensor<'float64'>;

  private constructor(one: Tensor<'float64'>) {
    this.#one = one;
  }

  static async on(device: Device): Promise<Dots> {
    return new Dots(await full([], 1, { device, dtype: 'float64' }));
  }

  /** A factor in float64 makes the whole chain of that dtype. */
  of(a: Tensor, b: Tensor, axis = 0): PromiseLike<Tensor> {
    return a.mul(this.#one).mul(b).sum(axis);
  }

  [Symbol.dispose](): void {
    this.#one.dispose();
  }
}
