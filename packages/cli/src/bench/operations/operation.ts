import type { Tensor } from '@mercer/core';
import {
  cellWork,
  elementBytes,
  type Cell,
  type KernelCell,
  type LinearCell,
  type ReductionCell,
  type SolverCell,
} from '../cells.js';
import type { DataSet } from '../data-sets.js';
import type { DeviceLimitsReport } from '../limits.js';
import type { Spread } from '../statistics.js';

export type FloatArray = Float32Array | Float64Array;
export type ResultArray = FloatArray | Int32Array;
export type Float = Tensor<'float32' | 'float64'>;

/** One matrix that an operation reads, without the batch axis. */
export interface OperandShape {
  readonly name: string;
  readonly shape: readonly [rows: number, columns: number];
}

/** A tensor that a call computes: values or row numbers. */
export type Result = Float | Tensor<'int32'>;
export type Results<R extends Result = Float> = readonly R[];

/** A call that only enqueues. */
export interface BenchCall<R extends Result = Float> {
  readonly plan: string;
  /** Writes into `out`, which an earlier call returned, where the operation can; else into new tensors. */
  run(out?: Results<R>): Results<R> | Promise<Results<R>>;
  dispose(): void;
  /** What an iterative call did the last time, with the times of what it is made of. */
  iterative?(maxSeconds: number): Promise<IterativeFigures>;
}

/** What an iterative call is made of. */
export interface IterativeFigures {
  readonly iterations: number;
  /** Whether it says that it has reached what was asked for. */
  readonly converged: boolean;
  /** One product of the operator with a vector. */
  readonly productMs: Spread;
  /** Making the preconditioner, which is part of a call, and the rest of it. */
  readonly preconditionerMs?: Spread;
  readonly iterationsMs?: Spread;
}

/** A prepared call with one result, which holds nothing else. */
export function oneResult<R extends Result = Float>(
  plan: string,
  run: (options: { out?: R }) => R,
): BenchCall<R> {
  return {
    plan,
    run: ([out]: Results<R> = []) => [run(out === undefined ? {} : { out })],
    dispose: () => undefined,
  };
}

/** The right value of one element of a result, and what its error is measured by. */
export interface Truth {
  readonly value: number;
  /** The value itself, or the sum of the terms' magnitudes where they have both signs. */
  readonly scale: number;
}

/** An operation whose elements can be computed one by one: its error is that of a sample. */
export interface ElementOperation extends OperationParts<KernelCell> {
  /** In float64, from the operands' values; `row` counts all axes but the last, within batch entry `entry`. */
  truth(
    cell: KernelCell,
    data: readonly FloatArray[],
    entry: number,
    row: number,
    column: number,
  ): Truth;
}

/** An operation whose result is judged as a whole: its error is what it leaves of the equations that it has to satisfy. */
export interface ResidualOperation<
  C extends LinearCell | SolverCell = LinearCell,
> extends OperationParts<C> {
  /**
   * In float64, from the values of operands and results: the largest scaled residual of each batch entry, in units of n eps
   * norm, of iterative solutions of the tolerance; NaN where the result has one.
   */
  residuals(
    cell: C,
    data: readonly FloatArray[],
    results: readonly FloatArray[],
  ): readonly number[];
}

/** An operation with a result for each row, of values or of row numbers: its error is that of sampled rows. */
export interface ReductionOperation extends OperationParts<ReductionCell, Result> {
  /** In float64, from the values of operands and results: the largest error of each sampled row in units of rounding. */
  errors(
    cell: ReductionCell,
    data: readonly FloatArray[],
    results: readonly ResultArray[],
  ): readonly number[];
}

/** What is measured: everything that the bench has to know about an operation, whose results are checked in one of three ways. */
export interface OperationParts<C extends Cell, R extends Result = Float> {
  /** What is computed, with the parameters that the cells do not name. */
  readonly text: string;
  /** Parameters of a call that follow from a cell, for the peers. */
  parameters?(cell: C): Readonly<Record<string, number>>;
  operands(cell: C): readonly OperandShape[];
  /** Shapes of the results, without the batch axis; that whose elements are sampled first. */
  results(cell: C): readonly (readonly number[])[];
  /** Bytes of an element of the results, where it is not of the operands' type. */
  readonly resultBytes?: number;
  /** Its own kind of data, where it is not measured on others. */
  readonly dataSet?: DataSet;
  /** Values of the operands, each with the batch entries one after the other. Cells of one group get the same. */
  makeData(set: DataSet, cell: C): readonly FloatArray[];
  /** Compiles. `operands` lie on the device; the call borrows them. */
  prepare(cell: C, operands: readonly Float[]): Promise<BenchCall<R>>;
  /** Milliseconds of the arithmetic alone at the rates of register-only loops; undefined where no loop stands for it. */
  arithmeticMs(cell: C, limits: DeviceLimitsReport): number | undefined;
}

/** A problem of an operation with its sizes. */
export interface Sizes {
  /** Rows of the first result: all axes but the last, without the batch. */
  readonly rows: number;
  readonly columns: number;
  /** Elements of all results over the whole batch. */
  readonly results: number;
  /** Bytes of all inputs. */
  readonly operandBytes: number;
  /** Bytes that must move at the least: the inputs read and the results written once. */
  readonly bytes: number;
  /** Terms of all sums. */
  readonly work: number;
}

export function sizesOf<C extends Cell>(operation: OperationParts<C, Result>, cell: C): Sizes {
  const shapes = operation.results(cell);
  const shape = shapes[0] ?? [];
  const columns = shape.at(-1) ?? 1;
  const rows = product(shape.slice(0, -1));
  const results = shapes.reduce((sum, extents) => sum + product(extents), 0) * cell.batch;
  const elements = operation
    .operands(cell)
    .reduce((sum, { shape: [high, wide] }) => sum + high * wide, 0);
  const operandBytes = elements * cell.batch * elementBytes(cell);
  const bytes = operandBytes + results * (operation.resultBytes ?? elementBytes(cell));
  return { rows, columns, results, operandBytes, bytes, work: cellWork(cell) };
}

function product(extents: readonly number[]): number {
  return extents.reduce((size, extent) => size * extent, 1);
}
