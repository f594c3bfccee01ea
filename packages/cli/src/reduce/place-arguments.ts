import { tensor, type Device, type Tensor } from '@mercer/core';
import { CliError } from '../cli-error.js';
import type { FloatDType } from '../files/read-operand.js';
import { parameterValue } from '../options/parameter-value.js';
import type { ParameterText } from '../options/parse-value.js';
import type { Argument } from './match-arguments.js';

/** Where parameters are placed, and as what where no rows tell. */
interface Placement {
  readonly device: Device;
  readonly dtype: FloatDType | undefined;
}

/**
 * The tensors of a call, in the order of its inputs: the rows that were read, and the parameters between them.
 *
 * @throws CliError SHAPE_MISMATCH naming the option whose data has other rows than declared
 */
export async function placeArguments(
  given: readonly Argument[],
  rows: readonly Tensor<FloatDType>[],
  { device, dtype }: Placement,
): Promise<Tensor[]> {
  const type = rows[0]?.dtype ?? dtype ?? 'float32';
  const place = async (text: ParameterText): Promise<Tensor> => {
    const value = await parameterValue(text, type, device);
    return typeof value === 'number' ? tensor([value], { dtype: type, device }) : value;
  };
  const tensors: Tensor[] = [];
  let row = 0;
  for (const one of given) {
    const x = one.category === 'parameter' ? await place(one.value) : rows[row++];
    if (x === undefined) throw new Error('every argument with rows has been read');
    checkDim(one, x);
    tensors.push(x);
  }
  return tensors;
}

function checkDim({ option, declared, dim }: Argument, { shape }: Tensor): void {
  const found = shape.at(-1) ?? 1;
  if (found === dim) return;
  throw new CliError(
    'SHAPE_MISMATCH',
    `${option}: its rows have ${found} numbers (its shape is ${shape.join(' x ')}), and the formula declares ${declared}. ` +
      `Give rows of ${dim}, or declare ${found}.`,
  );
}
