import type { DType, ScalarType } from '@mercer/kernels';
import type { TensorOperand } from '../arithmetic/result-types.js';
import type { DeviceLike, LoadOptions } from '../device.js';
import type { Pending } from '../pending.js';
import type { OutOption, Tensor } from '../tensor.js';

/** One parameter of an {@link unsafeKernel}. */
export type UnsafeParameter =
  /** A tensor that the kernel reads: a pointer to constant elements, row-major. */
  | { readonly input: DType }
  /** A tensor that it writes: a pointer to elements, row-major. */
  | { readonly output: DType }
  /** A number of the call, by value. */
  | { readonly scalar: ScalarType }
  /** A number that follows from the others, by value: `sizes` says how. */
  | { readonly size: 'int32' | 'int64' };

/** The parameters of an {@link unsafeKernel} by name, in the order of the kernel's signature. */
export type UnsafeParameters = Readonly<Record<string, UnsafeParameter>>;

/** The names of parameters of some kinds. */
type NamesOf<P extends UnsafeParameters, Kind extends string> = {
  [K in keyof P]: P[K] extends Readonly<Record<Kind, unknown>> ? K : never;
}[keyof P] &
  string;

type ByKind<P extends UnsafeParameters, Kind extends string> = Kind extends string
  ? NamesOf<P, Kind>
  : never;

/** What rules know of a tensor of a call. */
export interface UnsafeExtents {
  readonly shape: readonly number[];
  /** The number of elements. */
  readonly size: number;
}

/** What `sizes` knows of a call: extents of the inputs, and scalars. */
export type UnsafeGiven<P extends UnsafeParameters> = {
  readonly [K in NamesOf<P, 'input'>]: UnsafeExtents;
} & { readonly [K in NamesOf<P, 'scalar'>]: number };

/** What `sizes` gives: shapes of outputs, which may be left out where each call brings an `out`, and the parameters that are sizes. */
export type UnsafeSizes<P extends UnsafeParameters> = {
  readonly [K in NamesOf<P, 'output'>]?: readonly number[];
} & { readonly [K in NamesOf<P, 'size'>]: number };

/** What `launch` knows of a call: extents of all tensors, and all numbers. */
export type UnsafeCall<P extends UnsafeParameters> = {
  readonly [K in ByKind<P, 'input' | 'output'>]: UnsafeExtents;
} & { readonly [K in ByKind<P, 'scalar' | 'size'>]: number };

/** One extent, or up to three; those that are left out are 1. */
export type UnsafeGrid = number | readonly [x: number, y?: number, z?: number];

/** How a call is launched. */
export interface UnsafeLaunch {
  /** Blocks; with 0 nothing is launched. */
  readonly grid: UnsafeGrid;
  /** Threads of a block. */
  readonly block: UnsafeGrid;
  /** Dynamic shared memory of a block; default 0. */
  readonly sharedBytes?: number | undefined;
  /** On a CPU: how many tasks there are, which its threads take in ranges. Only needed with a text for the CPU. */
  readonly tasks?: number | undefined;
}

/** The body of a kernel, or a body and what stands before the kernel: functions, constants, includes. */
export type UnsafeText = string | { readonly helpers: string; readonly body: string };

/** What {@link unsafeKernel} makes a function of. */
export interface UnsafeKernelDefinition<P extends UnsafeParameters = UnsafeParameters> {
  /** An identifier of C, for messages, profiles and the compiler's complaints; default `kernel`. */
  readonly name?: string | undefined;
  readonly parameters: P;
  /** CUDA C++. */
  readonly cuda: UnsafeText;
  /** Host C++ that computes the tasks from `begin` to `end`, both `i64`. Without it calls on a CPU are refused. */
  readonly cpu?: UnsafeText | undefined;
  /** Must give the same for the same extents and scalars. */
  readonly sizes?: ((given: UnsafeGiven<P>) => UnsafeSizes<P>) | undefined;
  /** Must give the same for the same extents and numbers. */
  readonly launch: (call: UnsafeCall<P>) => UnsafeLaunch;
}

/** What a call is given: a tensor for each input and a number for each scalar, by name. */
export type UnsafeArguments<P extends UnsafeParameters> = {
  readonly [K in ByKind<P, 'input' | 'scalar'>]: P[K] extends { readonly input: infer D }
    ? TensorOperand<D & DType>
    : number;
};

type OutputOf<Q> = Q extends { readonly output: infer D } ? Tensor<D & DType> : never;

type IsUnion<T, U = T> = [T] extends [never]
  ? false
  : T extends unknown
    ? [U] extends [T]
      ? false
      : true
    : never;

/** The only output of a call, or its outputs by name. */
export type UnsafeResults<P extends UnsafeParameters> =
  IsUnion<NamesOf<P, 'output'>> extends true
    ? { readonly [K in NamesOf<P, 'output'>]: OutputOf<P[K]> }
    : OutputOf<P[NamesOf<P, 'output'>]>;

/** Options of a prepared call. */
export interface PreparedUnsafeOptions<P extends UnsafeParameters> extends Omit<OutOption, 'out'> {
  /**
   * Takes the only output, or outputs by name: row-major tensors that share no memory with each other or the inputs. The kernel may read
   * what they hold; outputs that the call makes hold anything before it writes them.
   */
  readonly out?:
    (UnsafeResults<P> extends Tensor ? UnsafeResults<P> : Partial<UnsafeResults<P>>) | undefined;
}

/** Options of a call. */
export interface UnsafeOptions<P extends UnsafeParameters>
  extends PreparedUnsafeOptions<P>, LoadOptions {
  /** Where a call runs that is given no tensor; with tensors it has to be theirs. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

/** A kernel of a user as a function. */
export interface UnsafeKernel<P extends UnsafeParameters> {
  (
    args: UnsafeArguments<P>,
    options?: UnsafeOptions<P>,
  ): UnsafeResults<P> extends Tensor ? Pending<UnsafeResults<P>> : Promise<UnsafeResults<P>>;
  /** Compiles for tensors like these and gives a synchronous function, for all sizes and scalars. */
  readonly prepare: (
    args: UnsafeArguments<P>,
    options?: UnsafeOptions<P>,
  ) => Promise<(args: UnsafeArguments<P>, options?: PreparedUnsafeOptions<P>) => UnsafeResults<P>>;
}
