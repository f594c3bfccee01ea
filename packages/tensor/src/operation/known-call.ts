import type { DType, Scalars } from '@mercer/kernels';
import type { Device, PointerArgument, Stream } from '../device.js';
import { allocateView, coreOf } from '../operations.js';
import { launchProgram, type LoadedProgram } from '../program.js';
import { wrap, type Tensor } from '../tensor.js';

/** The tensors of a call: those that it reads, and those that it writes, undefined where it makes them. */
export interface CallTensors {
  readonly inputs: readonly Tensor[];
  readonly outs: readonly (Tensor | undefined)[];
}

/** Where a kernel of a call finds its memory. */
export type CallPointer =
  /** In an input or a result of the call, `offset` bytes behind its first element. */
  | { readonly kind: 'input' | 'result'; readonly place: number; readonly offset: number }
  /** In a tensor that is the same in every call. */
  | { readonly kind: 'held'; readonly tensor: Tensor; readonly offset: number }
  /** Nowhere: the kernel is given address 0. */
  | { readonly kind: 'none' };

/** The kernels of a program and what a call launches them with. */
export interface CallLaunch {
  readonly program: LoadedProgram<unknown>;
  readonly pointers: Readonly<Record<string, CallPointer>>;
  readonly scalars: Scalars;
}

interface BoundLaunch extends Omit<CallLaunch, 'pointers'> {
  readonly pointers: readonly (readonly [name: string, pointer: CallPointer])[];
}

/** A result that a call makes, row-major. */
export interface ResultSpec {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** A call that was checked, planned and loaded. */
export interface CheckedCall {
  readonly device: Device;
  /** What the call makes for each of `outs` that is not given. */
  readonly results: readonly ResultSpec[];
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
  readonly #launches: readonly BoundLaunch[];
  readonly #held: readonly Tensor[];
  /** Kept alive. */
  readonly holds: object | undefined;

  constructor({ device, results, launches, holds }: CheckedCall) {
    this.device = device;
    this.#results = results;
    this.#launches = launches.map(({ program, pointers, scalars }) => ({
      program,
      scalars,
      pointers: Object.entries(pointers),
    }));
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
  launch({ inputs, outs }: CallTensors, stream: Stream, numbers?: Scalars): Tensor[] | undefined {
    // all before the first launch: nothing is written where one was disposed meanwhile
    for (const one of [...inputs, ...outs]) one?.assertAlive();
    if (this.#held.some(({ disposed }) => disposed)) return undefined;
    if (outs.some((out) => out !== undefined) && this.#sharesMemory(inputs, outs)) return undefined;
    const made: Tensor[] = [];
    const core = coreOf(this.device);
    try {
      const results = outs.map((out, place): Tensor => {
        const spec = this.#results[place];
        if (out !== undefined || spec === undefined) return out as Tensor;
        const result = wrap(allocateView(core, spec.shape, spec.dtype, { stream }), spec.dtype);
        made.push(result);
        return result;
      });
      for (const { program, pointers, scalars } of this.#launches) {
        const bound: Record<string, PointerArgument> = {};
        for (const [name, pointer] of pointers) bound[name] = memoryOf(pointer, inputs, results);
        const all = numbers === undefined ? scalars : { ...scalars, ...numbers };
        launchProgram(program, stream, bound, all);
      }
      return results;
    } catch (error) {
      for (const one of made) one.dispose();
      throw error;
    }
  }

  #sharesMemory(inputs: readonly Tensor[], outs: CallTensors['outs']): boolean {
    const others = [...inputs, ...this.#held].map(({ storage }) => storage);
    for (const out of outs) {
      if (out === undefined) continue;
      const { storage } = out;
      if (others.includes(storage)) return true;
      others.push(storage);
    }
    return false;
  }
}

function memoryOf(
  pointer: CallPointer,
  inputs: readonly Tensor[],
  results: readonly Tensor[],
): PointerArgument {
  if (pointer.kind === 'none') return 0n;
  const tensor =
    pointer.kind === 'held'
      ? pointer.tensor
      : (pointer.kind === 'input' ? inputs : results)[pointer.place];
  if (tensor === undefined) throw new TypeError('a kernel is given a tensor that the call has not');
  if (pointer.offset === 0) return tensor;
  const { storage, byteOffset, dtype } = tensor;
  return { storage, byteOffset: byteOffset + pointer.offset, dtype };
}
