import type { DType } from '@mercer/kernels';
import { describeValue, type OptionNames } from '@mercer/options';
import { attachMethods } from '../attach-methods.js';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { inTurn, memoryAmong } from '../call-order.js';
import { FULL_OPTIONS, zeros, type FullOptions } from '../create.js';
import { WORK_OPTIONS, type WorkOptions } from '../device.js';
import type { Layout } from '../layout.js';
import { MercerError } from '../mercer-error.js';
import { heard, pendingAfter, pendingCall, whenArrived, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import { assertTensor, viewOf, type Tensor } from '../tensor.js';
import { take } from '../indexing/take.js';
import { recorded } from '../trace/dispatch.js';
import type { BatchRule, DerivativeRule, KnownValue, Primitive } from '../trace/primitive.js';

/** Options of {@link eye}. */
export interface EyeOptions<D extends DType> extends FullOptions<D> {
  /** Default: as many as rows. */
  readonly columns?: number | undefined;
}

const EYE_OPTIONS: OptionNames<EyeOptions<DType>> = { ...FULL_OPTIONS, columns: true };

/** A diagonal of a matrix that is counted to the right of the main one; negative ones lie below. */
function diagonal({ shape, strides, offset: first }: Layout, offset: number): Layout {
  const [rows = 0, columns = 0] = shape;
  const [down = 0, right = 0] = strides;
  const length = Math.max(0, Math.min(rows - Math.max(0, -offset), columns - Math.max(0, offset)));
  const start = offset < 0 ? -offset * down : offset * right;
  return {
    shape: [length],
    strides: [down + right],
    // one without elements keeps its start, which may be the end of the memory
    offset: length === 0 ? first : first + start,
  };
}

/** @throws MercerError INVALID_ARGUMENT */
export function checkOffset(offset: unknown, what: string): number {
  if (typeof offset === 'number' && Number.isSafeInteger(offset)) return offset;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the offset is ${describeValue(offset)}. Pass an integer: 0 for the main diagonal, 1 for the one above, -1 for the one below.`,
  );
}

/** A matrix of zeros whose diagonal `write` writes. */
async function onDiagonal<D extends DType>(
  shape: readonly [number, number],
  offset: number,
  options: FullOptions<D>,
  write: (diagonal: Tensor<D>) => Promise<unknown>,
): Promise<Tensor<D>> {
  const matrix = await zeros<D>(shape, options);
  try {
    using part = viewOf(matrix, diagonal(matrix, offset), matrix.dtype);
    await write(part);
    return matrix;
  } catch (error) {
    matrix.dispose();
    throw error;
  }
}

function checkCount(value: unknown, name: string, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${name} are ${describeValue(value)}. Pass a count of 0 or more.`,
  );
}

/**
 * A matrix with 1 on its main diagonal and 0 elsewhere.
 *
 * ```ts
 * import { eye } from '@mercer/tensor';
 *
 * console.log(await eye(2, { columns: 3, device: 'cpu' }).toNested()); // [ [ 1, 0, 0 ], [ 0, 1, 0 ] ]
 * ```
 *
 * @param rows 0 or more
 * @param options columns (default: as many as rows), dtype (default 'float32'), device, stream, signal
 * @returns (rows, columns), row-major
 * @throws MercerError INVALID_ARGUMENT, OUT_OF_MEMORY, NO_BACKEND; the signal's reason
 */
export function eye<D extends DType = 'float32'>(
  rows: number,
  options?: EyeOptions<D>,
): Pending<Tensor<D>> {
  return pendingCall(async () => {
    const { columns, ...given } = readOptions('eye', options, EYE_OPTIONS);
    checkCount(rows, 'the rows', 'eye');
    const width = columns === undefined ? rows : checkCount(columns, 'the columns', 'eye');
    const { stream, signal } = given;
    return onDiagonal([rows, width], 0, given, (part) => part.fill(1, { stream, signal }));
  });
}

/**
 * Of a vector, the matrix that has it on a diagonal and 0 elsewhere; of a matrix, its diagonal, a view that shares its memory.
 *
 * ```ts
 * import { diag, tensor } from '@mercer/tensor';
 *
 * const matrix = await diag(tensor([1, 2], { device: 'cpu' }), 1);
 * console.log(await matrix.toNested()); // [ [ 0, 1, 0 ], [ 0, 0, 2 ], [ 0, 0, 0 ] ]
 * console.log(await diag(matrix, 1).toNested()); // [ 1, 2 ]
 * ```
 *
 * @param x (n) or (rows, columns), any dtype and strides
 * @param offset which diagonal: 0 for the main one, positive above, negative below
 * @returns (n + |offset|, n + |offset|), row-major; or (length of the diagonal), 0 where the matrix has no such diagonal
 * @throws MercerError SHAPE_MISMATCH, INVALID_ARGUMENT, DISPOSED; the signal's reason
 */
