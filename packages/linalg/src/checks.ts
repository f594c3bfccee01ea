import { describeList, describeValue } from '@mercer/options';
import { broadcastShapes, MercerError, type Device, type DType, type Tensor } from '@mercer/tensor';
import { assertTensor, commonDevice, formatShape } from '@mercer/tensor/operation';

/** Dtypes that this package computes in. */
export type LinalgDType = 'float32' | 'float64';

/** Dtypes of factors: those of 16 bits are converted to float32, in which the product is computed and given. */
export type FactorDType = LinalgDType | 'float16' | 'bfloat16';

/** The dtype that matrices are computed in. */
export type ComputedIn<D extends DType> = D extends 'float64' ? D : 'float32';

/** Distance from 1 to the next number. */
export const EPSILON: { readonly [D in LinalgDType]: number } = {
  float32: 2 ** -23,
  float64: 2 ** -52,
};

/** The largest finite number. */
export const LARGEST: { readonly [D in LinalgDType]: number } = {
  float32: 3.4028234663852886e38,
  float64: Number.MAX_VALUE,
};

/** Axes before the last two that a call can have: what the native side has room for. */
export const MOST_BATCH_AXES = 6;

/** Extents beyond this do not fit the integers of most BLAS libraries. */
export const MOST_ROWS = 2 ** 31 - 1;

/** What the tensors of a call have in common. */
export interface Setting {
  readonly what: string;
  readonly device: Device;
  readonly dtype: LinalgDType;
  /** The broadcast axes before the last two. */
  readonly batchShape: readonly number[];
}

/**
 * Checks that the arguments are live matrices of one device and one floating dtype, and broadcasts their batch axes.
 *
 * @param matrices by their names in messages
 * @param vectors the same, with one axis of their own
 * @param takesHalves whether dtypes of 16 bits are computed in float32
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
 */
export function settingOf(
  what: string,
  matrices: Readonly<Record<string, Tensor>>,
  vectors: Readonly<Record<string, Tensor>> = {},
  takesHalves = false,
): Setting {
  let dtype: LinalgDType | undefined;
  let batchShape: readonly number[] = [];
  const entries = [...Object.entries(matrices), ...Object.entries(vectors)];
  for (const [name, x] of entries) {
    assertTensor(x, `${what}: ${name}`);
    const ownAxes = Object.hasOwn(matrices, name) ? 2 : 1;
    assertAxes(what, name, x, ownAxes);
    const own = takesHalves && isHalf(x) ? 'float32' : floating(what, name, x);
    if (dtype !== undefined && own !== dtype) {
      throw new MercerError(
        'DTYPE_MISMATCH',
        `${what}: ${name} is ${x.label}, but ${entries[0]?.[0] ?? ''} is ${dtype}. Cast one of them.`,
      );
    }
    dtype = own;
    batchShape = broadcastBatch(what, name, x.shape.slice(0, -ownAxes), batchShape);
  }
  const tensors = entries.map(([, x]) => x);
  return { what, device: commonDevice(tensors, what), dtype: dtype ?? 'float32', batchShape };
}

function assertAxes(what: string, name: string, x: Tensor, ownAxes: 1 | 2): void {
  if (x.rank < ownAxes && ownAxes === 1) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${name} is ${x.label}, which is no vector. Pass at least one axis.`,
    );
  }
  if (x.rank < ownAxes) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${name} is ${x.label}, which is no matrix. Pass at least two axes; a vector becomes one column with reshape([n, 1]).`,
    );
  }
  if (x.rank - ownAxes > MOST_BATCH_AXES) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${name} is ${x.label}, with ${x.rank - ownAxes} batch axes. At most ${MOST_BATCH_AXES} are supported; merge some with reshape().`,
    );
  }
  if (x.shape.slice(-ownAxes).some((extent) => extent > MOST_ROWS)) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${name} is ${x.label}. At most ${MOST_ROWS} rows and columns are supported.`,
    );
  }
}

export const isHalf = ({ dtype }: Pick<Tensor, 'dtype'>): boolean =>
  dtype === 'float16' || dtype === 'bfloat16';

export function floating(what: string, name: string, x: Tensor): LinalgDType {
  if (x.dtype === 'float32' || x.dtype === 'float64') return x.dtype;
  throw new MercerError(
    'DTYPE_MISMATCH',
    `${what}: ${name} is ${x.label}. This package computes in float32 and float64; call cast('float32') first.`,
  );
}

function broadcastBatch(
  what: string,
  name: string,
  own: readonly number[],
  others: readonly number[],
): readonly number[] {
  try {
    return broadcastShapes(others, own);
  } catch (cause) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${name} has batch axes ${formatShape(own)}, which do not broadcast with ${formatShape(others)}. They must be equal from the right, or 1.`,
      { cause },
    );
  }
}

/** The order of a square matrix. @throws MercerError SHAPE_MISMATCH */
export function orderOf(what: string, name: string, x: Tensor): number {
  const [rows = 0, columns = 0] = x.shape.slice(-2);
  if (rows !== columns) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${name} is ${x.label}, which is not square. Use lstsq, qr or svd for rectangular matrices.`,
    );
  }
  return rows;
}

/** One of the words that an option can be. @throws MercerError INVALID_ARGUMENT */
export function choice<T extends string>(
  what: string,
  option: string,
  value: T | undefined,
  allowed: readonly [T, ...T[]],
): T {
  if (value === undefined) return allowed[0];
  if (allowed.includes(value)) return value;
  const words = allowed.map((word) => `'${word}'`).join(' or ');
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${option} is ${describeList(value)}. Use ${words}.`,
  );
}

/** An option that is true or false, and false where it is not given. @throws MercerError INVALID_ARGUMENT */
export function flag(what: string, option: string, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value ?? false;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${option} is ${describeValue(value)}. Pass true or false.`,
  );
}
