import { hostRegionOf } from '@mercer/tensor/cuda';
import { dtypeBytes, type Tensor } from '@mercer/tensor';
import type { MatrixOperand } from '../../operand.js';
import type { Order } from '../gemm/strided.js';
import type { Range } from './plan-blocks.js';

export type FloatArray = Float32Array | Float64Array;

/** The matrices of an operand in host memory, cut into blocks that travel line by line. */
export class HostMatrices {
  readonly operand: MatrixOperand;
  /** Lines are rows, or columns: whatever lies closer together. */
  readonly order: Order;
  /** Elements to each entry of the batch; one where all share it. */
  readonly #offsets: readonly number[];

  constructor(operand: MatrixOperand, batchShape: readonly number[]) {
    this.operand = operand;
    this.order = orderOf(operand);
    this.#offsets = offsetsOf(batchShape, operand.batchStrides);
  }

  /** True where every entry of the batch has the same matrix. */
  get shared(): boolean {
    return this.#offsets.length === 1;
  }

  block(entries: Range, rows: Range, columns: Range): HostBlock {
    const [first, count] = this.shared ? [0, 1] : entries;
    const { operand, order } = this;
    const offsets = this.#offsets.slice(first, first + count);
    const key = [first, rows[0], columns[0]].join(' ');
    return new HostBlock({ operand, order, offsets, rows, columns, key });
  }
}

interface BlockFields {
  readonly operand: MatrixOperand;
  readonly order: Order;
  readonly offsets: readonly number[];
  readonly rows: Range;
  readonly columns: Range;
  readonly key: string;
}

/** A block of some matrices. On the device its lines follow each other, each padded to 16 bytes. */
export class HostBlock {
  /** Names the block among those of its operand. */
  readonly key: string;
  readonly lines: number;
  readonly pitch: number;
  readonly #length: number;
  readonly #fields: BlockFields;

  constructor(fields: BlockFields) {
    const { order, offsets, rows, columns, key } = fields;
    const [count, length] = order === 'row' ? [rows[1], columns[1]] : [columns[1], rows[1]];
    this.key = key;
    this.lines = count * offsets.length;
    this.pitch = linePitch(length);
    this.#length = length;
    this.#fields = fields;
  }

  /** Copies lines [first, first + count) to a buffer, one pitch after the other. */
  read(first: number, count: number, target: FloatArray): void {
    this.#walk(first, count, (source, at, length, step) => {
      if (step === 1) target.set(source, at);
      else for (let i = 0; i < length; i++) target[at + i] = source[place(i, length, step)] ?? NaN;
    });
  }

  /** The way back. */
  write(first: number, count: number, source: FloatArray): void {
    this.#walk(first, count, (target, at, length, step) => {
      if (step === 1) target.set(source.subarray(at, at + length));
      else for (let i = 0; i < length; i++) target[place(i, length, step)] = source[at + i] ?? NaN;
    });
  }

  /** The block in device memory, from the tensor's first element on. */
  lying(memory: Tensor): MatrixOperand {
    const { pitch } = this;
    const { order, offsets, rows, columns } = this.#fields;
    const [rowStride, columnStride] = order === 'row' ? [pitch, 1] : [1, pitch];
    const count = offsets.length;
    return {
      memory,
      rows: rows[1],
      columns: columns[1],
      rowStride,
      columnStride,
      batchStrides: [count === 1 ? 0 : (this.lines / count) * pitch],
    };
  }

  /** Calls `each` with the memory of a line, its place in the buffer, its length and the step of its elements. */
  #walk(
    first: number,
    count: number,
    each: (memory: FloatArray, at: number, length: number, step: number) => void,
  ): void {
    const { operand, order, offsets, rows, columns } = this.#fields;
    const { memory, rowStride, columnStride } = operand;
    const origin = rows[0] * rowStride + columns[0] * columnStride;
    const [pace, step] = order === 'row' ? [rowStride, columnStride] : [columnStride, rowStride];
    const perEntry = this.lines / offsets.length;
    const { arrayBuffer, byteOffset } = hostRegionOf(memory);
    const width = dtypeBytes(memory.dtype);
    const ArrayType = width === 4 ? Float32Array : Float64Array;
    // Lines without a gap on either side are one.
    const joined = step === 1 && pace === this.#length && this.pitch === this.#length;
    for (let line = first; line < first + count;) {
      const [entry, inEntry] = [Math.floor(line / perEntry), line % perEntry];
      const together = joined ? Math.min(perEntry - inEntry, first + count - line) : 1;
      const start = (offsets[entry] ?? 0) + origin + inEntry * pace;
      const length = together * this.#length;
      const lowest = start + Math.min(0, (length - 1) * step);
      const span = 1 + (length - 1) * Math.abs(step);
      each(
        new ArrayType(arrayBuffer, byteOffset + width * lowest, span),
        (line - first) * this.pitch,
        length,
        step,
      );
      line += together;
    }
  }
}

/** Elements from a line of a block on the device to the next. */
export const linePitch = (length: number): number => 4 * Math.ceil(length / 4);

/** Where element i of a line lies, from the lowest one. */
const place = (i: number, length: number, step: number): number =>
  step < 0 ? (length - 1 - i) * -step : i * step;

function orderOf({ rows, columns, rowStride, columnStride }: MatrixOperand): Order {
  if (columns > 1 && columnStride === 1) return 'row';
  if (rows > 1 && rowStride === 1) return 'column';
  return Math.abs(columnStride) <= Math.abs(rowStride) || rows === 1 ? 'row' : 'column';
}

function offsetsOf(batchShape: readonly number[], strides: readonly number[]): number[] {
  if (batchShape.every((extent, axis) => extent === 1 || strides[axis] === 0)) return [0];
  let offsets = [0];
  batchShape.forEach((extent, axis) => {
    const stride = strides[axis] ?? 0;
    offsets = offsets.flatMap((offset) =>
      Array.from({ length: extent }, (_, index) => offset + index * stride),
    );
  });
  return offsets;
}
