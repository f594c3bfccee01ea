import { isTensor, type Tensor } from '../tensor.js';
import type { CallTensors } from './known-call.js';

const layouts = new WeakMap<Tensor, string>();

/** What checks and plans read of a tensor. @throws MercerError DISPOSED */
function layoutOf(tensor: Tensor): string {
  let layout = layouts.get(tensor);
  if (layout === undefined) {
    const { device, dtype, shape, strides, storage, byteOffset } = tensor;
    const alignment = (storage.address + byteOffset) % 16;
    layout = `${device.id} ${dtype} ${shape.join()} ${strides.join()} ${alignment}`;
    layouts.set(tensor, layout);
  }
  return layout;
}

/**
 * All that checks and plans of a call read of its tensors: devices, dtypes, shapes, strides, the alignment of the first element, and
 * which inputs and outputs are
 * one tensor.
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
