import type { DType } from '@mercer/kernels';
import { MercerError, type Tensor } from '@mercer/tensor';
import {
  assertNoOverlap,
  CallSteps,
  checkOut,
  formatShape,
  type CallTensors,
  type CallView,
} from '@mercer/tensor/operation';
import { orderOf, settingOf, type Setting } from './checks.js';
import { columnOperand, matrixOperand, type PlannedMatrix } from './operand.js';
import type { PlannedArguments } from './routine.js';
import type { FieldsOf, RoutineName } from './routines.js';
import { runRoutine, type Composed } from './run-routine.js';

/** Where the results of a call are written. */
export interface Targets {
  /** Their names, in the order in which the plan makes them. */
  readonly names: readonly string[];
  /** For each the name of the matrix that it is written over, if there is one. */
  readonly over: readonly (string | undefined)[];
}

/** What the tensors of a call are, by name: all others are matrices. */
export interface Kinds {
  /** They have one axis of their own and not two. */
  readonly vectors?: readonly string[] | undefined;
  /** The plan checks these. */
  readonly others?: readonly string[] | undefined;
  /** Matrices may be of 16 bits: they are read as float32. */
  readonly takesHalves?: boolean | undefined;
}

/** A call as its rules plan it: what its matrices have in common, and what is done with them. */
export class PlannedCall implements Composed {
  readonly setting: Setting;
  /** The tensors by name, as they were given, for checks. */
  readonly given: Readonly<Record<string, Tensor>>;
  readonly tensors: CallTensors;
  readonly steps: CallSteps;
  readonly #names: readonly string[];
  readonly #targets: Targets;

  /** @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED */
  constructor(
    what: string,
    given: Readonly<Record<string, Tensor>>,
    outs: CallTensors['outs'],
    targets: Targets,
    { vectors = [], others = [], takesHalves }: Kinds = {},
  ) {
    this.given = given;
    this.#names = Object.keys(given);
    this.#targets = targets;
    this.tensors = { inputs: Object.values(given), outs };
    const named = (has: (name: string) => boolean): Record<string, Tensor> =>
      Object.fromEntries(Object.entries(given).filter(([name]) => has(name)));
    this.setting = settingOf(
      what,
      named((name) => !vectors.includes(name) && !others.includes(name)),
      named((name) => vectors.includes(name)),
      takesHalves,
    );
    this.steps = new CallSteps(this.setting.device, this.tensors);
  }

  get what(): string {
    return this.setting.what;
  }

  /** Whether a tensor was given. */
  has(name: string): boolean {
    return this.#names.includes(name);
  }

  /** A tensor that was given, for checks. */
  tensor(name: string): Tensor {
    return this.given[name] as Tensor;
  }

  /** The order of a matrix, by default the first. @throws MercerError SHAPE_MISMATCH where it is not square */
  order(name = this.#names[0] ?? ''): number {
    return orderOf(this.what, name, this.tensor(name));
  }

  /** A tensor that the call reads. */
  view(name: string): CallView {
    return this.steps.input(this.#names.indexOf(name));
  }

  /** The same where it was given. */
  viewIfGiven(name: string): CallView | undefined {
    return this.has(name) ? this.view(name) : undefined;
  }

  /** A matrix that the call reads, in the dtype that it computes in. */
  operand(name: string): PlannedMatrix {
    const { dtype, batchShape } = this.setting;
    const given = this.view(name);
    if (given.dtype === dtype) return matrixOperand(given, batchShape);
    const converted = this.steps.scratchMemory({ shape: given.shape, dtype });
    this.steps.copy(given, converted);
    return matrixOperand(converted, batchShape);
  }

  /** Whether a result is wanted. */
  wants(name: string): boolean {
    return this.#targets.names.includes(name);
  }

  /** The next result, of any strides. @throws MercerError as `checkOut` does */
  result(name: string, shape: readonly number[]): CallView {
    return this.steps.result(this.#next(name, shape, this.setting.dtype));
  }

  /** The same, row-major. */
  rowMajorResult(
    name: string,
    shape: readonly number[],
    dtype: DType = this.setting.dtype,
  ): CallView {
    return this.steps.rowMajorResult(this.#next(name, shape, dtype));
  }

  /** The next result: the batch axes, then these. */
  matrix(name: string, rows: number, columns: number): PlannedMatrix {
    const { batchShape } = this.setting;
    return matrixOperand(this.result(name, [...batchShape, rows, columns]), batchShape);
  }

  /** The next result: the batch axes, then one more, which a routine sees as a column. */
  column(name: string, rows: number): PlannedMatrix {
    const { batchShape } = this.setting;
    return columnOperand(this.rowMajorResult(name, [...batchShape, rows]), batchShape);
  }

  /** The next result: one number for each batch entry. */
  numbers(name: string): CallView {
    return this.rowMajorResult(name, this.setting.batchShape);
  }

  /** The next result: one integer for each batch entry. */
  integers(name: string): CallView {
    return this.rowMajorResult(name, this.setting.batchShape, 'int32');
  }

  /** Does the work of a routine, one task for each batch entry. */
  run<K extends RoutineName>(name: K, args: PlannedArguments<FieldsOf<K>>): void {
    runRoutine(this, this.setting.batchShape, name, args);
  }

  /** Checks where the next result is written. */
  #next(
    name: string,
    shape: readonly number[],
    dtype: DType,
  ): { readonly shape: readonly number[]; readonly dtype: DType } {
    const { what, device } = this.setting;
    const { inputs, outs } = this.tensors;
    const place = this.steps.results.length;
    if (this.#targets.names[place] !== name) throw new TypeError(`${what}: ${name} is not next`);
    const out = outs[place];
    if (out === undefined) return { shape, dtype };
    const others = outs.slice(0, place).filter((one) => one !== undefined);
    const over = this.#targets.over[place];
    if (over !== undefined) this.#checkOver(over);
    else checkOut(out, { shape, dtype, device }, inputs, what);
    assertNoOverlap(out, [], what, others);
    return { shape, dtype };
  }

  /** A matrix that the call overwrites has every batch entry itself and shares no memory with the others. */
  #checkOver(name: string): void {
    const { what, batchShape } = this.setting;
    const x = this.tensor(name);
    const own = x.shape.slice(0, -2);
    if (own.length !== batchShape.length || own.some((extent, i) => extent !== batchShape[i])) {
      throw new MercerError(
        'SHAPE_MISMATCH',
        `${what}: ${name} is ${x.label}, which is broadcast to the batch ${formatShape(batchShape)} and so cannot be overwritten. Expand and clone it, or leave the option out.`,
      );
    }
    const others = Object.entries(this.given).flatMap(([other, one]) =>
      other === name ? [] : [one],
    );
    assertNoOverlap(x, others, what);
  }
}
