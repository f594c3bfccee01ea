import { own } from '@mercer/options';
import { dtypeBytes, type DType, type Scalars } from '@mercer/kernels';
import type { Device, PointerArgument, Stream } from '../device.js';
import { allocateView, coreOf } from '../operations.js';
import { launchProgram, type LoadedProgram } from '../program.js';
import { streamFor } from '../stream-core.js';
import { wrap, type Tensor } from '../tensor.js';

/** The tensors of a call: those that it reads, and those that it writes, undefined where it makes them. */
export interface CallTensors {
  readonly inputs: readonly Tensor[];
  readonly outs: readonly (Tensor | undefined)[];
}

/** The lists in which a call has its tensors: scratch memory is its own, and returns to the pool behind its launches. */
export type CallPart = 'input' | 'result' | 'scratch';

/** Where a kernel of a call finds its memory. */
export type CallPointer =
  /** In an input, a result or scratch memory of the call, `offset` bytes behind its first element. */
  | { readonly kind: CallPart; readonly place: number; readonly offset: number }
  /** In a tensor that is the same in every call. */
  | { readonly kind: 'held'; readonly tensor: Tensor; readonly offset: number }
  /** Nowhere: the kernel is given address 0. */
  | { readonly kind: 'none' };

/** The kernels of a program and what a call launches them with. */
export interface CallLaunch {
  readonly program: LoadedProgram<unknown>;
  readonly pointers: Readonly<Record<string, CallPointer>>;
  readonly scalars: Scalars;
  /** A row-major tensor on a GPU, whose elements are set to 0 before. */
  readonly zeroed?: { readonly kind: CallPart; readonly place: number } | undefined;
}

interface BoundLaunch extends Omit<CallLaunch, 'pointers'> {
  readonly pointers: readonly (readonly [name: string, pointer: CallPointer])[];
}

/** A tensor that a call makes, row-major. */
export interface ResultSpec {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** A call that was checked, planned and loaded. */
export interface CheckedCall {
  readonly device: Device;
  /** What the call makes for each of `outs` that is not given. */
  readonly results: readonly ResultSpec[];
  /** Memory that is only needed between launches of the call. */
  readonly scratch?: readonly ResultSpec[] | undefined;
  readonly launches: readonly CallLaunch[];
  /** What has to live as long as the call is remembered. */
  readonly holds?: object | undefined;
}

/**
 * What is left to do for a call whose tensors lie as those of one that was checked: its results are made and its kernels launched.
 * Two calls of an operation with the same options and `layoutKey` are alike, but for memory that outputs share.
 */
export class KnownCall {
  readonly device: Device;
  readonly #results: readonly ResultSpec[];
  readonly #scratch: readonly ResultSpec[];
  readonly #launches: readonly BoundLaunch[];
  readonly #held: readonly Tensor[];
  /** Kept alive. */
  readonly holds: object | undefined;

  constructor(checked: CheckedCall) {
    const names = ['device', 'results', 'scratch', 'launches', 'holds'] as const;
    const { device, results, scratch = [], launches, holds } = own(checked, ...names);
    this.device = device;
    this.#results = results;
    this.#scratch = scratch;
    this.#launches = launches.map((one) => {
      const { zeroed } = own(one, 'zeroed');
      return { ...one, zeroed, pointers: Object.entries(one.pointers) };
    });
    this.holds = holds;
    const pointers = launches.flatMap((one) => Object.values(one.pointers));
    this.#held = pointers.flatMap((one) => (one.kind === 'held' ? [one.tensor] : []));
  }

  /**
   * Enqueues the call and gives its results, those of `outs` among them. Undefined, with nothing done, where outputs share memory
   * with another tensor of the call, or what the call holds was disposed: the checks tell what is allowed.
   *
   * @param numbers scalars that differ from call to call, by their names in the kernels
   * @throws MercerError DISPOSED, OUT_OF_MEMORY, and as launches do
   */
  launch(tensors: CallTensors, stream: Stream, numbers?: Scalars): Tensor[] | undefined {
    const { inputs, outs } = tensors;
    if (this.#held.some(({ disposed }) => disposed)) return undefined;
    if (outs.some((out) => out !== undefined) && this.#sharesMemory(inputs, outs)) return undefined;
    return this.launchChecked(tensors, stream, numbers);
  }

  /** The same for a call whose checks were made, and which holds nothing. @throws as `launch` */
  launchChecked({ inputs, outs }: CallTensors, stream: Stream, numbers?: Scalars): Tensor[] {
    // all before the first launch: nothing is written where one was disposed meanwhile
    for (const one of [...inputs, ...outs]) one?.assertAlive();
    const made: Tensor[] = [];
    const scratch: Tensor[] = [];
    const make = ({ shape, dtype }: ResultSpec, into: Tensor[]): Tensor => {
      const result = wrap(allocateView(coreOf(this.device), shape, dtype, { stream }), dtype);
      into.push(result);
      return result;
    };
    try {
      const results = outs.map((out, place): Tensor => {
        const spec = this.#results[place];
        return out !== undefined || spec === undefined ? (out as Tensor) : make(spec, made);
      });
      for (const spec of this.#scratch) make(spec, scratch);
      const parts = { input: inputs, result: results, scratch };
      for (const { program, pointers, scalars, zeroed } of this.#launches) {
        if (zeroed !== undefined) setZero(parts[zeroed.kind][zeroed.place], stream);
        const bound: Record<string, PointerArgument> = {};
        for (const [name, pointer] of pointers) bound[name] = memoryOf(pointer, parts);
        const all = numbers === undefined ? scalars : { ...scalars, ...numbers };
        launchProgram(program, stream, bound, all);
      }
      return results;
    } catch (error) {
      for (const one of made) one.dispose();
      throw error;
    } finally {
      for (const one of scratch) one.dispose();
    }
  }

  /** An output that is one of the inputs, handle and all, was allowed by the checks: keys of layouts tell such calls apart. */
  #sharesMemory(inputs: readonly Tensor[], outs: CallTensors['outs']): boolean {
    const others: Tensor[] = [...inputs, ...this.#held];
    for (const out of outs) {
      if (out === undefined) continue;
      if (others.some((one) => one !== out && one.storage === out.storage)) return true;
      others.push(out);
    }
    return false;
  }
}

function memoryOf(
  pointer: CallPointer,
  parts: Readonly<Record<CallPart, readonly Tensor[]>>,
): PointerArgument {
  if (pointer.kind === 'none') return 0n;
  const tensor = pointer.kind === 'held' ? pointer.tensor : parts[pointer.kind][pointer.place];
  if (tensor === undefined) throw new TypeError('a kernel is given a tensor that the call has not');
  if (pointer.offset === 0) return tensor;
  const { storage, byteOffset, dtype } = tensor;
  return { storage, byteOffset: byteOffset + pointer.offset, dtype };
}

function setZero(to: Tensor | undefined, stream: Stream): void {
  if (to === undefined || to.size === 0) return;
  const { storage, byteOffset, size, dtype, device } = to;
  const queue = streamFor(device, stream, 'set to 0');
  storage.beforeWrite(queue);
  if (!coreOf(device).memset(storage, byteOffset, size, dtypeBytes(dtype), 0n, queue)) {
    throw new Error('only a GPU sets memory of any size to 0 without a kernel');
  }
  storage.noteWrite(queue);
}
