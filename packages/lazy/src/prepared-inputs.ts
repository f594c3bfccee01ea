import { MercerError, type DType, type Tensor } from '@mercer/tensor';
import {
  pairOperand,
  type CallView,
  type PairInput,
  type PairSizes,
} from '@mercer/tensor/operation';
import { ownAxes } from './input-views.js';
import { describeInput, type Input } from './input.js';
import type { PairCall } from './pair-call.js';

/** What prepared calls know of their examples. */
export interface Example extends PairCall {
  /** Of the inputs that formulas read, by place. */
  readonly dtypes: readonly (DType | undefined)[];
  /** Whether its kernels are there for products on tensor cores too. */
  readonly products: boolean;
}

const ANY_OPERAND = { rowStride: 0, columnStride: 0, batchStride: 0 };

/** An input of a prepared call, which copies nothing; of an example, and of one without elements, it does not matter how it lies. */
export function readAsItLies(
  what: string,
  one: Input,
  view: CallView,
  sizes: PairSizes,
  prepared: Example | 'example',
): PairInput {
  const operand = pairOperand(view, sizes, ownAxes(one));
  if (operand !== undefined) return { view, operand };
  if (prepared === 'example' || view.shape.includes(0)) return { view, operand: ANY_OPERAND };
  throw new MercerError(
    'NOT_CONTIGUOUS',
    `${what}: ${describeInput(one)} has strides [${view.strides.join(', ')}], which a prepared call cannot read over the batch [${sizes.batchShape.join(', ')}]. ` +
      'Pass await x.contiguous() of the broadcast view, or use the call that copies by itself.',
  );
}

export function checkDense(what: string, out: Tensor | undefined): void {
  if (out === undefined || out.isContiguous) return;
  throw new MercerError(
    'NOT_CONTIGUOUS',
    `${what}: out has strides [${out.strides.join(', ')}], and a prepared call writes row-major results. Pass one from empty(shape).`,
  );
}

/** Whether a prepared call has the dtypes and the device of its example, and with ranges its rows. @throws MercerError */
export function checkPrepared(
  what: string,
  { sizes, device }: PairCall,
  inputs: readonly Input[],
  example: Example,
  hasRanges: boolean,
): void {
  const { sizes: those, dtypes } = example;
  if (sizes.dtype !== those.dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: prepared for ${those.dtype}, called with ${sizes.dtype}. Prepare another for ${sizes.dtype}.`,
    );
  }
  for (const [place, one] of inputs.entries()) {
    const found = one.source.kind === 'tensor' ? one.source.tensor.dtype : undefined;
    const wanted = dtypes[place];
    if (wanted === undefined || found === wanted) continue;
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: ${describeInput(one)} was prepared as ${wanted}. Prepare another, or cast it.`,
    );
  }
  if (device !== example.device) {
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: prepared on ${example.device.id}, called with tensors on ${device.id}. Prepare another there.`,
    );
  }
  if (!hasRanges || (sizes.rowsI === those.rowsI && sizes.rowsJ === those.rowsJ)) return;
  const sides = ({ rowsI, rowsJ }: PairSizes): string => `${rowsI} rows of i and ${rowsJ} of j`;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: prepared with ranges for ${sides(those)}, called with ${sides(sizes)}. Prepare another with ranges for these rows, or pass ranges to a call that is not prepared.`,
  );
}
