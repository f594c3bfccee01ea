import type { NcclCommunicator, NcclReduction, NcclType } from '@mercer/cuda-runtime';
import { describeValue, type OptionNames } from '@mercer/options';
import type { DType } from '@mercer/kernels';
import { empty } from '../create.js';
import { regionOf, runNative } from '../cuda/native-work.js';
import type { Device } from '../device.js';
import { MercerError, notDifferentiable } from '../mercer-error.js';
import { pendingOf, whenArrived, type Pending } from '../pending.js';
import { readOptions } from '../read-options.js';
import { isTensor, type Tensor } from '../tensor.js';
import type { TensorOperand } from '../arithmetic/result-types.js';
import { differentiable } from '../trace/differentiable.js';
import type { Value } from '../trace/primitive.js';
import { isTraced } from '../trace/traced-value.js';

/** How elements of all processes become one. */
export type GroupReduction = 'sum' | 'product' | 'maximum' | 'minimum' | 'mean';

/** Options of `group.allReduce`. */
export interface AllReduceOptions {
  /** Default sum. */
  readonly reduction?: GroupReduction | undefined;
}

const OPTIONS: OptionNames<AllReduceOptions> = { reduction: true };

/** Of numbers that NCCL reduces; gathered is memory of any kind. */
const TYPES: Partial<Record<DType, NcclType>> = {
  float64: 'float64',
  float32: 'float32',
  float16: 'float16',
  bfloat16: 'bfloat16',
  int64: 'int64',
  int32: 'int32',
  uint8: 'uint8',
};

const REDUCTIONS: readonly GroupReduction[] = ['sum', 'product', 'maximum', 'minimum', 'mean'];

const LINEAR: readonly GroupReduction[] = ['sum', 'mean'];

/**
 * One process's place in a group of processes, from `joinGroup`. All of them make the same calls in the same order, with tensors of one shape and
 * dtype on their own GPUs. Calls run in the order in which they are made, each after what its tensor waits for, and resolve when the result is there; they
 * cannot be prepared.
 *
 * They are differentiated, to any order: what all processes differentiate together is the sum of what their functions give, and each has the gradients by its own
 * tensors. So where all compute the same loss, each returns it by `size`. A tensor that all of them have alike goes through {@link replicated}, or its gradients are added up by `allReduce`.
 * Derivatives are calls of all processes, too.
 *
 * Where processes call different things each of them rejects with `GROUP_MISMATCH`, nothing is computed, and the group goes on. Where one of them does not
 * come in time, has ended or fails, the others reject with an `NcclError` and the group has ended: later calls reject with `GROUP_ENDED`. Tensors stay as
 * they were.
 */
export class ProcessGroup implements AsyncDisposable {
  readonly size: number;
  readonly rank: number;
  readonly device: Device;
  readonly #communicator: NcclCommunicator;
  #last: Promise<unknown> = Promise.resolve();
  #left: Promise<void> | undefined;

  /** @internal */
  constructor(
    communicator: NcclCommunicator,
    device: Device,
    { size, rank }: { readonly size: number; readonly rank: number },
  ) {
    this.#communicator = communicator;
    this.device = device;
    this.size = size;
    this.rank = rank;
  }

  /**
   * The tensors of all processes, reduced element by element: the same result in each of them. Sums of floating-point numbers are added up in an order that
   * NCCL chooses. Of sums and means the cotangents of all processes are reduced in the same way; other reductions have no derivative.
   *
   * @throws MercerError INVALID_ARGUMENT, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED; CudaError GROUP_MISMATCH, GROUP_ENDED; NcclError
   */
  allReduce<D extends DType>(x: TensorOperand<D>, options?: AllReduceOptions): Pending<Tensor<D>> {
    return pendingOf(() => {
      const { reduction = 'sum' } = readOptions('allReduce', options, OPTIONS);
      if (!REDUCTIONS.includes(reduction)) {
        throw new MercerError(
          'INVALID_ARGUMENT',
          `allReduce: reduction is ${describeValue(reduction)}. Use one of ${REDUCTIONS.join(', ')}.`,
        );
      }
      const call = (own: TensorOperand<D>): Promise<Tensor<D>> =>
        this.#call('allReduce', own, (copy) => this.#reduced(copy, reduction));
      return isTraced(x)
        ? recordedAs('allReduce', x, call, LINEAR.includes(reduction), (cotangent) => {
            if (!LINEAR.includes(reduction)) throw notLinear(reduction);
            return this.allReduce(cotangent, { reduction });
          })
        : call(x);
    });
  }

  /**
   * The tensors of all processes in the order of their ranks: (size, ...shape), the same result in each of them. The gradient of each process is its part of the
   * sum of all cotangents.
   *
   * @throws MercerError INVALID_ARGUMENT, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED; CudaError GROUP_MISMATCH, GROUP_ENDED; NcclError
   */
  allGather<D extends DType>(x: TensorOperand<D>): Pending<Tensor<D>> {
    return pendingOf(() => {
      const call = (own: TensorOperand<D>): Promise<Tensor<D>> =>
        this.#call('allGather', own, (copy) => this.#gathered(copy));
      return isTraced(x)
        ? recordedAs('allGather', x, call, true, (cotangent) =>
            this.allReduce(cotangent).slice(this.rank),
          )
        : call(x);
    });
  }

