import {
  dtypeBytes,
  planCopy,
  planFill,
  type DType,
  type KernelProgram,
  type LaunchableKernel,
  type Scalars,
} from '@mercer/kernels';
import { own } from '@mercer/options';
import { sizeOfShape } from '../checked-size.js';
import type { Device } from '../device.js';
import type { DeviceCore } from '../device-core.js';
import { elementKernel, patternOf, patternScalars } from '../elementwise.js';
import type { CallLoadOptions } from '../executable.js';
import { rowMajorStrides, type Layout } from '../layout.js';
import { coreOf } from '../operations.js';
import { loadPlan, loadProblem, type LoadedProgram, type ProgramProblem } from '../program.js';
import type { Tensor } from '../tensor.js';
import { broadcastLayout } from '../views.js';
import type { CallRoutine } from './call-routine.js';
import type { CallPart, CallPointer, CallTensors, ResultSpec } from './known-call.js';

/** Elements of a tensor of a call, as its kernels see them; `offset` counts from the tensor's first element. */
export interface CallView extends Layout {
  readonly kind: CallPart;
  readonly place: number;
  readonly dtype: DType;
}

/** A program of a step, loaded, and what each of its launches takes whatever the call is. */
export interface LoadedPart {
  readonly program: LoadedProgram<unknown>;
  /** By the names of the pointers: tensors that were made for this program, such as tables that fit its plan. */
  readonly tables: Readonly<Record<string, Tensor>>;
  readonly scalars: Scalars;
}

/** What a program of a call is launched with. */
export interface StepLaunch {
  readonly pointers: Readonly<Record<string, CallPointer>>;
  readonly scalars: Scalars;
  /** Row-major memory of a GPU that is set to 0 before. */
  readonly zeroed?: CallView | undefined;
  /** What is called with the pointers and scalars instead of kernels. */
  readonly routine?: CallRoutine | undefined;
}

/** Programs that a step can be launched with. */
export interface StepPrograms {
  /** What two steps share exactly when a prepared call may launch the kernels of one for the other. */
  readonly program: string;
  /** What that text names by an id which is only unique while it lives; holds no tensor. */
  readonly holds?: object | undefined;
  /** Loads the programs. Tensors that are made for them are pushed to `made`, whose owner disposes them. */
  load(options: CallLoadOptions, made: Tensor[]): Promise<readonly LoadedPart[]>;
}

/** Programs of a call and what they are launched with. */
export interface CallStep extends StepPrograms {
  /** How many values it computes. */
  readonly values: number;
  /** Which of its programs computes each result of the call, by place, where results tell their plan: `planOf`. */
  readonly tells?:
    ((parts: readonly LoadedPart[]) => readonly (LoadedPart | undefined)[]) | undefined;
  /** What each of them is launched with. @throws MercerError where the call does not go with what was loaded */
  launches(parts: readonly LoadedPart[]): readonly StepLaunch[];
}

/** A kernel, and a text that two of them share exactly when they are the same. */
export interface KeyedKernel {
  readonly key: string;
  readonly kernel: LaunchableKernel;
}

/** How a step of one program is launched. */
export interface StepArguments extends StepLaunch, Pick<CallStep, 'values'> {}

/** What prepared calls make of a step of one program. */
export interface ProgramUse extends Pick<CallStep, 'tells'> {
  /** What steps share whose kernels may be launched for each other; default: the problem's key. */
  readonly program?: string | undefined;
}

/**
 * What a call of an operation does, written down before anything is loaded or enqueued: its results, its scratch memory and its
 * launches in their order. Copies of what kernels cannot read or write as it lies are launches too.
 */
export class CallSteps {
  readonly device: DeviceCore;
  readonly results: ResultSpec[] = [];
  readonly scratch: ResultSpec[] = [];
  readonly #steps: CallStep[] = [];
  readonly #last: CallStep[] = [];
  readonly #others: (() => readonly StepPrograms[])[] = [];
  readonly #tensors: CallTensors;

  /** @param tensors whose places views and pointers name */
  constructor(device: Device, tensors: CallTensors) {
    this.device = coreOf(device);
    this.#tensors = tensors;
  }

