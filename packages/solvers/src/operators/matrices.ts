import { kronMatvec, matmul } from '@mercer/linalg';
import { describeValue, type OptionNames } from '@mercer/options';
import { diag, gatherRows, MercerError, scatterAdd, tensor, type Tensor } from '@mercer/tensor';
import {
  assertNotPreparing,
  assertTensor,
  formatShape,
  isTraced,
  readOptions,
} from '@mercer/tensor/operation';
import { stacked } from './compose.js';
import { assertOperator, LinearOperator } from './linear-operator.js';
import { checkDType } from './make-operator.js';
import type { OperatorDType } from './operator-types.js';
import { onDevice } from './row-indices.js';

type Numbers = Tensor<'float64'>;

/** A product whichever of the two dtypes it is in. */
const times = (a: Tensor, b: Tensor, transposeA = false): Promise<Tensor> =>
  matmul(a as Numbers, b as Numbers, { transposeA });

/**
 * A stored matrix as an operator.
 *
 * ```ts
 * import { denseOperator } from '@mercer/solvers';
 * import { tensor } from '@mercer/tensor';
 *
 * const a = denseOperator(await tensor([[1, 2], [3, 4]], { device: 'cpu' }));
 * console.log(await (await a.matvec(await tensor([1, 1], { device: 'cpu' }))).toNested()); // [ 3, 7 ]
 * ```
 *
 * @param matrix (rows, columns), float32 or float64, of any strides; borrowed
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, INVALID_ARGUMENT
 */
export function denseOperator<D extends OperatorDType>(matrix: Tensor<D>): LinearOperator<D> {
  const { shape, dtype, device } = checkMatrix('denseOperator: the matrix', matrix);
  return new LinearOperator<D>({
    form: { shape: shape as [number, number], dtype: dtype as D, device, isCapturable: true },
    parameters: [matrix],
    rules: {
      matvec: (v, [a]) => times(a as Tensor, v),
      rmatvec: (v, [a]) => times(a as Tensor, v, true),
      dense: ([a]) => (a as Tensor).clone(),
      diagonal: async ([a]) => await diag(a as Tensor),
      rows: (indices, [a]) =>
        onDevice(indices, { device }, async (at) => await gatherRows(a as Tensor, at)),
    },
  });
}

/**
 * A matrix `left right^T + diag(d)`: low rank, plus a diagonal.
 *
 * @param left (N, rank)
 * @param diagonal (N)
 * @param right (N, rank); default: left
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT
 */
export function lowRankOperator<D extends OperatorDType>(
  left: Tensor<D>,
  diagonal: Tensor<D>,
  right: Tensor<D> = left,
): LinearOperator<D> {
  const what = 'lowRankOperator';
  const { shape, dtype, device } = checkMatrix(`${what}: left`, left);
  const [n = 0] = shape;
  checkLike(`${what}: the diagonal`, diagonal, [n], left);
  checkLike(`${what}: right`, right, shape, left);
  const along = async (v: Tensor, a: Tensor, b: Tensor, d: Tensor): Promise<Tensor> => {
    using short = await times(b, v, true);
    using low = await times(a, short);
    using column = d.reshape([n, 1]);
    return await low.add(v.mul(column));
  };
  return new LinearOperator<D>({
    form: { shape: [n, n], dtype: dtype as D, device, isCapturable: true },
    parameters: [left, right, diagonal],
    rules: {
      matvec: (v, [a, b, d]) => along(v, a as Tensor, b as Tensor, d as Tensor),
      rmatvec: (v, [a, b, d]) => along(v, b as Tensor, a as Tensor, d as Tensor),
      diagonal: async ([a, b, d]) => {
        using low = await (a as Tensor).mul(b as Tensor).sum(1);
        return await low.add(d as Tensor);
      },
    },
  });
}

/** A sparse matrix in compressed rows, as `nonzero` of symbolic matrices gives it. */
export interface CompressedRows<D extends OperatorDType> {
  /** Where each row begins among the entries, and the end of the last: (rows + 1), int32 or int64. */
  readonly offsets: Tensor<'int32' | 'int64'>;
  /** The column of each entry, (entries), int32 or int64. */
  readonly indices: Tensor<'int32' | 'int64'>;
  /** (entries). */
  readonly values: Tensor<D>;
  readonly columns: number;
}

