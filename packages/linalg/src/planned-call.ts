import { lapack } from '@mercer/cpu-runtime';
import type { DType } from '@mercer/kernels';
import { MercerError, type Tensor } from '@mercer/tensor';
import {
  assertNoOverlap,
  CallSteps,
  checkOut,
  formatShape,
  pointerAt,
  type CallTensors,
  type CallView,
} from '@mercer/tensor/operation';
import { orderOf, settingOf, type Setting } from './checks.js';
import { cudaRoutine } from './cuda/run-cuda.js';
import { fallbackRoutine } from './fallback/run-fallback.js';
import { columnOperand, matrixOperand, type PlannedMatrix } from './operand.js';
import { scalarsOf, viewsOf, type PlannedArguments } from './routine.js';
import { needsLapack, routines, type FieldsOf, type RoutineName } from './routines.js';

const NOWHERE = { kind: 'none' } as const;

/** Where the results of a call are written. */
export interface Targets {
  /** Their names, in the order in which the plan makes them. */
  readonly names: readonly string[];
  /** For each the place of the matrix that it is written over, if there is one. */
  readonly over: readonly (number | undefined)[];
}

/** A call as its rules plan it: what its matrices have in common, and what is done with them. */
export class PlannedCall {
  readonly setting: Setting;
  /** The matrices as they were given, for checks. */
  readonly matrices: readonly Tensor[];
  readonly tensors: CallTensors;
  readonly steps: CallSteps;
  readonly #names: readonly string[];
  readonly #targets: Targets;

  /**
   * @param vectors how many of the tensors, the last ones, have one axis of their own and not two
   * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
   */
  constructor(
    what: string,
    names: readonly string[],
    tensors: CallTensors,
    targets: Targets,
    vectors = 0,
  ) {
    this.#names = names;
    this.#targets = targets;
    this.tensors = tensors;
    this.matrices = tensors.inputs;
    const named = (from: number, to: number): Record<string, Tensor> =>
      Object.fromEntries(
        names.slice(from, to).map((name, at) => [name, tensors.inputs[from + at] as Tensor]),
      );
    const first = names.length - vectors;
    this.setting = settingOf(what, named(0, first), named(first, names.length));
    this.steps = new CallSteps(this.setting.device, tensors);
  }

  get what(): string {
    return this.setting.what;
  }

  /** The order of the first matrix. @throws MercerError SHAPE_MISMATCH where it is not square */
  order(): number {
    return orderOf(this.what, this.#names[0] ?? '', this.matrices[0] as Tensor);
  }

  /** A matrix that the call reads. */
  operand(place: number): PlannedMatrix {
    return matrixOperand(this.steps.input(place), this.setting.batchShape);
  }

  /** The next result: the batch axes, then these. @throws MercerError as `checkOut` does */
  matrix(name: string, rows: number, columns: number): PlannedMatrix {
    const { batchShape, dtype } = this.setting;
    const spec = this.#next(name, [rows, columns], dtype);
    return matrixOperand(this.steps.result(spec), batchShape);
  }

  /** The next result: the batch axes, then one more of any stride. */
  vector(name: string, extent: number): CallView {
    return this.steps.result(this.#next(name, [extent], this.setting.dtype));
  }

  /** The next result: the batch axes, then one more, which a routine sees as a column. */
  column(name: string, rows: number): PlannedMatrix {
    const { batchShape, dtype } = this.setting;
    const spec = this.#next(name, [rows], dtype);
    return columnOperand(this.steps.rowMajorResult(spec), batchShape);
  }

  /** The next result: one number for each batch entry. */
  numbers(name: string): CallView {
    return this.steps.rowMajorResult(this.#next(name, [], this.setting.dtype));
  }

  /** The next result: one integer for each batch entry. */
  integers(name: string): CallView {
    return this.steps.rowMajorResult(this.#next(name, [], 'int32'));
  }

  /** Does the work of a routine, one task for each batch entry. */
  run<K extends RoutineName>(name: K, args: PlannedArguments<FieldsOf<K>>): void {
    const { device, dtype, batchShape } = this.setting;
    const routine = routines[name];
    const views = Object.entries(viewsOf(routine, args));
    const step = {
      values: 0,
      pointers: Object.fromEntries(
        views.map(([field, view]) => [field, view === undefined ? NOWHERE : pointerAt(view)]),
      ),
      scalars: scalarsOf(routine, args, batchShape),
    };
    const kernel = routine.kernels[dtype];
    if (device.kind === 'cuda') {
      this.steps.addRoutine(`${name} ${dtype}`, cudaRoutine(name, this.setting, args), step);
    } else if (needsLapack(name) && !lapack.isAvailable()) {
      this.steps.addRoutine(`${name} ${dtype}`, fallbackRoutine(name, this.setting, args), step);
    } else {
      this.steps.addKernel(kernel.name, kernel, step);
    }
  }

  /** Checks where the next result is written. */
  #next(
    name: string,
    extents: readonly number[],
    dtype: DType,
  ): { readonly shape: readonly number[]; readonly dtype: DType } {
    const { what, device, batchShape } = this.setting;
    const { inputs, outs } = this.tensors;
    const place = this.steps.results.length;
    if (this.#targets.names[place] !== name) throw new TypeError(`${what}: ${name} is not next`);
    const shape = [...batchShape, ...extents];
    const out = outs[place];
    if (out === undefined) return { shape, dtype };
    const others = outs.slice(0, place).filter((one) => one !== undefined);
    const over = this.#targets.over[place];
    if (over !== undefined) this.#checkOver(over, out);
    else checkOut(out, { shape, dtype, device }, inputs, what);
    assertNoOverlap(out, [], what, others);
    return { shape, dtype };
  }

  /** A matrix that the call overwrites has every batch entry itself and shares no memory with the others. */
  #checkOver(over: number, x: Tensor): void {
    const { what, batchShape } = this.setting;
    const own = x.shape.slice(0, -2);
    if (own.length !== batchShape.length || own.some((extent, i) => extent !== batchShape[i])) {
      throw new MercerError(
        'SHAPE_MISMATCH',
        `${what}: ${this.#names[over]} is ${x.label}, which is broadcast to the batch ${formatShape(batchShape)} and so cannot be overwritten. Expand and clone it, or leave the option out.`,
      );
    }
    const others = this.tensors.inputs.filter((_, place) => place !== over);
    assertNoOverlap(x, others, what);
  }
}
