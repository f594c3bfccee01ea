import { emitTf32Split, type Tf32SplitStep } from '@mercer/kernels';
import { empty, type LoadedKernel, type Stream, type Tensor } from '@mercer/tensor';
import type { Enqueuing } from '@mercer/tensor/operation';
import type { MatrixLayout, MatrixOperand } from '../../operand.js';
import type { Within } from '../cuda-call.js';
import { loaded } from '../kernels.js';
import type { Lying } from './enqueue-product.js';
import type { SingleBatch } from './single-batch.js';
import type { Place } from './strided.js';

/** The kernels of the split. */
export const splitKernels = { parts: emitTf32Split('parts'), specials: emitTf32Split('specials') };

export function* loadSplit(within: Within): Enqueuing<Record<Tf32SplitStep, LoadedKernel>> {
  const parts = yield* loaded(within, splitKernels.parts);
  return { parts, specials: yield* loaded(within, splitKernels.specials) };
}

/** A float32 factor of a product, and how its k axis lies. */
export interface SplitSource {
  readonly operand: MatrixOperand;
  readonly place: Place;
  readonly batch: SingleBatch;
  /** Which of its axes is k. */
  readonly along: 'rows' | 'columns';
}

/** Bytes of hi and lo for one step of k, at most. */
export function splitBytesPerStep({ operand, batch, along }: SplitSource): number {
  return 8 * batch.count * padded(otherExtent(operand, along));
}

const otherExtent = ({ rows, columns }: MatrixLayout, along: 'rows' | 'columns'): number =>
  along === 'rows' ? columns : rows;

/** Lines of 16 bytes let the library load four numbers at once. */
const padded = (length: number): number => 4 * Math.ceil(length / 4);

/** Room for hi and lo of a block of a factor, in the factor's own order, and one block after the other in it. */
export class SplitFactor implements Disposable {
  readonly #source: SplitSource;
  readonly #stream: Stream;
  readonly #hi: Tensor<'float32'>;
  readonly #lo: Tensor<'float32'>;
  /** The block that was split last. */
  #first = 0;
  #count = 0;

  constructor(source: SplitSource, block: number, stream: Stream) {
    this.#source = source;
    this.#stream = stream;
    const { length, lines } = this.#sizes(block);
    const size = [source.batch.count * lines * padded(length)];
    const { device } = stream;
    this.#hi = empty(size, { device, stream });
    try {
      this.#lo = empty(size, { device, stream });
    } catch (error) {
      this.#hi.dispose();
      throw error;
    }
  }

  /** Enqueues hi and lo of the steps [first, first + count) of k, 0 for what is not finite. */
  split(kernel: LoadedKernel, first: number, count: number): void {
    this.#first = first;
    this.#count = count;
    this.#launch(kernel, [this.#hi, this.#lo]);
  }

  /** Enqueues hi of what is not finite. */
  restore(kernel: LoadedKernel): void {
    this.#launch(kernel, [this.#hi]);
  }

  /** A part of the block, `from` its first step. */
  part(name: 'hi' | 'lo', from = 0, count = this.#count): Lying {
    const { operand, place, batch, along } = this.#source;
    const { length, lines, inner } = this.#sizes(this.#count);
    const pitch = padded(length);
    const other = otherExtent(operand, along);
    const [rows, columns] = along === 'rows' ? [count, other] : [other, count];
    const [rowStride, columnStride] = place.order === 'row' ? [pitch, 1] : [1, pitch];
    return {
      memory: name === 'hi' ? this.#hi : this.#lo,
      offset: inner ? from : from * pitch,
      rows,
      columns,
      rowStride,
      columnStride,
      batchStrides: batch.steps.map((step) => step * lines * pitch),
    };
  }

  [Symbol.dispose](): void {
    this.#hi.dispose();
    this.#lo.dispose();
  }

  /** Lines and their length for so many steps of k; `inner` says that k runs along the lines. */
  #sizes(count: number): { length: number; lines: number; inner: boolean } {
    const { operand, place, along } = this.#source;
    const other = otherExtent(operand, along);
    const inner = (place.order === 'row') === (along === 'columns');
    return inner ? { length: count, lines: other, inner } : { length: other, lines: count, inner };
  }

  #launch(kernel: LoadedKernel, targets: readonly Tensor[]): void {
    const { operand, place, batch } = this.#source;
    const { length, lines, inner } = this.#sizes(this.#count);
    const { storage, byteOffset, dtype } = operand.memory;
    const ldx = place.leadingDimension;
    const skipped = this.#first * (inner ? 1 : ldx);
    const from = { storage, byteOffset: byteOffset + 4 * skipped, dtype };
    const sizes = { length, lines, batch: batch.count };
    kernel.launch(this.#stream, {
      pointers: [from, ...targets],
      scalars: { ...sizes, ldx, batchStrideX: batch.stride, ldo: padded(length) },
    });
  }
}
