import { tensor, type Device, type Tensor } from '@mercer/core';
import { readValues, type FloatDType } from '../files/read-operand.js';
import type { ParameterText } from './parse-value.js';

/** One number stays a number; a list and a file become a tensor of the data's type on its device. */
export async function parameterValue(
  text: ParameterText,
  dtype: FloatDType,
  device: Device,
): Promise<number | Tensor<FloatDType>> {
  if ('file' in text) return tensor(await readValues(text.file, dtype), { dtype, device });
  const [only] = text.numbers;
  if (only !== undefined && text.numbers.length === 1) return only;
  return tensor([...text.numbers], { dtype, device });
}

/** For the JSON result: the number, the numbers, or the file's name. */
export function shownValue(text: ParameterText): number | readonly number[] | string {
  if ('file' in text) return text.file;
  const [only] = text.numbers;
  return only !== undefined && text.numbers.length === 1 ? only : text.numbers;
}
