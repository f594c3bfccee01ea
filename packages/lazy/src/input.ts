import { pm, vi, vij, vj, type Category, type VariableNode } from '@mercer/formula';
import type { Device, RowReader, Tensor, TensorSource } from '@mercer/tensor';
import { formatShape } from '@mercer/tensor/operation';
import type { LazyDType } from './lazy-dtype.js';
import type { ViewStep } from './view-step.js';

/** Where the numbers of an input come from: a tensor, host data placed at each call, or an argument of the call. */
export type Source =
  | { readonly kind: 'tensor'; readonly tensor: Tensor }
  | { readonly kind: 'data'; readonly data: TensorSource | RowReader }
  | { readonly kind: 'placeholder'; readonly position: number };

/** Sizes of an input once its data is known. */
export interface InputExtent {
  /** Of i where it has values of pairs. */
  readonly rows: number;
  /** Rows of j, where it has values of pairs. */
  readonly columns: number | undefined;
  readonly batchShape: readonly number[];
}

/** An input of a symbolic formula: its category and dim, and, unless it is a placeholder, its data. */
export interface Input {
  readonly category: Category;
  readonly dim: number;
  readonly name: string | undefined;
  readonly source: Source;
  /** Rows are taken by index: a parameter with as many rows as it likes. */
  readonly isTable: boolean;
  /** From the tensor's shape to (..batch, rows, dim), or (..batch, M, N, dim) for values of pairs. */
  readonly steps: readonly ViewStep[];
  /** Undefined for a placeholder. */
  readonly extent: InputExtent | undefined;
  /** What it is computed in; undefined for a placeholder, and for numbers that take the dtype of the others. */
  readonly dtype: LazyDType | undefined;
  /** Undefined for what is not on a device yet. */
  readonly device: Device | undefined;
}

const NODE: { readonly [C in Category]: typeof vi } = { i: vi, j: vj, pair: vij, parameter: pm };

/** The node of the input at a place of a formula's list. */
export function nodeAt(
  { category, dim }: Pick<Input, 'category' | 'dim'>,
  place: number,
): VariableNode {
  return NODE[category](place, dim);
}

/** The shape of an input as kernels read it: (..batch, rows, dim), with values of pairs (..batch, M, N, dim). */
export function shapeOf(
  { batchShape, rows, columns }: InputExtent,
  dim: number,
): readonly number[] {
  return [...batchShape, rows, ...(columns === undefined ? [] : [columns]), dim];
}

const NO_BATCH: readonly number[] = Object.freeze([]);

/** The sizes that a shape tells, of an input of this category. */
export function extentOf(category: Category, shape: readonly number[]): InputExtent {
  if (category !== 'pair') {
    const batchShape = shape.length > 2 ? shape.slice(0, -2) : NO_BATCH;
    return { rows: shape.at(-2) ?? 1, columns: undefined, batchShape };
  }
  return { rows: shape.at(-3) ?? 1, columns: shape.at(-2) ?? 1, batchShape: shape.slice(0, -3) };
}

/** Whether two inputs are one: the same numbers, read in the same way. */
export function isSameInput(a: Input, b: Input): boolean {
  if (a === b) return true;
  return a.category === b.category && a.isTable === b.isTable && isSameData(a, b);
}

/** Whether two inputs have the same rows, whatever they follow. */
export function isSameData(a: Input, b: Input): boolean {
  if (a.dim !== b.dim || !isSameSource(a.source, b.source)) return false;
  return JSON.stringify(a.steps) === JSON.stringify(b.steps);
}

function isSameSource(a: Source, b: Source): boolean {
  if (a.kind === 'tensor') return b.kind === 'tensor' && a.tensor === b.tensor;
  if (a.kind === 'placeholder') return b.kind === 'placeholder' && a.position === b.position;
  return b.kind === 'data' && typeof a.data === 'object' && a.data === b.data;
}

const KIND: { readonly [C in Category]: string } = {
  i: 'i-variable',
  j: 'j-variable',
  pair: 'values of pairs',
  parameter: 'parameter',
};

/** An input as it appears in messages, as "x (i-variable, float32 [10, 3] tensor #1 on cpu)". */
export function describeInput(input: Input): string {
  const what = `${input.isTable ? 'table' : KIND[input.category]}, ${describeData(input)}`;
  return input.name === undefined ? `the ${what.replace(',', '')}` : `${input.name} (${what})`;
}

function describeData({ source, extent, dim, dtype }: Input): string {
  if (source.kind === 'tensor') return source.tensor.label;
  if (source.kind === 'placeholder') {
    return `placeholder ${source.position} of dim ${dim}`;
  }
  const shape = formatShape(extent === undefined ? [0, dim] : shapeOf(extent, dim));
  return `${dtype ?? 'number'} data ${shape}`;
}
