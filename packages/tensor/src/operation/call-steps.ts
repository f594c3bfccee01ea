import {
  dtypeBytes,
  planCopy,
  type DType,
  type EmittedKernel,
  type Scalars,
} from '@mercer/kernels';
import { sizeOfShape } from '../checked-size.js';
import type { DeviceCore } from '../device-core.js';
import { elementKernel } from '../elementwise.js';
import type { CallLoadOptions } from '../executable.js';
import { rowMajorStrides, type Layout } from '../layout.js';
import { loadProblem, type LoadedProgram, type ProgramProblem } from '../program.js';
import type { Tensor } from '../tensor.js';
import type { CallPart, CallPointer, CallTensors, ResultSpec } from './known-call.js';

/** Elements of a tensor of a call, as its kernels see them; `offset` counts from the tensor's first element. */
export interface CallView extends Layout {
  readonly kind: CallPart;
  readonly place: number;
  readonly dtype: DType;
}

/** A program of a call and what it is launched with. */
export interface CallStep {
  /** What two steps share exactly when they are launches of the same kernels on a device. */
  readonly program: string;
  readonly load: (options: CallLoadOptions) => Promise<LoadedProgram<unknown>>;
  /** How many values it computes. */
  readonly values: number;
  readonly pointers: Readonly<Record<string, CallPointer>>;
  readonly scalars: Scalars;
  /** Row-major memory of a GPU that is set to 0 before. */
  readonly zeroed?: CallView | undefined;
}

/** How a step is launched. */
export type StepArguments = Pick<CallStep, 'values' | 'pointers' | 'scalars' | 'zeroed'>;

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
  readonly #tensors: CallTensors;

  /** @param tensors whose places views and pointers name */
  constructor(device: DeviceCore, tensors: CallTensors) {
    this.device = device;
    this.#tensors = tensors;
  }

  get steps(): readonly CallStep[] {
    return [...this.#steps, ...this.#last];
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

  /** The next result, row-major: where `out` is not, it is scratch memory that is copied there in the end. */
  rowMajorResult(spec: ResultSpec): CallView {
    const to = this.result(spec);
    if (this.#tensors.outs[to.place]?.isContiguous !== false) return to;
    const from = this.scratchMemory(spec);
    if (sizeOfShape(spec.shape) > 0) this.#last.push(this.#copyStep(from, to));
    return from;
  }

  /** Row-major memory that is only needed during the call. */
  scratchMemory({ shape, dtype }: ResultSpec): CallView {
    return rowMajor('scratch', this.scratch.push({ shape, dtype }) - 1, { shape, dtype });
  }

  /** A launch of one kernel. @param key a text that two kernels share exactly when they are the same */
  addKernel(key: string, kernel: EmittedKernel, step: StepArguments): void {
    this.#steps.push(this.#kernelStep(key, kernel, step));
  }

  /** Launches of the program of a problem. */
  addProgram<P extends object>(problem: ProgramProblem<P>, step: StepArguments): void {
    const load: CallStep['load'] = (options) => loadProblem(this.device, problem, options);
    this.#steps.push({ program: problem.key, load, ...step });
  }

  /** Copies elements, converted, to a view of the same shape. */
  copy(from: CallView, to: CallView): void {
    if (sizeOfShape(to.shape) > 0) this.#steps.push(this.#copyStep(from, to));
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

  #kernelStep(program: string, kernel: EmittedKernel, step: StepArguments): CallStep {
    const load: CallStep['load'] = async (options) => {
      const loaded = await this.device.loadForCall(kernel, options);
      const pointers = kernel.params.flatMap(({ kind, name }) =>
        kind === 'pointer' ? [name] : [],
      );
      return { plan: {}, program: alone(kernel), steps: [{ kernel: loaded, pointers }] };
    };
    return { program, load, ...step };
  }
}

const alone = (kernel: EmittedKernel): LoadedProgram<unknown>['program'] => ({
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