const COMPRESSED: OptionNames<CompressedRows<OperatorDType>> = {
  offsets: true,
  indices: true,
  values: true,
  columns: true,
};

/**
 * A sparse matrix in compressed rows. Products gather rows of the vectors and add them up with `scatterAdd`, in a fixed order. It reads
 * the offsets and the bounds of the columns once; the row of each entry lives until `dispose()`.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT
 */
export async function sparseOperator<D extends OperatorDType>(
  matrix: CompressedRows<D>,
): Promise<LinearOperator<D>> {
  const what = 'sparseOperator';
  assertNotPreparing(what);
  const { offsets, indices, values, columns } = readOptions(what, matrix, COMPRESSED);
  assertTensor(offsets, `${what}: offsets`);
  assertTensor(indices, `${what}: indices`);
  if (!isTraced(values)) assertTensor(values, `${what}: values`);
  for (const [name, { dtype, label }] of Object.entries({ offsets, indices })) {
    if (['int32', 'int64'].includes(dtype)) continue;
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: ${name} are ${label}. Pass int32 or int64 numbers.`,
    );
  }
  if (!(Number.isSafeInteger(columns) && columns >= 0)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: columns is ${describeValue(columns)}. Pass how many columns the matrix has.`,
    );
  }
  checkDType(what, values.dtype);
  checkLike(`${what}: values`, values, indices.shape, values);
  if (offsets.rank !== 1 || offsets.size === 0 || indices.rank !== 1) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: offsets are ${offsets.label} and indices ${indices.label}. Pass (rows + 1) and (entries).`,
    );
  }
  const starts = Array.from(await offsets.toTypedArray(), Number);
  const rows = starts.length - 1;
  checkOffsets(what, starts, indices.size);
  await checkColumns(what, indices, columns);
  const rowOf = new Int32Array(indices.size);
  for (let row = 0; row < rows; row++) rowOf.fill(row, starts[row], starts[row + 1]);
  const { device } = values;
  const at = await tensor(rowOf, { device });
  const along = async (
    v: Tensor,
    entries: Tensor,
    from: Tensor<'int32' | 'int64'>,
    to: Tensor<'int32' | 'int64'>,
    count: number,
  ): Promise<Tensor> => {
    using taken = await gatherRows(v, from);
    using column = entries.reshape([indices.size, 1]);
    using terms = await taken.mul(column);
    return await scatterAdd(terms as Numbers, to, count);
  };
  return new LinearOperator<D>({
    form: { shape: [rows, columns], dtype: values.dtype, device, isCapturable: true },
    parameters: [values],
    owned: [at],
    rules: {
      matvec: (v, [entries]) => along(v, entries as Tensor, indices, at, rows),
      rmatvec: (v, [entries]) => along(v, entries as Tensor, at, indices, columns),
      diagonal: async ([entries]) => {
        using isOn = await indices.eq(at);
        using kept = await isOn.where(entries as Tensor, 0);
        return await scatterAdd(kept as Numbers, at, rows);
      },
    },
  });
}

/**
 * The Kronecker product of two matrices, never built: see `kronMatvec` of `@mercer/linalg`.
 *
 * @param a (p, q)
 * @param b (r, s)
 * @returns an operator (p r, q s)
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT
 */
export function kroneckerOperator<D extends OperatorDType>(
  a: Tensor<D>,
  b: Tensor<D>,
): LinearOperator<D> {
  const what = 'kroneckerOperator';
  const { shape, dtype, device } = checkMatrix(`${what}: a`, a);
  checkMatrix(`${what}: b`, b);
  checkLike(`${what}: b`, b, b.shape, a);
  const [p = 0, q = 0] = shape;
  const [r = 0, s = 0] = b.shape;
  const along = async (v: Tensor, left: Tensor, right: Tensor): Promise<Tensor> => {
    using turned = v.transpose();
    using found = await kronMatvec(left as Numbers, right as Numbers, turned as Numbers);
    using back = found.transpose();
    return await back.contiguous();
  };
  return new LinearOperator<D>({
    form: { shape: [p * r, q * s], dtype: dtype as D, device, isCapturable: true },
    parameters: [a, b],
    rules: {
      matvec: (v, [left, right]) => along(v, left as Tensor, right as Tensor),
      rmatvec: async (v, [left, right]) => {
        using leftT = (left as Tensor).transpose();
        using rightT = (right as Tensor).transpose();
        return await along(v, leftT, rightT);
      },
      diagonal:
        p === q && r === s
          ? async ([left, right]) => {
              using ofLeft = await diag(left as Tensor);
              using ofRight = await diag(right as Tensor);
              using column = ofLeft.reshape([p, 1]);
              using all = await column.mul(ofRight);
              return all.reshape([p * r]);
            }
          : undefined,
    },
  });
}

/** Operators below one another, all with as many columns. @throws MercerError SHAPE_MISMATCH, INVALID_ARGUMENT */
export function blockRows<D extends OperatorDType>(
  operators: readonly LinearOperator<D>[],
): LinearOperator<D> {
  return new LinearOperator(stacked(checkBlocks('blockRows', operators, 1), 0));
}

/** Operators side by side, all with as many rows. @throws MercerError SHAPE_MISMATCH, INVALID_ARGUMENT */
export function blockColumns<D extends OperatorDType>(
  operators: readonly LinearOperator<D>[],
): LinearOperator<D> {
  return new LinearOperator(stacked(checkBlocks('blockColumns', operators, 0), 1));
}

/** @throws MercerError */
function checkBlocks<D extends OperatorDType>(
  what: string,
  operators: readonly LinearOperator<D>[],
  axis: 0 | 1,
): readonly [LinearOperator<D>, ...LinearOperator<D>[]] {
  const list: unknown = operators;
  if (!Array.isArray(list)) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: the operators are ${describeValue(list)}. Pass an array of them.`,
    );
  }
  const [first] = operators;
  if (first === undefined) {
    throw new MercerError('INVALID_ARGUMENT', `${what}: no operator was given. Pass one at least.`);
  }
  for (const one of operators) {
    assertOperator(one, what);
    const fits =
      one.shape[axis] === first.shape[axis] &&
      one.dtype === first.dtype &&
      one.device === first.device;
    if (fits) continue;
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: an operator is ${one.dtype} ${formatShape(one.shape)} on ${one.device.id}, and the first ${first.dtype} ${formatShape(first.shape)} on ${first.device.id}. They need one dtype, one device and as many ${axis === 0 ? 'rows' : 'columns'}.`,
    );
  }
  return operators as readonly [LinearOperator<D>, ...LinearOperator<D>[]];
}

/** @throws MercerError */
function checkMatrix(what: string, matrix: Tensor): Tensor {
  if (!isTraced(matrix)) assertTensor(matrix, what);
  checkDType(what, matrix.dtype);
  if (matrix.rank === 2) return matrix;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what} has shape ${formatShape(matrix.shape)}. Pass a matrix (rows, columns).`,
  );
}

