import { dtypeBytes, type DType } from '@mercer/kernels';
import { sizeOfShape } from './checked-size.js';
import type { Device } from './device.js';
import type { Layout } from './layout.js';
import { RecentMap } from './recent-map.js';

/** Layouts that are remembered: several for each call that is. */
const REMEMBERED = 8192;

/** Numbers of layouts, which make short keys. One that is forgotten gets another: calls are checked once more then. */
const numbers = new RecentMap<string, number>(() => REMEMBERED);
let newest = 0;

/** All of a tensor but its memory. Results of one known call share theirs. */
export class TensorForm<D extends DType = DType> implements Layout {
  readonly device: Device;
  readonly dtype: D;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  readonly size: number;
  readonly byteOffset: number;
  /** Of memory that is aligned to 16 bytes. */
  #aligned: number | undefined;

  constructor(device: Device, dtype: D, { shape, strides, offset }: Layout) {
    this.device = device;
    this.dtype = dtype;
    this.shape = Object.freeze([...shape]);
    this.strides = Object.freeze([...strides]);
    this.offset = offset;
    this.size = sizeOfShape(shape);
    this.byteOffset = offset * dtypeBytes(dtype);
  }

  /** A number for what checks and plans read of a tensor whose first element is at the address. */
  numberAt(address: number): number {
    // as address % 16, which takes several times as long for numbers above 2^31
    const alignment = address - 16 * Math.floor(address / 16);
    if (alignment !== 0) return this.#number(alignment);
    return (this.#aligned ??= this.#number(0));
  }

  #number(alignment: number): number {
    const { device, dtype, shape, strides } = this;
    const text = `${device.id} ${dtype} ${shape.join()} ${strides.join()} ${alignment}`;
    let number = numbers.get(text);
    if (number === undefined) numbers.set(text, (number = ++newest));
    return number;
  }
}
