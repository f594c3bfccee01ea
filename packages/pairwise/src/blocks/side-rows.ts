import { refusePromise } from '@mercer/options';
import {
  isTensor,
  MercerError,
  tensor,
  type Device,
  type DType,
  type RowReader,
  type Stream,
  type StridedSource,
  type Tensor,
} from '@mercer/tensor';
import { hostRows, isRowReader, readRows, type Rows } from '@mercer/tensor/operation';
import type { PairwiseInput } from '../place.js';

/** Rows of a side that are brought to devices block by block. */
export interface SideRows {
  /** (..batch, rows, features) */
  readonly shape: readonly number[];
  readonly tensor: Tensor | undefined;
  /** Rows on the device, in a tensor of their own. */
  readonly bring: (rows: Rows, place: BlockPlace) => Promise<Tensor>;
}

export interface BlockPlace {
  readonly device: Device;
  /** What brings them there. */
  readonly stream: Stream;
  readonly signal: AbortSignal;
}

/**
 * @param dtype of the tensors of the call, which other data takes on
 * @param made takes tensors that are to be disposed after the call
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DISPOSED
 */
export function sideRows(
  label: string,
  input: PairwiseInput | RowReader,
  dtype: DType | undefined,
  made: Tensor[],
): SideRows {
  refusePromise(input, label);
  if (isTensor(input)) {
    input.assertAlive();
    checkRank(label, input.shape);
    // A handle of its own: callers may dispose of theirs while blocks are still to be read.
    const whole = input.view();
    made.push(whole);
    return {
      shape: whole.shape,
      tensor: whole,
      bring: (rows, place) => broughtRows(whole, rows, place),
    };
  }
  if (isRowReader(input)) {
    checkRank(label, input.shape);
    return {
      shape: input.shape,
      tensor: undefined,
      bring: async (rows, { device, stream, signal }) => {
        const block = await readRows(input, rows, { signal });
        return tensor(block, { device, stream, signal, dtype });
      },
    };
  }
  const whole = hostRows(input, dtype, label);
  checkRank(label, whole.shape);
  return {
    shape: whole.shape,
    tensor: undefined,
    bring: ([first, count], { device, stream, signal }) => {
      const { shape, strides } = whole;
      const step = strides.at(-2) ?? 0;
      const block: StridedSource = {
        ...whole,
        shape: shape.with(-2, count),
        offset: count === 0 ? 0 : first * step,
      };
      return tensor(block, { device, stream, signal, dtype: dtype ?? whole.dtype });
    },
  };
}

async function broughtRows(
  whole: Tensor,
  [first, count]: Rows,
  { device, stream, signal }: BlockPlace,
): Promise<Tensor> {
  const batch = new Array<null>(whole.rank - 2).fill(null);
  const block = whole.slice(...batch, [first, first + count]);
  if (whole.device === device) return block;
  using away = block;
  return await away.to(device, { stream, signal });
}

/** @throws MercerError SHAPE_MISMATCH */
export function checkRank(
  label: string,
  shape: readonly number[],
  wanted = 'rows of features: (..., rows, features)',
): void {
  if (shape.length >= 2) return;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${label} has shape [${shape.join(', ')}]. Pass ${wanted}.`,
  );
}
