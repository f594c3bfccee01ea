import { RecentMap } from '../recent-map.js';
import { isTensor, type Tensor } from '../tensor.js';
import type { CallTensors } from './known-call.js';

const layouts = new WeakMap<Tensor, number>();

/** Layouts that are remembered: several for each call that is. */
const REMEMBERED = 8192;

/** Numbers of layouts, which make short keys. One that is forgotten gets another: calls are checked once more then. */
const numbers = new RecentMap<string, number>(() => REMEMBERED);
let newest = 0;

/** A number for what checks and plans read of a tensor. @throws MercerError DISPOSED */
function layoutOf(tensor: Tensor): number {
  let layout = layouts.get(tensor);
  if (layout === undefined) {
    const { device, dtype, shape, strides, storage, byteOffset } = tensor;
    const alignment = (storage.address + byteOffset) % 16;
    const text = `${device.id} ${dtype} ${shape.join()} ${strides.join()} ${alignment}`;
    layout = numbers.get(text);
    if (layout === undefined) numbers.set(text, (layout = ++newest));
    layouts.set(tensor, layout);
  }
  return layout;
}

/**
 * All that checks and plans of a call read of its tensors: devices, dtypes, shapes, strides, the alignment of the first element, and
 * which inputs and outputs are one tensor.
 * Undefined where one is no tensor, or disposed, which the checks then say.
 */
export function layoutKey({ inputs, outs }: CallTensors): string | undefined {
  let key = '';
  for (const [place, one] of inputs.entries()) {
    if (!isTensor(one) || one.disposed) return undefined;
    const first = inputs.indexOf(one);
    key += first < place ? `=${first};` : `${layoutOf(one)};`;
  }
  for (const one of outs) {
    if (one === undefined) {
      key += '-;';
      continue;
    }
    if (!isTensor(one) || one.disposed) return undefined;
    const input = inputs.indexOf(one);
    key += input < 0 ? `${layoutOf(one)};` : `=${input};`;
  }
  return key;
}