  get steps(): readonly CallStep[] {
    return [...this.#steps, ...this.#last];
  }

  /** Programs that a preparation loads beside those of the steps, for later calls that are launched with these instead. */
  get others(): readonly StepPrograms[] {
    return this.#others.flatMap((programs) => programs());
  }

  /** The input at a place, as it lies. */
  input(place: number): CallView {
    return viewOf('input', place, this.#tensors.inputs[place] as Tensor);
  }

  /** A row-major copy of the input at a place. */
  rowMajorCopy(place: number): CallView {
    const from = this.input(place);
    const to = this.scratchMemory(from);
    this.copy(from, to);
    return to;
  }

  /** The next result, as `out` lies where it is given. */
  result(spec: ResultSpec): CallView {
    const place = this.results.push(spec) - 1;
    const out = this.#tensors.outs[place];
    return out === undefined ? rowMajor('result', place, spec) : viewOf('result', place, out);
  }

  /**
   * The next result, row-major and of the dtype that kernels write: where the result or `out` is not, it is scratch memory that is
   * copied there in the end.
   */
  rowMajorResult(spec: ResultSpec, written: DType = spec.dtype): CallView {
    const to = this.result(spec);
    const lies = this.#tensors.outs[to.place]?.isContiguous !== false;
    if (lies && written === spec.dtype) return to;
    const from = this.scratchMemory({ shape: spec.shape, dtype: written });
    if (sizeOfShape(spec.shape) > 0) this.#last.push(this.#copyStep(from, to));
    return from;
  }

  /**
   * A matrix (..batch, rows, columns) as a kernel can read it: itself where `read` gives an operand, or a row-major copy, in which a
   * batch that it cannot read is spelled out.
   *
   * @param memory where a copy goes
   * @param ownAxes how many of the last axes are no batch axes
   */
  readable<O>(
    view: CallView,
    read: (view: Layout) => O | undefined,
    batchShape: readonly number[],
    memory = (spec: ResultSpec): CallView => this.scratchMemory(spec),
    ownAxes = 2,
  ): { readonly view: CallView; readonly operand: O } {
    const direct = read(view);
    if (direct !== undefined) return { view, operand: direct };
    const packed = { shape: view.shape, strides: rowMajorStrides(view.shape), offset: 0 };
    const spread = [...batchShape, ...view.shape.slice(-ownAxes)];
    const to = this.spreadCopy(view, read(packed) === undefined ? spread : view.shape, memory);
    const operand = read(to);
    if (operand === undefined) throw new Error('a row-major copy is always readable');
    return { view: to, operand };
  }

  /** A row-major copy of a view that is broadcast to a shape. */
  spreadCopy(
    view: CallView,
    shape: readonly number[],
    memory = (spec: ResultSpec): CallView => this.scratchMemory(spec),
  ): CallView {
    const from = { ...view, ...broadcastLayout(view, shape) };
    const to = memory({ shape: from.shape, dtype: from.dtype });
    this.copy(from, to);
    return to;
  }

  /** Launches of what a step loads. */
  add(step: CallStep): void {
    const { tells } = own(step, 'tells');
    this.#steps.push({ ...step, tells });
  }

  /** See {@link CallSteps.others}. */
  alsoPrepare(programs: StepPrograms): void {
    this.#others.push(() => [programs]);
  }

  /** The same for the program of a problem. */
  alsoPrepareProgram<P extends object>(program: string, problem: ProgramProblem<P>): void {
    this.alsoPrepare({ program, load: loadsOne(this.#loading(problem)) });
  }

  /** What some work gives and the launches that it adds, which can be added again. */
  recorded<T>(work: () => T): readonly [given: T, added: readonly CallStep[]] {
    const from = this.#steps.length;
    const given = work();
    return [given, this.#steps.slice(from)];
  }

  /** Elements of a row-major view from one on, in another shape. */
  rowMajorView(view: CallView, shape: readonly number[], from: number): CallView {
    return { ...view, shape, strides: rowMajorStrides(shape), offset: view.offset + from };
  }

  /** Row-major memory that is only needed during the call. */
  scratchMemory({ shape, dtype }: ResultSpec): CallView {
    return rowMajor('scratch', this.scratch.push({ shape, dtype }) - 1, { shape, dtype });
  }

  /**
   * A launch of one kernel.
   *
   * @param key a text that two kernels share exactly when they are the same
   * @param others those that calls of other sizes take, which are prepared beside it
   */
  addKernel(
    key: string,
    kernel: LaunchableKernel,
    step: StepArguments,
    others: () => readonly KeyedKernel[] = () => [],
  ): void {
    this.#steps.push(this.#kernelStep(key, kernel, step));
    this.#others.push(() =>
      others().map((one) => ({
        program: one.key,
        load: loadsOne(this.#loadingKernel(one.kernel)),
      })),
    );
  }

  /** Launches of the program of a plan that the interpreter would not change. @param key a text that two plans share exactly when they are the same */
  addPlan<P extends object>(
    key: string,
    plan: P,
    emit: (plan: P) => KernelProgram<LaunchableKernel>,
    step: StepArguments,
  ): void {
    this.#steps.push(stepOf(key, (options) => loadPlan(this.device, plan, emit, options), step));
  }

  /** Launches of the program of a problem. */
  addProgram<P extends object>(
    problem: ProgramProblem<P>,
    step: StepArguments,
    use: ProgramUse = ITSELF,
  ): void {
    const { program, tells } = own(use, 'program', 'tells');
    this.#steps.push({
      ...stepOf(program ?? problem.key, this.#loading(problem), step),
      tells,
    });
  }

  /**
   * A call of a routine, with tensors of the call as they lie.
   *
   * @param key a text that two routines share exactly when they are the same
   */
  addRoutine(key: string, routine: CallRoutine, { values, ...launch }: StepArguments): void {
    this.add({
      program: key,
      values,
      load: async (options) => {
        // A call loads on the way what it comes to need.
        if (!Object.hasOwn(options, 'values')) await routine.prepare(options);
        return [partOf(NO_KERNELS)];
      },
      launches: () => [{ ...launch, routine }],
    });
  }

  #loading<P extends object>(problem: ProgramProblem<P>): LoadProgram {
    return (options) => loadProblem(this.device, problem, options);
  }

  /** Copies elements, converted, to a view of the same shape. */
  copy(from: CallView, to: CallView): void {
    if (sizeOfShape(to.shape) > 0) this.#steps.push(this.#copyStep(from, to));
  }

  /** Scratch memory that holds one number, which a launch of its own writes. */
  number(value: number, dtype: DType): CallView {
    const to = this.scratchMemory({ shape: [1], dtype });
    this.fill(to, patternOf(value, dtype, 'a number'));
    return to;
  }

  /** Writes the bits of one element to every element of a view. */
  fill(to: CallView, pattern: bigint): void {
    const values = sizeOfShape(to.shape);
    if (values === 0) return;
    const { plan, scalars, dstOffset } = planFill(to);
    const kernel = elementKernel(plan, this.device.kind);
    const step = this.#kernelStep(`fill ${JSON.stringify(plan)}`, kernel, {
      values,
      pointers: { dst: pointerAt(to, dstOffset) },
      scalars: { ...scalars, ...patternScalars(pattern) },
    });
    this.#steps.push(step);
  }

  #copyStep(from: CallView, to: CallView): CallStep {
    const { plan, scalars, srcOffset, dstOffset } = planCopy({
      from: from.dtype,
      to: to.dtype,
      shape: to.shape,
      srcStrides: from.strides,
      dstStrides: to.strides,
    });
    const pointers = { src: pointerAt(from, srcOffset), dst: pointerAt(to, dstOffset) };
    const kernel = elementKernel(plan, this.device.kind);
    return this.#kernelStep(`copy ${JSON.stringify(plan)}`, kernel, {
      values: sizeOfShape(to.shape),
      pointers,
      scalars,
    });
  }

  #kernelStep(program: string, kernel: LaunchableKernel, step: StepArguments): CallStep {
    return stepOf(program, this.#loadingKernel(kernel), step);
  }

  #loadingKernel(kernel: LaunchableKernel): LoadProgram {
    return async (options) => {
      const loaded = await this.device.loadForCall(kernel, options);
      const pointers = kernel.params.flatMap(({ kind, name }) =>
        kind === 'pointer' ? [name] : [],
      );
      return { plan: {}, program: alone(kernel), steps: [{ kernel: loaded, pointers }] };
    };
  }
}

