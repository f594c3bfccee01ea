import {
  float16ToFloat32,
  npyStrides,
  printable,
  type NpyArray,
  type WatchOptions,
} from '@mercer/core/npy';
import { CliError, usageError } from '../cli-error.js';
import { isTable, parseFileName } from './file-name.js';
import { readArray } from './read-array.js';

export type FloatDType = 'float32' | 'float64';

/** Rows ready to become a tensor without another copy. */
export interface Operand {
  readonly dtype: FloatDType;
  readonly data: Float32Array | Float64Array;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/** Reads an array with rows. float16 becomes float32, which is exact; other types are converted only when `dtype` asks for it. */
async function readOperand(
  name: string,
  dtype: FloatDType | undefined,
  watch: WatchOptions,
): Promise<Operand> {
  const array = await readArray(name, watch);
  if (array.shape.length < 2) {
    throw new CliError(
      'SHAPE_MISMATCH',
      `Cannot use '${printable(name)}': its shape (${array.shape.join(', ')}) has no rows. Save a matrix, or a batch of matrices.`,
    );
  }
  const data = floats(name, array, dtype);
  return {
    dtype: data instanceof Float64Array ? 'float64' : 'float32',
    data,
    shape: array.shape,
    strides: npyStrides(array),
    offset: 0,
  };
}

/** Reads the operands of one operation; they must have one element type. `watch` makes what is told of each file. */
export async function readOperands(
  names: readonly string[],
  dtype: FloatDType | undefined,
  watch: () => WatchOptions,
): Promise<Operand[]> {
  if (names.filter((name) => parseFileName(name).path === '-').length > 1) {
    throw usageError('Cannot read standard input twice. Save it as a file, and name that');
  }
  const operands = await Promise.all(names.map((name) => readOperand(name, dtype, watch())));
  const other = operands.findIndex((operand) => operand.dtype !== operands[0]?.dtype);
  if (other < 0) return operands;
  throw new CliError(
    'DTYPE_MISMATCH',
    `Cannot mix element types: '${printable(names[0] ?? '')}' is ${operands[0]?.dtype ?? ''} and '${printable(names[other] ?? '')}' is ${operands[other]?.dtype ?? ''}. Add --dtype float64 (or float32) to convert all.`,
  );
}

/** Reads values of a parameter, of any shape and of any number type, as `dtype`. */
export async function readValues(name: string, dtype: FloatDType): Promise<Operand> {
  const found = await readArray(name);
  const array = isTable(parseFileName(name).format) ? vectorOf(found) : found;
  const data = floats(name, array, dtype);
  return { dtype, data, shape: array.shape, strides: npyStrides(array), offset: 0 };
}

/** One column is a vector. */
const vectorOf = (array: NpyArray): NpyArray =>
  array.shape[1] === 1 ? { ...array, shape: array.shape.slice(0, 1) } : array;

/** The elements as float32 or float64. */
export function floats(
  name: string,
  array: NpyArray,
  dtype?: FloatDType,
): Float32Array | Float64Array {
  const { data } = array;
  const floating = array.dtype === 'float16' ? float16ToFloat32(data as Uint16Array) : data;
  if (floating instanceof Float32Array)
    return dtype === 'float64' ? Float64Array.from(floating) : floating;
  if (floating instanceof Float64Array)
    return dtype === 'float32' ? Float32Array.from(floating) : floating;
  if (dtype === undefined) {
    throw new CliError(
      'DTYPE_MISMATCH',
      `Cannot use '${printable(name)}': its elements are ${array.dtype} and it is computed in float32 or float64. Add --dtype float32 to convert them.`,
    );
  }
  const out =
    dtype === 'float32' ? new Float32Array(floating.length) : new Float64Array(floating.length);
  for (let i = 0; i < floating.length; i++) out[i] = Number(floating[i]);
  return out;
}