/** @throws MercerError */
export function checkLike(
  what: string,
  one: Tensor,
  shape: readonly number[],
  { dtype, device }: Pick<Tensor, 'dtype' | 'device'>,
): void {
  if (!isTraced(one)) assertTensor(one, what);
  const isSame = String(one.shape) === String(shape);
  if (isSame && one.dtype === dtype && one.device === device) return;
  const code = isSame
    ? one.dtype === dtype
      ? 'DEVICE_MISMATCH'
      : 'DTYPE_MISMATCH'
    : 'SHAPE_MISMATCH';
  throw new MercerError(
    code,
    `${what} is ${one.dtype} ${formatShape(one.shape)} on ${one.device.id}. Pass ${dtype} ${formatShape(shape)} on ${device.id}.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
async function checkColumns(
  what: string,
  indices: Tensor<'int32' | 'int64'>,
  columns: number,
): Promise<void> {
  if (indices.size === 0) return;
  using least = await indices.min();
  using most = await indices.max();
  const [first, last] = (await Promise.all([least.item(), most.item()])).map(Number);
  if ((first as number) >= 0 && (last as number) < columns) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: indices go from ${first} to ${last}, and there are ${columns} columns. They are from 0 to ${columns - 1}.`,
  );
}

/** @throws MercerError INVALID_ARGUMENT */
function checkOffsets(what: string, starts: readonly number[], entries: number): void {
  const rises = starts.every((one, at) => at === 0 || one >= (starts[at - 1] ?? 0));
  if (starts[0] === 0 && starts.at(-1) === entries && rises) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: offsets begin with ${starts[0]} and end with ${starts.at(-1)}${rises ? '' : ', and do not rise'}, for ${entries} entries. Pass numbers that rise from 0 to the number of entries.`,
  );
}
