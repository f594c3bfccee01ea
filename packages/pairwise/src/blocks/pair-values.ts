import { refusePromise } from '@mercer/options';
import {
  isTensor,
  tensor,
  type DType,
  type RowReader,
  type Stream,
  type StridedSource,
  type Tensor,
} from '@mercer/tensor';
import {
  hostRows,
  inSlices,
  isRowReader,
  readRows,
  sizeOfShape,
  type Rows,
} from '@mercer/tensor/operation';
import type { PairwiseInput } from '../place.js';
import { checkRank, type BlockPlace } from './side-rows.js';

/** Values of all pairs of rows that are brought to devices block by block. */
export interface PairValues {
  /** (..batch, rows, columns) */
  readonly shape: readonly number[];
  readonly tensor: Tensor | undefined;
  /** Whether whole rows are read of a file, so that rows are gone through once. */
  readonly isRead: boolean;
  /** A block on the device, in a tensor of its own. */
  readonly bring: (rows: Rows, columns: Rows, place: BlockPlace) => Promise<Tensor>;
}

/**
 * @param dtype of the tensors of the call, which other data takes on
 * @param made takes tensors that are to be disposed after the call
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DISPOSED
 */
export function pairValues(
  label: string,
  input: PairwiseInput | RowReader,
  dtype: DType | undefined,
  made: Tensor[],
): PairValues {
  refusePromise(input, label);
  if (isTensor(input)) {
    input.assertAlive();
    checkRank(label, input.shape, 'a value for each pair: (..., rows, columns)');
    // A handle of its own: callers may dispose of theirs while blocks are still to be read.
    const whole = input.view();
    made.push(whole);
    return {
      shape: whole.shape,
      tensor: whole,
      isRead: false,
      bring: async ([i, m], [j, n], { device, stream, signal }) => {
        const batch = new Array<null>(whole.rank - 2).fill(null);
        const block = whole.slice(...batch, [i, i + m], [j, j + n]);
        if (whole.device === device) return block;
        using away = block;
        return await away.to(device, { stream, signal });
      },
    };
  }
  if (isRowReader(input)) return readValues(label, input, dtype);
  const whole = hostRows(input, dtype, label);
  checkRank(label, whole.shape, 'a value for each pair: (..., rows, columns)');
  return {
    shape: whole.shape,
    tensor: undefined,
    isRead: false,
    bring: async (rows, columns, { device, stream, signal }) => {
      const block = await packed(whole, rows, columns, signal);
      return tensor(block, { device, stream, signal, dtype: dtype ?? whole.dtype });
    },
  };
}

/** Values of a file: the rows of a block are read once, and its columns are taken of them one after the other. */
function readValues(label: string, input: RowReader, dtype: DType | undefined): PairValues {
  checkRank(label, input.shape, 'a value for each pair: (rows, columns)');
  // Each worker has a stream of its own, also where a device stands there twice.
  const read = new WeakMap<
    Stream,
    { readonly rows: string; readonly data: Promise<StridedSource> }
  >();
  const rowsFor = ({ stream, signal }: BlockPlace, rows: Rows): Promise<StridedSource> => {
    const known = read.get(stream);
    if (known?.rows === String(rows)) return known.data;
    const data = readRows(input, rows, { signal });
    // It is awaited by who asked first, too.
    data.catch(() => undefined);
    read.set(stream, { rows: String(rows), data });
    return data;
  };
  return {
    shape: input.shape,
    tensor: undefined,
    isRead: true,
    bring: async (rows, columns, place) => {
      const { device, stream, signal } = place;
      const whole = await rowsFor(place, rows);
      const strides = [input.shape[1] ?? 0, 1];
      const block = await packed({ ...whole, strides }, [0, rows[1]], columns, signal);
      return tensor(block, { device, stream, signal, dtype: dtype ?? input.dtype });
    },
  };
}

/** Numbers that are packed in one step. */
const AT_ONCE = 2 ** 16;

/** A block of the last two axes, packed in slices. */
async function packed(
  whole: StridedSource & { readonly strides: readonly number[] },
  [i, m]: Rows,
  [j, n]: Rows,
  signal: AbortSignal,
): Promise<StridedSource> {
  const shape = [...whole.shape.slice(0, -2), m, n];
  const [row = 0, column = 0] = whole.strides.slice(-2);
  const { offset = 0, data: from } = whole;
  const size = sizeOfShape(shape);
  const data = new (from.constructor as new (length: number) => typeof from)(size);
  const steps = function* (): Generator<undefined, void> {
    let since = 0;
    for (let at = 0; at < size; at += n) {
      let rest = at / n;
      let place = offset + i * row + j * column;
      for (let axis = shape.length - 2; axis >= 0; axis--) {
        const extent = shape[axis] ?? 1;
        place += (rest % extent) * (whole.strides[axis] ?? 0);
        rest = Math.floor(rest / extent);
      }
      if (column === 1) data.set(from.subarray(place, place + n) as never, at);
      else for (let k = 0; k < n; k++) data[at + k] = from[place + k * column] as never;
      since += n;
      if (since < AT_ONCE) continue;
      since = 0;
      yield;
    }
  };
  await inSlices(steps(), signal);
  return { data, shape, ...(whole.dtype === undefined ? {} : { dtype: whole.dtype }) };
}
