import { tensor, type Device, type Tensor } from '@mercer/core';
import { DIGIT_PIXELS, type DigitSet } from './load-digits.js';

/** The pixels on a device, one image a row. */
export function upload(digits: DigitSet, target: Device): Promise<Tensor<'float32'>> {
  return tensor(digits.pixels, { shape: [digits.count, DIGIT_PIXELS], device: target });
}