export function diag<D extends DType>(
  x: TensorOperand<D>,
  offset = 0,
  options?: WorkOptions,
): Pending<Tensor<D>> {
  const traced = recorded(ofDiagonal, [x, offset, options]);
  if (traced !== undefined) return traced as Pending<Tensor<D>>;
  const work = async (): Promise<Tensor<D>> => {
    heard([x]);
    const given = readOptions('diag', options, WORK_OPTIONS);
    checkOffset(offset, 'diag');
    return whenArrived([x, given], async ([present]) => {
      const one = present as Tensor<D>;
      assertTensor(one, 'diag: x');
      if (one.rank === 2) {
        given.signal?.throwIfAborted();
        return viewOf(one, diagonal(one, offset), one.dtype);
      }
      if (one.rank !== 1) {
        throw new MercerError(
          'SHAPE_MISMATCH',
          `diag: x is ${one.label}, of rank ${one.rank}. Pass a vector, or a matrix; take one of several with slice().`,
        );
      }
      const { dtype, device, size } = one;
      const extent = size + Math.abs(offset);
      const place = { dtype, device, ...given };
      return inTurn(memoryAmong([one]), [], given.signal, (turn) =>
        onDiagonal([extent, extent], offset, place, (part) =>
          turn.run(() => part.copyFrom(one, given)),
        ),
      );
    });
  };
  return pendingAfter([x], work());
}

const ofDiagonal: Primitive = {
  name: 'diag',
  call: diag,
  derivative: {
    vjp: (g, { args: [x, offset = 0] }) => [
      () => {
        if (x.shape.length !== 2) return g.diag(offset);
        const [rows = 0, columns = 0] = x.shape;
        // a square matrix as large as the diagonal needs, cut and padded to the shape
        const extent = Math.max(
          0,
          Math.min(rows + Math.min(0, offset), columns - Math.max(0, offset)),
        );
        const square = extent + Math.abs(offset);
        const [down, right] = [Math.min(square, rows), Math.min(square, columns)];
        return g
          .diag(offset)
          .slice([0, down], [0, right])
          .pad([
            [0, rows - down],
            [0, columns - right],
          ]);
      },
    ],
    jvp: 'linear',
  } satisfies DerivativeRule<readonly [x: KnownValue, offset?: number]>,
  batch: (({ args: [x, offset = 0], size }) => {
    checkOffset(offset, 'diag');
    const [, rows = 0, columns = 0] = x.shape;
    // row-major, an element of the diagonal is as far behind the one before it as a row and one more
    const start = Math.max(offset, 0);
    if (x.shape.length === 3) {
      const first = Math.max(-offset, 0) * columns + start;
      const count = Math.max(0, Math.min(rows - Math.max(-offset, 0), columns - start));
      const places = Array.from({ length: count }, (_, k) => first + k * (columns + 1));
      return take(x.contiguous().reshape([size, rows * columns]), places, 1);
    }
    if (x.shape.length !== 2) return undefined;
    const extent = rows + Math.abs(offset);
    const first = Math.max(-offset, 0) * extent + start;
    const apart = x.reshape([size, rows, 1]).pad([
      [0, 0],
      [0, 0],
      [0, extent],
    ]);
    const flat = apart.reshape([size, rows * (extent + 1)]).pad([
      [0, 0],
      [first, Math.max(0, extent * extent - first - rows * (extent + 1))],
    ]);
    return flat
      .slice(null, [0, extent * extent])
      .contiguous()
      .reshape([size, extent, extent]);
  }) satisfies BatchRule<readonly [x: KnownValue, offset?: number]>,
};

declare module '../tensor-methods.js' {
  interface TensorMethods<D extends DType> {
    /** Of a vector, the matrix with it on a diagonal; of a matrix, its diagonal, a view: see {@link diag}. */
    diag(offset?: number, options?: WorkOptions): Pending<Tensor<D>>;
  }
}

attachMethods({ diag });
