import { describeValue } from '@mercer/options';
import type { VectorExpr } from '@mercer/formula';
import {
  device as deviceOf,
  MercerError,
  type Device,
  type StreamOption,
  type Tensor,
} from '@mercer/tensor';
import type { PairSizes } from '@mercer/tensor/operation';
import type { CallOptions } from './call-options.js';
import { checkRowNumbers, checkTables } from './check-row-numbers.js';
import { commonExtent } from './extent.js';
import type { Input } from './input.js';

/** What the inputs of a call agree on. */
export interface PairCall {
  readonly sizes: PairSizes;
  readonly device: Device;
}

/** Options that tell where and in what a call computes, where its inputs do not. */
export interface PlaceOptions extends StreamOption, Pick<CallOptions, 'device' | 'dtype'> {
  readonly outs: readonly (Tensor | undefined)[];
}

/**
 * Checks the inputs of formulas against each other.
 *
 * @throws LazyError; MercerError, DTYPE_MISMATCH where the option says another dtype than the inputs
 */
export function pairCall(
  what: string,
  formulas: readonly VectorExpr[],
  inputs: readonly Input[],
  { outs, stream, dtype: wanted, device: where }: PlaceOptions,
): PairCall {
  const extent = commonExtent(what, inputs);
  const { rowsI = 1, rowsJ = 1, batchShape } = extent;
  const dtype = extent.dtype ?? wanted ?? 'float32';
  if (wanted !== undefined && wanted !== dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: the option dtype is ${describeValue(wanted)} and the inputs are ${dtype}. The option is for data without a dtype of its own; leave it out, or cast the inputs.`,
    );
  }
  checkRowNumbers(what, formulas, { ...extent, dtype });
  checkTables(what, inputs, dtype);
  const home = outs.find((one) => one !== undefined)?.device;
  const device = extent.device ?? home ?? deviceOf(where ?? stream?.device);
  const batch = batchShape.reduce((product, size) => product * size, 1);
  return { sizes: { dtype, rowsI, rowsJ, batchShape, batch }, device };
}
