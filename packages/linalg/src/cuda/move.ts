import type { Enqueuing } from '@mercer/tensor/operation';
import { MATRIX_BATCH_AXES, type Scalars } from '@mercer/kernels';
import type { Storage, Tensor } from '@mercer/tensor';
import type { MatrixOperand } from '../operand.js';
import type { Within } from './cuda-call.js';
import { kernels, launch } from './kernels.js';
import { type Dense } from './scratch.js';

/** The elements of a matrix that count. */
export type Part = 'all' | 'lower' | 'upper';

const PARTS: { readonly [P in Part]: number } = { all: 0, lower: 1, upper: 2 };

const axes = Array.from({ length: MATRIX_BATCH_AXES }, (_, axis) => axis);

/** A triangle by its flag. */
export const triangle = (upper: number): 'lower' | 'upper' => (upper === 0 ? 'lower' : 'upper');

const batchNames = axes.map((axis) => `batch${axis}`);

/** The extents of a batch as kernels take them. */
export function batchScalars(batchShape: readonly number[]): Scalars {
  const first = MATRIX_BATCH_AXES - batchShape.length;
  const scalars: Record<string, number> = {};
  batchNames.forEach((name, axis) => {
    scalars[name] = axis < first ? 1 : (batchShape[axis - first] ?? 1);
  });
  return scalars;
}

/** What the strides of an operand are called. */
interface StrideNames {
  readonly row: string;
  readonly column: string;
  readonly batch: readonly string[];
}

/** Made once for each operand: a call would spend most of its time on them. */
const strideNames = new Map<string, StrideNames>();

function namesOf(operand: string): StrideNames {
  let names = strideNames.get(operand);
  if (names === undefined) {
    const batch = axes.map((axis) => `${operand}Batch${axis}`);
    strideNames.set(operand, (names = { row: `${operand}Row`, column: `${operand}Column`, batch }));
  }
  return names;
}

/** The strides of operands by name, as kernels take them. */
export function strideScalars(operands: Readonly<Record<string, MatrixOperand>>): Scalars {
  const scalars: Record<string, number> = {};
  for (const [name, { rowStride, columnStride, batchStrides }] of Object.entries(operands)) {
    const { row, column, batch } = namesOf(name);
    const first = MATRIX_BATCH_AXES - batchStrides.length;
    scalars[row] = rowStride;
    scalars[column] = columnStride;
    for (let axis = 0; axis < batch.length; axis++) {
      scalars[batch[axis] as string] = axis < first ? 0 : (batchStrides[axis - first] ?? 0);
    }
  }
  return scalars;
}

/** How matrices are packed. */
export interface PackOptions {
  /** Default 'all'. */
  readonly part?: Part;
  /** Fill what does not count with the mirror image instead of zeros. */
  readonly mirrored?: boolean;
  /** Becomes -1 for a matrix with an element that counts and is not finite. */
  readonly infos?: Tensor<'int32'> | undefined;
  /** Only matrices with a positive entry here. */
  readonly only?: Storage;
  /** Added to the diagonal, one for each matrix. */
  readonly shifts?: Tensor;
  /** Added to every diagonal. */
  readonly ridge?: number;
}

/** An operand of any strides into dense matrices. */
export function* pack(
  within: Within,
  batchShape: readonly number[],
  from: MatrixOperand,
  to: Dense,
  options: PackOptions = {},
): Enqueuing {
  const { part = 'all', mirrored = false, ridge = 0, infos, only, shifts } = options;
  const { rows, columns, count, dtype } = to;
  const kernel = kernels.pack(from.memory.dtype as Dense['dtype'], dtype);
  const pointers = { from: from.memory, to: to.storage, infos, only, shifts };
  const scalars = { rows, columns, count, part: PARTS[part], mirrored: Number(mirrored), ridge };
  yield* launch(within, kernel, pointers, {
    ...scalars,
    ...strideScalars({ from }),
    ...batchScalars(batchShape),
  });
}

/** Dense matrices into others of another dtype. */
export function* convert(within: Within, from: Dense, to: Dense): Enqueuing {
  const { rows, columns, count } = to;
  const step = { fromRow: 1, fromColumn: rows, fromBatch5: rows * columns, batch5: count };
  const others = Object.fromEntries(
    axes.slice(0, -1).flatMap((axis) => [
      [`fromBatch${axis}`, 0],
      [`batch${axis}`, 1],
    ]),
  );
  const scalars = { rows, columns, count, part: 0, mirrored: 0, ridge: 0, ...others, ...step };
  const kernel = kernels.pack(from.dtype, to.dtype);
  yield* launch(within, kernel, { from: from.storage, to: to.storage }, scalars);
}

/** How matrices are unpacked. */
export interface UnpackOptions {
  /** Zeros go outside of it; default 'all'. */
  readonly part?: Part;
}

/** The first rows and columns of dense matrices into an operand; NaN for matrices whose info is not 0. */
export function* unpack(
  within: Within,
  batchShape: readonly number[],
  from: Dense,
  to: MatrixOperand,
  infos: Tensor<'int32'>,
  { part = 'all' }: UnpackOptions = {},
): Enqueuing {
  const { rows, columns } = to;
  const kernel = kernels.unpack(from.dtype, to.memory.dtype as Dense['dtype']);
  yield* launch(
    within,
    kernel,
    { from: from.storage, to: to.memory, infos },
    {
      rows,
      columns,
      count: from.count,
      part: PARTS[part],
      lead: from.rows,
      step: from.rows * from.columns,
      ...strideScalars({ to }),
      ...batchScalars(batchShape),
    },
  );
}

/** What a library said goes into the infos that were 0; positive codes count as `failure` where it is given. */
export function* mergeCodes(
  within: Within,
  infos: Tensor<'int32'>,
  codes: Storage,
  count: number,
  failure = 0,
): Enqueuing {
  yield* launch(within, kernels.mergeCodes(), { infos, codes }, { count, failure });
}
