import { variable } from '@mercer/formula';
import { empty, map, type Tensor } from '@mercer/tensor';
import { isRowMajor } from '@mercer/tensor/operation';

const [from] = [variable('from')];

/** Tensors of a tree as one vector. */
export class FlatForm {
  readonly shapes: readonly (readonly number[])[];
  readonly size: number;
  readonly dtype: 'float32' | 'float64';
  readonly #device: Tensor['device'];

  /** @param like at least one */
  constructor(like: readonly Tensor[]) {
    this.shapes = like.map(({ shape }) => shape);
    this.size = like.reduce((sum, { size }) => sum + size, 0);
    this.dtype = like.some(({ dtype }) => dtype === 'float64') ? 'float64' : 'float32';
    this.#device = (like[0] as Tensor).device;
  }

  /** A new vector. */
  empty(): Tensor {
    return empty([this.size], { device: this.#device, dtype: this.dtype });
  }

  /** The parts of a vector in their shapes, which the caller disposes. */
  parts(flat: Tensor): readonly Tensor[] {
    let at = 0;
    return this.shapes.map((shape) => {
      const size = shape.reduce((product, extent) => product * extent, 1);
      using run = flat.slice([at, at + size]);
      at += size;
      return run.reshape(shape);
    });
  }

  /** Tensors as one vector: the memory of one that lies in a row, else a new one. */
  flat(tensors: readonly Tensor[]): Tensor | Promise<Tensor> {
    const [one] = tensors as readonly [Tensor];
    const isFlat =
      tensors.length === 1 && one.dtype === this.dtype && isRowMajor(one.shape, one.strides);
    return isFlat ? one.reshape([this.size]) : this.gathered(tensors);
  }

  /** A new vector of tensors, in one launch. */
  async gathered(tensors: readonly Tensor[]): Promise<Tensor> {
    const flat = this.empty();
    const parts = this.parts(flat);
    try {
      await map(from, { from: tensors }, { out: parts });
      return flat;
    } catch (error) {
      flat.dispose();
      throw error;
    } finally {
      for (const one of parts) one.dispose();
    }
  }

  /** Writes a vector into tensors, in one launch. */
  async spread(flat: Tensor, to: readonly Tensor[]): Promise<void> {
    const parts = this.parts(flat);
    try {
      await map(from, { from: parts }, { out: to });
    } finally {
      for (const one of parts) one.dispose();
    }
  }
}
