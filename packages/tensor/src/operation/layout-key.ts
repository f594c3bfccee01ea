import { isTensor, layoutNumber } from '../tensor.js';
import type { CallTensors } from './known-call.js';

/**
 * All that checks and plans of a call read of its tensors: devices, dtypes, shapes, strides, the alignment of the first element, and
 * which inputs and outputs are one tensor.
 * Undefined where one is no tensor, or disposed, which the checks then say.
 */
export function layoutKey({ inputs, outs }: CallTensors): string | undefined {
  let key = '';
  for (let place = 0; place < inputs.length; place++) {
    const one = inputs[place];
    if (!isTensor(one) || one.disposed) return undefined;
    const first = inputs.indexOf(one);
    key += first < place ? `=${first};` : `${layoutNumber(one)};`;
  }
  for (const one of outs) {
    if (one === undefined) {
      key += '-;';
      continue;
    }
    if (!isTensor(one) || one.disposed) return undefined;
    const input = inputs.indexOf(one);
    key += input < 0 ? `${layoutNumber(one)};` : `=${input};`;
  }
  return key;
}