  /**
   * A tensor that all processes have alike, as it is. Its gradient is the sum of those of all processes, and is alike again: for parameters, and for rows
   * that are not spread.
   *
   * @throws MercerError INVALID_ARGUMENT, DEVICE_MISMATCH, DISPOSED
   *
   * @example
   * ```ts
   * import { grad, type ProcessGroup, type Tensor } from '@mercer/core';
   *
   * // the loss of all rows by weights that all processes have, on each of them
   * const gradientOf = (group: ProcessGroup, rows: Tensor) =>
   *   grad((weights: Tensor) => rows.matmul(group.replicated(weights)).square().sum());
   * ```
   */
  replicated<D extends DType>(x: TensorOperand<D>): Pending<Tensor<D>> {
    return pendingOf(() => {
      const call = (own: TensorOperand<D>): Promise<Tensor<D>> =>
        whenArrived([own], ([given]) => {
          this.#check('replicated', given);
          return Promise.resolve((given as Tensor<D>).view());
        });
      return isTraced(x)
        ? recordedAs('replicated', x, call, true, (cotangent) => this.allReduce(cotangent))
        : call(x);
    });
  }

  /** Leaves the group when the calls made before have ended. All processes close; one that ends without leaves the others waiting. */
  close(): Promise<void> {
    this.#left ??= this.#inTurn(async () => {
      try {
        await this.#communicator.close();
      } finally {
        this.#communicator.dispose();
      }
    });
    return this.#left;
  }

  /** Gives up what is under way: it rejects with `NCCL_ABORTED` here, and elsewhere when the time is over. */
  abort(): void {
    if (this.#left === undefined) this.#communicator.abort();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** One after the other, in the order of the calls. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work, work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  /** A call of all processes with this one's tensor, of which it takes a copy now. */
  #call<D extends DType>(
    what: string,
    x: TensorOperand<D>,
    work: (own: Tensor<D>) => Promise<Tensor<D>>,
  ): Promise<Tensor<D>> {
    if (this.#left !== undefined) {
      throw new MercerError(
        'DISPOSED',
        `group.${what}: the group has been closed. Make calls before close(), or join a new group.`,
      );
    }
    const copy = whenArrived([x], async ([given]) => {
      this.#check(what, given);
      return await (given as Tensor<D>).clone();
    });
    copy.catch(() => undefined);
    return this.#inTurn(async () => {
      using own = await copy;
      return await work(own);
    });
  }

  /** @throws MercerError INVALID_ARGUMENT, DEVICE_MISMATCH, DTYPE_MISMATCH */
  #check(what: string, x: unknown): void {
    if (!isTensor(x)) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `group.${what}: the value is ${describeValue(x)}. Pass a tensor on ${this.device.id}.`,
      );
    }
    x.assertAlive();
    if (x.device !== this.device) {
      throw new MercerError(
        'DEVICE_MISMATCH',
        `group.${what}: the ${x.label} is on ${x.device.id}, and this process's place in the group is ${this.device.id}. Move it with to('${this.device.id}').`,
      );
    }
    if (what === 'allReduce' && TYPES[x.dtype] === undefined) {
      throw new MercerError(
        'DTYPE_MISMATCH',
        `group.allReduce: the tensor is ${x.dtype}, and numbers of ${Object.keys(TYPES).join(', ')} are reduced. Cast it, as with await x.cast('int32').`,
      );
    }
  }

  async #reduced<D extends DType>(own: Tensor<D>, reduction: NcclReduction): Promise<Tensor<D>> {
    const dtype = TYPES[own.dtype] as NcclType;
    const result = own.view();
    try {
      await this.#run('group.allReduce', [], [result], async (stream) => {
        const region = regionOf(result);
        const memory = { count: result.size, input: region, output: region };
        await this.#communicator.allReduce(stream, { dtype, reduction, ...memory });
      });
      return result;
    } catch (error) {
      result.dispose();
      throw error;
    }
  }

  async #gathered<D extends DType>(own: Tensor<D>): Promise<Tensor<D>> {
    const known = TYPES[own.dtype];
    const result = empty([this.size, ...own.shape], { dtype: own.dtype, device: this.device });
    try {
      await this.#run('group.allGather', [own], [result], async (stream) => {
        // what NCCL has no number of is gathered as bytes
        const count = known === undefined ? own.bytes : own.size;
        const memory = { input: regionOf(own), output: regionOf(result) };
        await this.#communicator.allGather(stream, { dtype: known ?? 'uint8', count, ...memory });
      });
      return result;
    } catch (error) {
      result.dispose();
      throw error;
    }
  }

  #run(
    what: string,
    reads: readonly Tensor[],
    writes: readonly Tensor[],
    run: (stream: Parameters<NcclCommunicator['allReduce']>[0]) => Promise<void>,
  ): Promise<void> {
    return runNative(this.device.defaultStream, { what, reads, writes }, ({ stream }) =>
      run(stream),
    );
  }
}

/** A call with a traced value, recorded with its share. */
const recordedAs = <D extends DType>(
  what: string,
  x: TensorOperand<D>,
  call: (x: TensorOperand<D>) => Promise<Tensor<D>>,
  isLinear: boolean,
  share: (cotangent: Tensor) => Value,
): Promise<Tensor<D>> =>
  differentiable<typeof call, readonly [Tensor]>(`group.${what}`, call, {
    vjp: (cotangent) => [() => share(cotangent as Tensor)],
    ...(isLinear && { jvp: 'linear' }),
  })(x);

const notLinear = (reduction: GroupReduction): Error =>
  notDifferentiable(
    'group.allReduce',
    `reduction is ${reduction}, which depends on the elements of other processes`,
    'Gather them with group.allGather, and reduce what it gives along axis 0',
  );
