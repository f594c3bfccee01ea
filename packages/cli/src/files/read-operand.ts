import {
  float16ToFloat32,
  listNpz,
  npyStrides,
  printable,
  quoted,
  readNpy,
  readNpz,
  type NpyArray,
} from '@mercer/core/npy';
import { CliError, usageError } from '../cli-error.js';
import { readColumns } from './column-file.js';

export type FloatDType = 'float32' | 'float64';

/** Rows ready to become a tensor without another copy. */
export interface Operand {
  readonly dtype: FloatDType;
  readonly data: Float32Array | Float64Array;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/**
 * Reads `file.npy`, `file.npz` (when it holds one array), `file.npz:name`, or columns: `file.csv`, `file.parquet:a,b`. float16 becomes
 * float32, which is exact; other types are converted only when `dtype` asks for it.
 */
async function readOperand(name: string, dtype?: FloatDType): Promise<Operand> {
  const array = await readArray(name);
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

/** Reads the operands of one operation; they must have one element type. */
export async function readOperands(
  names: readonly string[],
  dtype?: FloatDType,
): Promise<Operand[]> {
  const operands = await Promise.all(names.map((name) => readOperand(name, dtype)));
  const other = operands.findIndex((operand) => operand.dtype !== operands[0]?.dtype);
  if (other < 0) return operands;
  throw new CliError(
    'DTYPE_MISMATCH',
    `Cannot mix element types: '${printable(names[0] ?? '')}' is ${operands[0]?.dtype ?? ''} and '${printable(names[other] ?? '')}' is ${operands[other]?.dtype ?? ''}. Add --dtype float64 (or float32) to convert all.`,
  );
}

/** Reads values of a parameter, of any shape and of any number type, as `dtype`. */
export async function readValues(name: string, dtype: FloatDType): Promise<Operand> {
  const columns = await readColumns(name);
  const array = columns === undefined ? await readArray(name) : vectorOf(columns);
  const data = floats(name, array, dtype);
  return { dtype, data, shape: array.shape, strides: npyStrides(array), offset: 0 };
}

/** One column is a vector. */
const vectorOf = (array: NpyArray): NpyArray =>
  array.shape[1] === 1 ? { ...array, shape: array.shape.slice(0, 1) } : array;

/** `file.npy`, `file.npz` or `file.npz:name`, or columns. A member's name is looked up in the archive as it is, and nowhere else. */
async function readArray(name: string): Promise<NpyArray> {
  const columns = await readColumns(name);
  if (columns !== undefined) return columns;
  const [, path, key] = /^(.*?\.npz):(.+)$/is.exec(name) ?? [];
  if (path !== undefined && key !== undefined) return readMember(path, key);
  if (!/\.npz$/i.test(name)) return readNpy(name);
  const names = (await listNpz(name)).map((entry) => entry.name);
  const [only] = names;
  if (only === undefined || names.length > 1) {
    throw usageError(
      `Cannot use '${printable(name)}': it holds ${names.length} arrays (${names.slice(0, 10).map(quoted).join(', ')}). Name one, as in '${printable(name)}:x'`,
    );
  }
  return readMember(name, only);
}

async function readMember(path: string, key: string): Promise<NpyArray> {
  const found = (await readNpz(path, { members: [key] })).get(key);
  if (found === undefined) throw new Error('a member that was asked for is there');
  return found;
}

function floats(name: string, array: NpyArray, dtype?: FloatDType): Float32Array | Float64Array {
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
