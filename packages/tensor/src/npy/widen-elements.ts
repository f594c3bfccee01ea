import { NpyError } from './npy-error.js';
import type { StoredType, WidenedType } from './npy-dtype.js';

/** Elements of a step: a millisecond or so. */
const STEP = 2 ** 18;

type Widening = (buffer: ArrayBuffer, stored: number, from: number, to: number) => void;

/**
 * What turns elements `from` to `to` of each type into those of a wider one. The narrow ones begin at byte `stored` of the buffer and
 * end with it, the wide ones fill it from its start: no element is overwritten before it is read.
 */
const WIDENINGS: { readonly [T in WidenedType]: Widening } = {
  int8: (buffer, stored, from, to) => toInt32(new Int8Array(buffer, stored), buffer, from, to),
  int16: (buffer, stored, from, to) => toInt32(new Int16Array(buffer, stored), buffer, from, to),
  uint16: (buffer, stored, from, to) => toInt32(new Uint16Array(buffer, stored), buffer, from, to),
  uint32: (buffer, stored, from, to) => {
    const narrow = new Uint32Array(buffer, stored);
    const halves = new Uint32Array(buffer); // the low half of each int64 comes first
    for (let i = from; i < to; i++) {
      halves[2 * i] = narrow[i] ?? 0;
      halves[2 * i + 1] = 0;
    }
  },
  uint64: (buffer, _stored, from, to) => {
    const halves = new Int32Array(buffer);
    for (let i = from; i < to; i++) {
      if ((halves[2 * i + 1] ?? 0) >= 0) continue;
      throw new NpyError(
        'NPY_UNSUPPORTED',
        `Cannot read the array: its uint64 element ${i} is ${new BigUint64Array(buffer)[i]}, and int64, as which it is read, ends at 2^63 - 1. ` +
          `Convert it first, for example with numpy.save(path, array.astype('float64')).`,
      );
    }
  },
};

function toInt32(
  narrow: Int8Array | Int16Array | Uint16Array,
  buffer: ArrayBuffer,
  from: number,
  to: number,
): void {
  const wide = new Int32Array(buffer);
  for (let i = from; i < to; i++) wide[i] = narrow[i] ?? 0;
}

/** Widens the `size` elements in the end of `buffer` in place, in steps; does nothing for a type that is read as it is. */
export function* widenElements(
  type: StoredType,
  buffer: ArrayBuffer,
  size: number,
): Generator<void> {
  const { widened, bytes } = type;
  if (widened === undefined) return;
  const widen = WIDENINGS[widened];
  for (let from = 0; from < size; from += STEP) {
    widen(buffer, buffer.byteLength - size * bytes, from, Math.min(from + STEP, size));
    yield;
  }
}
