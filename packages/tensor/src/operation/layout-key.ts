import { isTensor, isUsable, layoutNumber, type Tensor } from '../tensor.js';
import type { CallTensors } from './known-call.js';

/** Up to so many inputs are searched one after the other: of more it is remembered where they stand. */
const FEW = 16;

/**
 * All that checks and plans of a call read of its tensors: devices, dtypes, shapes, strides, the alignment of the first element, and
 * which inputs and outputs are one tensor.
 * Undefined where one is no tensor, or disposed, which the checks then say.
 */
export function layoutKey({ inputs, outs }: CallTensors): string | undefined {
  let key = '';
  const firsts = inputs.length > FEW ? firstPlaces(inputs) : undefined;
  const placeOf = (one: Tensor): number =>
    firsts === undefined ? inputs.indexOf(one) : (firsts.get(one) ?? -1);
  for (let place = 0; place < inputs.length; place++) {
    const one = inputs[place];
    if (!isTensor(one) || !isUsable(one)) return undefined;
    const first = placeOf(one);
    key += first < place ? `=${first};` : `${layoutNumber(one)};`;
  }
  for (const one of outs) {
    if (one === undefined) {
      key += '-;';
      continue;
    }
    if (!isTensor(one) || !isUsable(one)) return undefined;
    const input = placeOf(one);
    key += input < 0 ? `${layoutNumber(one)};` : `=${input};`;
  }
  return key;
}

function firstPlaces(inputs: readonly Tensor[]): ReadonlyMap<Tensor, number> {
  const firsts = new Map<Tensor, number>();
  for (const [place, one] of inputs.entries()) if (!firsts.has(one)) firsts.set(one, place);
  return firsts;
}
