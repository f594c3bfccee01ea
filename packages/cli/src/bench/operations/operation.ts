import type { Tensor } from '@mercer/core';
import { cellWork, elementBytes, type Cell } from '../cells.js';
import type { DataSet } from '../data-sets.js';
import type { DeviceLimitsReport } from '../limits.js';

export type FloatArray = Float32Array | Float64Array;
export type Float = Tensor<'float32' | 'float64'>;

/** One matrix that an operation reads, without the batch axis. */
export interface OperandShape {
  readonly name: string;
  readonly shape: readonly [rows: number, columns: number];
}

/** A call that only enqueues. */
export interface BenchCall {
  readonly plan: string;
  /** Writes into `out`, or into a new tensor. */
  run(out?: Float): Float;
  dispose(): void;
}

/** The right value of one element of a result, and what its error is measured by. */
export interface Truth {
  readonly value: number;
  /** The value itself, or the sum of the terms' magnitudes where they have both signs. */
  readonly scale: number;
}

/** What is measured: everything that the bench has to know about an operation. */
export interface Operation {
  /** What is computed, with the parameters that the cells do not name. */
  readonly text: string;
  /** Parameters of a call that follow from a cell, for the peers. */
  parameters?(cell: Cell): Readonly<Record<string, number>>;
  operands(cell: Cell): readonly OperandShape[];
  /** Shape of the result, without the batch axis. */
  result(cell: Cell): readonly number[];
  /** Values of the operands, each with the batch entries one after the other. Cells of one group get the same. */
  makeData(set: DataSet, cell: Cell): readonly FloatArray[];
  /** Compiles. `operands` lie on the device; the call borrows them. */
  prepare(cell: Cell, operands: readonly Float[]): Promise<BenchCall>;
  /** Milliseconds of the arithmetic alone at the rates of register-only loops; undefined where no loop stands for it. */
  arithmeticMs(cell: Cell, limits: DeviceLimitsReport): number | undefined;
  /** In float64, from the operands' values; `row` counts all axes but the last, within batch entry `entry`. */
  truth(cell: Cell, data: readonly FloatArray[], entry: number, row: number, column: number): Truth;
}

/** A problem of an operation with its sizes. */
export interface Sizes {
  /** Rows of the result: all axes but the last, without the batch. */
  readonly rows: number;
  readonly columns: number;
  /** Elements of the result over the whole batch. */
  readonly results: number;
  /** Bytes of all inputs. */
  readonly operandBytes: number;
  /** Bytes that must move at the least: the inputs read and the result written once. */
  readonly bytes: number;
  /** Terms of all sums. */
  readonly work: number;
}

export function sizesOf(operation: Operation, cell: Cell): Sizes {
  const shape = operation.result(cell);
  const columns = shape.at(-1) ?? 1;
  const rows = shape.slice(0, -1).reduce((product, extent) => product * extent, 1);
  const results = rows * columns * cell.batch;
  const elements = operation
    .operands(cell)
    .reduce((sum, { shape: [high, wide] }) => sum + high * wide, 0);
  const operandBytes = elements * cell.batch * elementBytes(cell);
  const bytes = operandBytes + results * elementBytes(cell);
  return { rows, columns, results, operandBytes, bytes, work: cellWork(cell) };
}
