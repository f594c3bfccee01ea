import { empty, MercerError, type Stream, type Tensor } from '@mercer/tensor';
import { assertNoOverlap, checkOut, formatShape } from '@mercer/tensor/operation';
import type { LinalgDType, Setting } from './checks.js';

/** Runs the body of a call; what it made is given back when it fails. */
export async function withOutputs<R>(
  setting: Setting,
  stream: Stream | undefined,
  body: (outputs: Outputs) => Promise<R>,
): Promise<R> {
  const outputs = new Outputs(setting, stream);
  try {
    return await body(outputs);
  } catch (error) {
    outputs.discard();
    throw error;
  }
}

/** Tensors that a call makes. */
export class Outputs {
  readonly #setting: Setting;
  readonly #stream: Stream | undefined;
  readonly #made: Tensor[] = [];

  constructor(setting: Setting, stream: Stream | undefined) {
    this.#setting = setting;
    this.#stream = stream;
  }

  /** A new row-major result: the batch axes, then these. */
  matrix<D extends LinalgDType>(...extents: readonly number[]): Tensor<D> {
    return this.#add(this.#setting.dtype as D, extents);
  }

  /** Another handle for memory of the caller's. */
  alias<D extends LinalgDType>(x: Tensor<D>): Tensor<D> {
    const view = x.view();
    this.#made.push(view);
    return view;
  }

  /** One number for each batch entry. */
  perEntry<D extends LinalgDType>(): Tensor<D> {
    return this.#add(this.#setting.dtype as D, []);
  }

  /** One integer for each batch entry. */
  integers(): Tensor<'int32'> {
    return this.#add('int32', []);
  }

  /**
   * The caller's output, checked, or a new one.
   *
   * @throws MercerError as `checkOut` does
   */
  given<D extends LinalgDType>(
    out: Tensor<D> | undefined,
    extents: readonly number[],
    inputs: readonly Tensor[],
  ): Tensor<D> {
    if (out === undefined) return this.matrix(...extents);
    const { what, batchShape, dtype, device } = this.#setting;
    checkOut(out, { shape: [...batchShape, ...extents], dtype, device }, inputs, what);
    return out;
  }

  discard(): void {
    for (const tensor of this.#made) tensor.dispose();
  }

  #add<D extends LinalgDType | 'int32'>(dtype: D, extents: readonly number[]): Tensor<D> {
    const { device, batchShape } = this.#setting;
    const tensor = empty([...batchShape, ...extents], { dtype, device, stream: this.#stream });
    this.#made.push(tensor);
    return tensor;
  }
}

/**
 * Checks an input that the call may overwrite: it has every batch entry itself and shares no memory with the others.
 *
 * @throws MercerError SHAPE_MISMATCH, OVERLAP
 */
export function assertOverwritable(
  { what, batchShape }: Setting,
  name: string,
  x: Tensor,
  others: readonly Tensor[],
): void {
  const own = x.shape.slice(0, -2);
  if (own.length !== batchShape.length || own.some((extent, i) => extent !== batchShape[i])) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${name} is ${x.label}, which is broadcast to the batch ${formatShape(batchShape)} and so cannot be overwritten. Expand and clone it, or leave the option out.`,
    );
  }
  assertNoOverlap(x, others, what);
}