type LoadProgram = (options: CallLoadOptions) => Promise<LoadedProgram<unknown>>;

const loadsOne =
  (load: LoadProgram): StepPrograms['load'] =>
  async (options) => [partOf(await load(options))];

/** A step of one program. */
const stepOf = (
  program: string,
  load: LoadProgram,
  { values, ...launch }: StepArguments,
): CallStep => ({
  program,
  values,
  load: loadsOne(load),
  launches: () => [launch],
  tells: undefined,
});

const ITSELF = Object.freeze({});

/** A program that takes nothing beside the call's own. */
export const partOf = (program: LoadedProgram<unknown>): LoadedPart => ({
  program,
  tables: NOTHING,
  scalars: NOTHING,
});

const NOTHING = Object.freeze({});

const NO_KERNELS: LoadedProgram<unknown> = Object.freeze({
  plan: {},
  program: { steps: [], workspaceBytes: () => 0 },
  steps: [],
});

const alone = (kernel: LaunchableKernel): LoadedProgram<unknown>['program'] => ({
  steps: [{ kernel }],
  workspaceBytes: () => 0,
});

const viewOf = (kind: CallPart, place: number, { shape, strides, dtype }: Tensor): CallView => ({
  kind,
  place,
  dtype,
  shape,
  strides,
  offset: 0,
});

const rowMajor = (kind: CallPart, place: number, { shape, dtype }: ResultSpec): CallView => ({
  kind,
  place,
  dtype,
  shape,
  strides: rowMajorStrides(shape),
  offset: 0,
});

/** The memory of a view, `extra` elements behind its start. */
export function pointerAt({ kind, place, dtype, offset }: CallView, extra = 0): CallPointer {
  return { kind, place, offset: (offset + extra) * dtypeBytes(dtype) };
}
