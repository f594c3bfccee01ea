import { gatherRows, random, Scope, tensor, type Device, type Tensor } from '@mercer/core';
import { DIGIT_PIXELS, type DigitSet } from '../digits/load-digits.js';

/** Images with their labels. */
export interface Batch extends Disposable {
  /** (N, 784) */
  readonly images: Tensor;
  /** (N) */
  readonly labels: Tensor;
}

/** All images of a set on a device, and batches of them in an order that the seed alone decides. */
export class DigitsOnDevice implements Disposable {
  readonly count: number;
  readonly #scope = new Scope();
  readonly #images: Tensor;
  readonly #labels: Tensor;
  #order: { readonly key: string; readonly places: Tensor<'int32'> } | undefined;

  private constructor(images: Tensor, labels: Tensor, count: number) {
    this.#images = this.#scope.track(images);
    this.#labels = this.#scope.track(labels);
    this.count = count;
  }

  static async upload(set: DigitSet, device: Device): Promise<DigitsOnDevice> {
    const { count, pixels, labels } = set;
    return new DigitsOnDevice(
      await tensor(pixels, { shape: [count, DIGIT_PIXELS], device }),
      await tensor(Int32Array.from(labels), { shape: [count, 1], device }),
      count,
    );
  }

  /** The images from one place to another, in the order in which they lie. */
  range(from: number, to: number): Batch {
    const scope = new Scope();
    const labels = scope.track(this.#labels.slice([from, to]));
    return {
      images: scope.track(this.#images.slice([from, to])),
      labels: scope.track(labels.reshape([to - from])),
      [Symbol.dispose]: () => {
        scope.dispose();
      },
    };
  }

  /** The batch of a step: each epoch has its own order, and leaves out what fills no batch. */
  async batchOf(step: number, size: number, key: random.RandomKey): Promise<Batch> {
    const inEpoch = Math.floor(this.count / size);
    const epoch = Math.floor(step / inEpoch);
    const at = (step % inEpoch) * size;
    using scope = new Scope();
    const order = await this.#orderOf(random.foldIn(key, epoch));
    const places = scope.track(order.slice([at, at + size]));
    const images = await gatherRows(this.#images, places);
    const column = scope.track(await gatherRows(this.#labels, places));
    const labels = column.reshape([size]);
    return {
      images,
      labels,
      [Symbol.dispose]: () => {
        images.dispose();
        labels.dispose();
      },
    };
  }

  async #orderOf(key: random.RandomKey): Promise<Tensor<'int32'>> {
    const name = String(key);
    if (this.#order?.key !== name) {
      this.#order?.places.dispose();
      const { device } = this.#images;
      this.#order = { key: name, places: await random.permutation(this.count, { key, device }) };
    }
    return this.#order.places;
  }

  [Symbol.dispose](): void {
    this.#order?.places.dispose();
    this.#scope.dispose();
  }
}
