import type { PairwiseDType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import type {
  DeviceLike,
  LoadOptions,
  OutOption,
  ShardOptions,
  Tensor,
  TensorSource,
} from '@mercer/tensor';
import { LOAD_OPTIONS, OUT_OPTION, SHARD_OPTIONS } from '@mercer/tensor/operation';
import type { CustomKernel } from './custom-kernel.js';
import type { KernelDescriptor } from './descriptor-types.js';

/**
 * A value of a call: a number, or a tensor of the data's dtype and device with one value ([] or [1]) or with a shape that
 * broadcasts with the batch axes. A tensor is read by the kernel; nothing waits for it.
 */
export type ParameterValue<D extends PairwiseDType = PairwiseDType> = number | Tensor<D>;

/** Options that every descriptor takes; `out` has shape (..., M, N), the inputs' dtype and device, and shares no memory with them; see `cdist` for what lies elsewhere. */
export interface PairwiseCallOptions<D extends PairwiseDType = PairwiseDType, O = Tensor<D>>
  extends Omit<OutOption<D>, 'out'>, LoadOptions, ShardOptions {
  /** Takes the result. */
  readonly out?: O | undefined;
  /**
   * Regularises the diagonal, the elements with m + x = n + y: a kernel of differences that is 1 between equal rows becomes
   * 1 + r there (Kermac's convention), to all others r is added.
   */
  readonly regularization?: ParameterValue<D> | undefined;
  /** x and y: rows and columns in front of this tile of a larger matrix. Default [0, 0]. */
  readonly regularizationOffset?: readonly [x: number, y: number] | undefined;
  /**
   * Features are multiplied by this before anything else: a number, a tensor (K) with one factor per feature, or (..., K)
   * with one per batch entry and feature.
   */
  readonly scale?: ParameterValue<D> | undefined;
  /** false: one kernel whatever the alignment of the operands is. Default true: operands aligned to 16 bytes get their own. */
  readonly align?: boolean | undefined;
  /** Where typed and nested arrays are placed, when no input is a tensor. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

/** Parameters that a kernel of this name needs. */
interface ParametersOfKernel {
  none: never;
  cosine: never;
  laplace: 'bandwidth';
  gaussian: 'bandwidth';
  matern12: 'bandwidth';
  matern32: 'bandwidth';
  matern52: 'bandwidth';
  cauchy: 'bandwidth';
  inverseMultiquadric: 'bandwidth';
  rationalQuadratic: 'bandwidth' | 'alpha';
  polynomial: 'gamma' | 'offset' | 'degree';
  sigmoid: 'gamma' | 'offset';
}

type KernelOptions<K, D extends PairwiseDType> = K extends keyof ParametersOfKernel
  ? { readonly [N in ParametersOfKernel[K]]: ParameterValue<D> }
  : K extends CustomKernel
    ? [K['parameters'][number]] extends [never]
      ? unknown
      : { readonly parameters: { readonly [N in K['parameters'][number]]: ParameterValue<D> } }
    : never;

type Absent<N extends string> = { readonly [P in N]?: undefined };
type Given<N extends string, D extends PairwiseDType> = { readonly [P in N]: ParameterValue<D> };

/** Exponents apart, or one p for all of them. */
type ByNorm<N extends string, D extends PairwiseDType> =
  (Given<'p', D> & Absent<N>) | (Given<N, D> & Absent<'p'>);

type ExponentOptions<
  F extends KernelDescriptor,
  D extends PairwiseDType,
> = F['innerPower'] extends 'pow'
  ? ByNorm<F['outerPower'] extends 'pow' ? 'innerP' | 'outerP' : 'innerP', D>
  : F['outerPower'] extends 'pow'
    ? ByNorm<'outerP', D>
    : unknown;

interface EpsilonOption<D extends PairwiseDType> {
  /** Distances below it count as 0. Default 1e-5 for laplace and gaussian (Kermac's convention), 0 for all others. */
  readonly epsilon?: ParameterValue<D> | undefined;
}

interface SymmetricOption<S extends boolean> {
  /**
   * One input: b is a and is left out. Each pair is computed once and mirrored, so the result is exactly symmetric. Default:
   * whether b is left out. Not for `diff` with innerPower 'none' or 'sqrt', which change when a and b are exchanged.
   */
  readonly symmetric?: S | undefined;
}

type OperatorOptions<
  F extends KernelDescriptor,
  D extends PairwiseDType,
> = F['innerOperator'] extends 'diff'
  ? EpsilonOption<D> & SymmetricOption<F['innerPower'] extends 'none' | 'sqrt' ? false : boolean>
  : SymmetricOption<boolean>;

/** Every parameter of every descriptor, for code that does not know which one it has; checked at run time. */
export interface AnyRunKernelOptions<D extends PairwiseDType = PairwiseDType, O = Tensor<D>>
  extends PairwiseCallOptions<D, O>, EpsilonOption<D>, SymmetricOption<boolean> {
  /** Sets innerP = p and outerP = 1/p. In a tensor a positive finite number: others, Infinity included, give NaN. */
  readonly p?: ParameterValue<D> | undefined;
  readonly innerP?: ParameterValue<D> | undefined;
  readonly outerP?: ParameterValue<D> | undefined;
  readonly bandwidth?: ParameterValue<D> | undefined;
  readonly alpha?: ParameterValue<D> | undefined;
  readonly gamma?: ParameterValue<D> | undefined;
  readonly offset?: ParameterValue<D> | undefined;
  readonly degree?: ParameterValue<D> | undefined;
  /** Values of a custom kernel's parameters, by name. */
  readonly parameters?: Readonly<Record<string, ParameterValue<D>>> | undefined;
}

/** Names of those that say which matrix it is. */
export const KERNEL_MATRIX_OPTIONS = {
  p: true,
  innerP: true,
  outerP: true,
  bandwidth: true,
  alpha: true,
  gamma: true,
  offset: true,
  degree: true,
  epsilon: true,
  parameters: true,
  scale: true,
  regularization: true,
} as const satisfies Partial<OptionNames<AnyRunKernelOptions>>;

/** Names of {@link AnyRunKernelOptions}. */
export const RUN_KERNEL_OPTIONS: OptionNames<AnyRunKernelOptions> = {
  ...SHARD_OPTIONS,
  ...OUT_OPTION,
  ...KERNEL_MATRIX_OPTIONS,
  symmetric: true,
  regularizationOffset: true,
  align: true,
  device: true,
  ...LOAD_OPTIONS,
};

/**
 * The options of `runKernel` for a descriptor: those that every call takes, and exactly the parameters that this descriptor
 * has. Needed ones are demanded and others refused, by the compiler and at run time.
 */
export type RunKernelOptions<
  F extends KernelDescriptor = KernelDescriptor,
  D extends PairwiseDType = PairwiseDType,
  O = Tensor<D>,
> = [KernelDescriptor] extends [F]
  ? AnyRunKernelOptions<D, O>
  : PairwiseCallOptions<D, O> & DescriptorOptions<F, D>;

/** The parameters that a descriptor has. */
export type DescriptorOptions<F extends KernelDescriptor, D extends PairwiseDType> = KernelOptions<
  F['kernel'],
  D
> &
  ExponentOptions<F, D> &
  OperatorOptions<F, D>;

/** Names of the options that cannot be left out, of each alternative. */
type NeededOptions<O> = O extends unknown
  ? { [N in keyof O]-?: undefined extends O[N] ? never : N }[keyof O]
  : never;

/** What stands in the place of b and can be no options. */
type NoOptions =
  | Tensor
  | TensorSource
  | PromiseLike<unknown>
  | string
  | number
  | bigint
  | symbol
  | null
  | undefined;

/** What is wanted in the place of b, given that a T stands there: the rows themselves, rows of the right kind, or options. */
type RowsOrOptions<B, O, T> = [T] extends [B | undefined] ? T : [T] extends [NoOptions] ? B : O;

/**
 * What follows a in `f(a, b, options)` and `f(a, options)`: rows B, then options O, which may be left out where all of them may.
 * T is the type of what stands in the place of b, unknown where nothing does. Each place has one type, that of what is meant by
 * it, so that the compiler's message is about that alone.
 */
export type RowsAndOptions<B, O, T> = [NeededOptions<O>] extends [never]
  ? [bOrOptions?: RowsOrOptions<B, O, T>, ...rest: [T] extends [NoOptions] ? [options?: O] : []]
  : [bOrOptions: RowsOrOptions<B, O, T>, ...rest: [T] extends [NoOptions] ? [options: O] : []];
