import { describeValue } from '@mercer/options';
import type { Category } from '@mercer/formula';
import {
  isTensor,
  MercerError,
  type Device,
  type RowReader,
  type Tensor,
  type TensorSource,
} from '@mercer/tensor';
import { assertTensor, formatShape, isRowReader } from '@mercer/tensor/operation';
import { hostShape } from './host-shape.js';
import { extentOf, type Input, type Source } from './input.js';
import { computedIn, storedDTypeNames, type LazyDType } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';
import { isTensorLike } from './traced-inputs.js';
import { shapeAfter, type ViewStep } from './view-step.js';

/** What an input can be made from. */
export type LazyData = Tensor | TensorSource | RowReader;

/** An argument of a later call: its place among the arguments, from 0, and how many numbers a row has. */
export interface Placeholder {
  readonly position: number;
  readonly dim: number;
}

/** Whether a value is an argument of a later call. */
export function isPlaceholder(data: unknown): data is Placeholder {
  return typeof data === 'object' && data !== null && !isTensor(data) && 'position' in data;
}

/** What is known of data before it is a tensor on a device. */
interface Data {
  readonly source: Source;
  readonly shape: readonly number[];
  readonly dtype: LazyDType | undefined;
  readonly device: Device | undefined;
}

/** Data whose last two axes are rows and components, (..batch, rows, dim), as i- or j-variable. */
export function matrixInput(
  what: string,
  value: LazyData,
  category: 'i' | 'j',
  name: string | undefined,
): Input {
  const data = readData(what, value, name);
  if (data.shape.length >= 2) return finished(what, data, category, name, []);
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: ${named(name)}has shape ${formatShape(data.shape)}, and a variable needs at least two axes, (..batch, rows, dim). ` +
      'Reshape n numbers to (n, 1) for rows of one number, or pass them to param as one vector.',
  );
}

/**
 * A number for every pair, (..batch, M, N), or with `components` a row of them, (..batch, M, N, dim).
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH
 */
export function pairInput(
  what: string,
  value: LazyData,
  components: boolean,
  name: string | undefined,
): Input {
  const data = readData(what, value, name);
  const steps: ViewStep[] = components ? [] : [{ op: 'insert', axis: -1 }];
  if (data.shape.length >= 3 - steps.length) return finished(what, data, 'pair', name, steps);
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: ${named(name)}has shape ${formatShape(data.shape)}, and values of pairs need ${components ? 'three axes at least, (..batch, M, N, dim)' : 'two axes at least, (..batch, M, N)'}. ` +
      'Pass rows of i to lazyI, rows of j to lazyJ and one vector to param.',
  );
}

/** One vector for all rows: (dim) or (..batch, dim); a number is a vector of one. */
export function parameterInput(what: string, value: LazyData, name: string | undefined): Input {
  const data = readData(what, value, name);
  const steps: ViewStep[] =
    data.shape.length === 0
      ? [
          { op: 'insert', axis: -1 },
          { op: 'insert', axis: -1 },
        ]
      : [{ op: 'insert', axis: -2 }];
  return finished(what, data, 'parameter', name, steps);
}

/** A table whose rows are taken by index, (..batch, rows, dim). */
export function tableInput(what: string, value: LazyData, name: string | undefined): Input {
  return asTable(matrixInput(what, value, 'i', name));
}

/** The rows of a variable as a table. */
export const asTable = (input: Input): Input => ({
  ...input,
  category: 'parameter',
  isTable: true,
});

/** Data of three axes or more, by where its 1 is: (.., M, 1, D) follows i, (.., 1, N, D) j, (.., 1, 1, D) neither. */
export function shapedInput(what: string, value: LazyData, name: string | undefined): Input {
  const data = readData(what, value, name);
  const [m, n] = data.shape.slice(-3);
  if (data.shape.length < 3) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${named(name)}has shape ${formatShape(data.shape)}, which does not tell what it follows. ` +
        "Pass (.., M, 1, D) for rows of i, (.., 1, N, D) for rows of j or (.., 1, 1, D) for a parameter; or say the axis: lazy(x, 'i').",
    );
  }
  if (m !== 1 && n !== 1) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${named(name)}has shape ${formatShape(data.shape)}: it is dense, with ${m} x ${n} rows. ` +
        'A symbolic matrix is made from rows of i and of j: one of these two axes must have extent 1. For stored values of pairs use lazyPair(data, { components: true }).',
    );
  }
  const category: Category = m === 1 ? (n === 1 ? 'parameter' : 'j') : 'i';
  return finished(what, data, category, name, [{ op: 'drop', axis: category === 'i' ? -2 : -3 }]);
}

/** An argument of a later call. */
export function placeholderInput(
  what: string,
  category: Category,
  position: number,
  dim: number,
  name: string | undefined,
): Input {
  checkName(what, name);
  checkCount(what, 'position', position, 0);
  checkCount(what, 'dim', dim, 1);
  return {
    category,
    dim,
    name,
    isTable: false,
    steps: [],
    extent: undefined,
    dtype: undefined,
    device: undefined,
    source: { kind: 'placeholder', position },
  };
}

function checkCount(what: string, name: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: ${name} is ${describeValue(value)}. Pass an integer from ${least}, as in { position: 0, dim: 3 }.`,
  );
}

/** @throws LazyError INVALID_ARGUMENT */
function checkName(what: string, name: unknown): void {
  if (name === undefined || typeof name === 'string') return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: name is ${describeValue(name)}. Pass a text, or leave it out.`,
  );
}

const named = (name: string | undefined): string => (name === undefined ? 'the data ' : `${name} `);

function readData(what: string, value: LazyData, name: string | undefined): Data {
  checkName(what, name);
  if (isTensorLike(value)) {
    value.assertAlive();
    const { shape, device } = value;
    const dtype = computedIn(value.dtype);
    if (dtype === undefined) throw notStored(labelled(what, name), value);
    return { source: { kind: 'tensor', tensor: value }, shape, device, dtype };
  }
  const label = labelled(what, name);
  // A tensor of another copy of the package, or nothing at all.
  if (typeof value !== 'number' && !ArrayBuffer.isView(value) && !Array.isArray(value)) {
    if (!('data' in Object(value)) && !isRowReader(value)) assertTensor(value, label);
  }
  const { shape, dtype } = hostShape(value, label);
  return { source: { kind: 'data', data: value }, shape, dtype, device: undefined };
}

const labelled = (what: string, name: string | undefined): string =>
  `${what}: ${named(name).trim()}`;

/** The error for a dtype that nothing is computed in. */
function notStored(label: string, x: Tensor): MercerError {
  return new MercerError(
    'DTYPE_MISMATCH',
    `${label} is the ${x.label}, and the dtypes of variables are ${storedDTypeNames()}. Cast it first, for example await x.cast('float32').`,
  );
}

function finished(
  what: string,
  { source, shape, dtype, device }: Data,
  category: Category,
  name: string | undefined,
  steps: readonly ViewStep[],
): Input {
  const own = shapeAfter(shape, steps);
  const dim = own.at(-1) ?? 1;
  if (dim === 0) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${named(name)}has shape ${formatShape(shape)}: its rows have no components. The last axis needs an extent of 1 or more; leave empty inputs out.`,
    );
  }
  const extent = extentOf(category, own);
  return { category, dim, name, isTable: false, source, steps, dtype, device, extent };
}
