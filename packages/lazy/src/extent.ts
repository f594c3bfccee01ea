import { broadcastShapes, MercerError, type Device } from '@mercer/tensor';
import { formatShape } from '@mercer/tensor/operation';
import { describeInput, type Input } from './input.js';
import type { LazyDType } from './lazy-dtype.js';

/** What all inputs of a formula agree on. A size is undefined where no input tells it. */
export interface Extent {
  readonly rowsI: number | undefined;
  readonly rowsJ: number | undefined;
  readonly batchShape: readonly number[];
  readonly dtype: LazyDType | undefined;
  readonly device: Device | undefined;
}

/**
 * Checks the inputs of a formula against each other.
 *
 * @throws MercerError SHAPE_MISMATCH (rows, batch axes, placeholders), DTYPE_MISMATCH, DEVICE_MISMATCH, naming both inputs
 */
export function commonExtent(what: string, inputs: readonly Input[]): Extent {
  const [only] = inputs;
  if (only !== undefined && inputs.length === 1) return extentOfOne(only);
  return {
    rowsI: commonRows(what, inputs, 'i'),
    rowsJ: commonRows(what, inputs, 'j'),
    batchShape: commonBatch(what, inputs),
    dtype: commonDType(what, inputs),
    device: commonDevice(what, inputs),
  };
}

function extentOfOne(one: Input): Extent {
  const { extent, dtype, device } = one;
  const batchShape = extent?.batchShape ?? NO_BATCH;
  return { rowsI: rowsOn('i', one), rowsJ: rowsOn('j', one), batchShape, dtype, device };
}

function commonRows(what: string, inputs: readonly Input[], side: 'i' | 'j'): number | undefined {
  let first: Input | undefined;
  let known: number | undefined;
  for (const one of inputs) {
    const rows = rowsOn(side, one);
    if (rows === undefined) continue;
    if (first === undefined) {
      first = one;
      known = rows;
    } else if (known !== rows) throw otherRows(what, side, first, one);
  }
  return known;
}

/** How many rows of a side an input has; undefined where it follows the other, or has no data yet. */
function rowsOn(side: 'i' | 'j', { category, extent }: Input): number | undefined {
  if (category === 'pair') return side === 'i' ? extent?.rows : extent?.columns;
  return category === side ? extent?.rows : undefined;
}

function otherRows(what: string, side: 'i' | 'j', first: Input, other: Input): MercerError {
  const [rows, others] = [rowsOn(side, first), rowsOn(side, other)];
  const hasPairs = [first, other].some(({ category }) => category === 'pair');
  return new MercerError(
    'SHAPE_MISMATCH',
    hasPairs
      ? `${what}: ${describeInput(first)} has ${rows} rows of ${side} and ${describeInput(other)} has ${others}. ` +
          `Values of pairs are (..batch, M, N): M rows of i and N rows of j, as the i- and j-variables have; exchange them with t(), or check the data.`
      : `${what}: ${describeInput(first)} has ${rows} rows and ${describeInput(other)} has ${others}. ` +
          `All ${side}-variables of a formula have the same number of rows; make the other one ${side === 'i' ? 'a j' : 'an i'}-variable, or check the data.`,
  );
}

const NO_BATCH: readonly number[] = Object.freeze([]);

function commonBatch(what: string, inputs: readonly Input[]): readonly number[] {
  let shape = NO_BATCH;
  for (const one of inputs) {
    const own = one.extent?.batchShape ?? NO_BATCH;
    if (own.length === 0) continue;
    try {
      shape = broadcastShapes(shape, own);
    } catch (cause) {
      const before = inputs
        .slice(0, inputs.indexOf(one))
        .filter(({ extent }) => extent?.batchShape.length);
      throw new MercerError(
        'SHAPE_MISMATCH',
        `${what}: ${describeInput(one)} has batch axes ${formatShape(own)}, which do not broadcast with ${formatShape(shape)} of ${before.map(describeInput).join(', ')}. ` +
          'Each pair of extents must be equal, or one of them 1.',
        { cause },
      );
    }
  }
  return shape;
}

function commonDType(what: string, inputs: readonly Input[]): LazyDType | undefined {
  let first: Input | undefined;
  for (const one of inputs) {
    if (one.dtype === undefined || one.dtype === first?.dtype) continue;
    if (first !== undefined) throw otherDType(what, first, one);
    first = one;
  }
  return first?.dtype;
}

function otherDType(what: string, first: Input, other: Input): MercerError {
  return new MercerError(
    'DTYPE_MISMATCH',
    `${what}: ${describeInput(first)} ${dtypeOf(first)} and ${describeInput(other)} ${dtypeOf(other)}. ` +
      `Nothing is converted silently: cast one of them, for example await x.cast('${first.dtype}').`,
  );
}

/** What an input is computed in; tensors of 16 bits are stored in another dtype. */
function dtypeOf({ source, dtype }: Input): string {
  const isStored = source.kind !== 'tensor' || source.tensor.dtype === dtype;
  return `${isStored ? 'is' : 'counts as'} ${dtype}`;
}

function commonDevice(what: string, inputs: readonly Input[]): Device | undefined {
  let first: Input | undefined;
  for (const one of inputs) {
    if (one.device === undefined || one.device === first?.device) continue;
    if (first !== undefined) throw otherDevice(what, first, one);
    first = one;
  }
  return first?.device;
}

function otherDevice(what: string, first: Input, other: Input): MercerError {
  return new MercerError(
    'DEVICE_MISMATCH',
    `${what}: ${describeInput(first)} and ${describeInput(other)} are on different devices. ` +
      `Move one with to('${first.device?.id}').`,
  );
}
