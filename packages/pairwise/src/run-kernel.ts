import type { PairwiseDType } from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { isTensor, type Pending, type RowReader, type Tensor } from '@mercer/tensor';
import {
  differentiable,
  flatArguments,
  isTraced,
  mapArguments,
  only,
  pendingCall,
  pendingOf,
  readOptions,
  shardsOf,
  callsWhenArrived,
  type DerivativeRule,
  type Share,
} from '@mercer/tensor/operation';
import { refuseTracedOut } from './blocks/blocked-call.js';
import { computeBlocks, isBlocked, refuseBlocks } from './blocks/compute-blocks.js';
import { ofRows } from './batch-rules.js';
import type { KernelDescriptor } from './descriptor-types.js';
import { isOneInput, kernelSpec } from './kernel-spec.js';
import { isOptions, rowsAndOptions } from './optional-rows.js';
import { pairwiseOperation } from './pairwise-operation.js';
import { rowsLike, shareOf } from './pair-derivatives.js';
import type { PairwiseInput } from './place.js';
import {
  PREPARED_KERNEL_OPTIONS,
  withValues,
  type PrepareRunKernel,
} from './prepare-run-kernel.js';
import { runKernelBackward } from './run-kernel-backward.js';
import type { BlockRows, BlockRowsBeside, DTypeOfRows, ResultIn } from './rows-input.js';
import type { HostOut } from './blocks/result-sink.js';
import {
  RUN_KERNEL_OPTIONS,
  type AnyRunKernelOptions,
  type RowsAndOptions,
  type RunKernelOptions,
} from './run-kernel-options.js';

const WHAT = 'runKernel';

const operation = pairwiseOperation<
  AnyRunKernelOptions,
  readonly [descriptor: KernelDescriptor, a: PairwiseInput, b: PairwiseInput | undefined]
>({
  what: WHAT,
  options: RUN_KERNEL_OPTIONS,
  prepareOptions: RUN_KERNEL_OPTIONS,
  freeOptions: PREPARED_KERNEL_OPTIONS,
  read: ([descriptor, a, b], options, prepared) => {
    if (prepared !== undefined) {
      const spec = withValues(prepared, descriptor, options);
      return [[spec, a, spec.symmetric && b === a ? undefined : b], options];
    }
    const spec = kernelSpec(WHAT, descriptor, isOneInput(a, b, options), options);
    const { parameters } = options;
    return [
      [spec, a, spec.symmetric ? undefined : b],
      { ...options, parameters: parameters && { ...parameters } },
    ];
  },
});

/** How `runKernel` is called. */
export interface RunKernel {
  <
    F extends KernelDescriptor,
    A extends BlockRows,
    T = unknown,
    O extends Tensor<DTypeOfRows<A, T>> | HostOut = Tensor<DTypeOfRows<A, T>>,
  >(
    descriptor: F,
    a: A,
    ...rest: RowsAndOptions<BlockRowsBeside<A>, RunKernelOptions<F, DTypeOfRows<A, T>, O>, T>
  ): ResultIn<O, DTypeOfRows<A, T>>;
  /** Compiles once and returns a synchronous function: see PreparedKernel. */
  readonly prepare: PrepareRunKernel;
}

const inMemory = differentiable<RunKernelFunction, RunKernelArguments>(
  WHAT,
  Object.assign(
    (...[descriptor, a, second, third]: RunKernelArguments): Pending<Tensor> =>
      pendingCall(() => {
        const [b, options] = readRows(second, third);
        return operation.one([descriptor, a, b], options);
      }),
    { prepare },
  ),
  derivative(),
  ofRows,
  'one call',
);

/** A call's rule, block by block where the call is. */
function derivative(): DerivativeRule<RunKernelArguments> {
  return {
    vjp: (g, { args: [descriptor, a, second, third] }) => {
      const [b, options = {}] = readRows(second, third);
      const { device: _, out: __, ...forward } = options;
      const isCut = isBlocked([a, b], shardsOf(options));
      const x = isCut ? a : rowsLike(a, g);
      // another handle, so that the rows of both have a gradient of their own where they are one tensor
      const rows = b === undefined ? [] : [isCut && !isValue(b) ? b : rowsLike(b, g).view()];
      const gradients = async (wrt: string): Promise<Readonly<Record<string, Tensor>>> =>
        anyBackward(descriptor, g, x, ...rows, { ...forward, wrt: [wrt] });
      const named = (values: object | undefined, prefix = ''): Readonly<Record<string, Share>> =>
        Object.fromEntries(
          Object.entries(values ?? {}).map(([name, one]) => [
            name,
            shareOf(gradients, prefix + name, one),
          ]),
        );
      const ofOptions = { ...named(options), parameters: named(options.parameters, 'parameters.') };
      const ofA = shareOf(gradients, 'a', a);
      return b === undefined
        ? [undefined, ofA, ofOptions]
        : [undefined, ofA, shareOf(gradients, 'b', b), ofOptions];
    },
  };
}

const isValue = (one: unknown): boolean => isTensor(one) || isTraced(one);

/** A call in blocks, which has first derivatives. */
const blocked = differentiable<RunKernelFunction, RunKernelArguments>(
  WHAT,
  (...[descriptor, a, second, third]: RunKernelArguments) =>
    pendingOf(async () => {
      const [rows, read = {}] = readRows(second, third);
      return (await inBlocks(descriptor, a, rows, read)) as Tensor;
    }),
  derivative(),
  ofRows,
);

type RunKernelArguments = readonly [
  descriptor: KernelDescriptor,
  a: PairwiseInput,
  second?: PairwiseInput | AnyRunKernelOptions,
  third?: AnyRunKernelOptions,
];

type RunKernelFunction = (...args: RunKernelArguments) => Pending<Tensor>;

type BlockInput = PairwiseInput | RowReader;
type AnyOut = AnyRunKernelOptions<PairwiseDType, Tensor | HostOut>;

const inBlocks = (
  descriptor: KernelDescriptor,
  a: BlockInput,
  b: BlockInput | undefined,
  given: AnyOut,
): Promise<unknown> =>
  callsWhenArrived([a, b], async ([x, y]) => {
    const options = readOptions(WHAT, given, RUN_KERNEL_OPTIONS as OptionNames<AnyOut>);
    const isOne = isOneInput(x, y, options as AnyRunKernelOptions);
    const { devices: _, maxBytes: __, onProgress: ___, device: ____, ...values } = options;
    const tensors = flatArguments([{ ...values, out: undefined }]).filter(
      (one): one is Tensor => isTensor(one) || isTraced(one),
    );
    return computeBlocks({
      ...options,
      what: WHAT,
      a: x as BlockInput,
      b: isOne ? undefined : (y as BlockInput),
      parameters: tensors,
      compute: async ({ a: rows, b: columns, parameters, first: [i, j], out, signal }) => {
        const there = new Map<unknown, Tensor | undefined>(
          tensors.map((one, at) => [one, parameters[at]]),
        );
        const [moved] = mapArguments([values], (one) => there.get(one) ?? one);
        const [m, n] = values.regularizationOffset ?? [0, 0];
        // Rows and columns of a block are others, also where the whole has one input.
        const symmetric = isOne && columns !== undefined ? false : values.symmetric;
        const ofBlock = { ...(moved as AnyOut), symmetric, out, signal };
        const offset =
          values.regularization === undefined ? {} : { regularizationOffset: [m + i, n + j] };
        return operation.one([descriptor, rows, columns], {
          ...ofBlock,
          ...offset,
        } as AnyRunKernelOptions);
      },
    });
  });

const anyBackward = runKernelBackward as unknown as (
  ...args: readonly unknown[]
) => Promise<Readonly<Record<string, Tensor>>>;

const readRows = (
  second: PairwiseInput | AnyRunKernelOptions | undefined,
  third: AnyRunKernelOptions | undefined,
): readonly [b: PairwiseInput | undefined, options: AnyRunKernelOptions | undefined] =>
  rowsAndOptions<PairwiseInput, AnyRunKernelOptions>(
    WHAT,
    `${WHAT}(descriptor, a, b, options)`,
    second,
    third,
  );

async function prepare(
  descriptor: KernelDescriptor,
  a: Tensor,
  second?: Tensor | AnyRunKernelOptions,
  third?: AnyRunKernelOptions,
): Promise<unknown> {
  const form = `${WHAT}.prepare(descriptor, a, b, options)`;
  const [b, options] = rowsAndOptions<Tensor, AnyRunKernelOptions>(
    `${WHAT}.prepare`,
    form,
    second,
    third,
  );
  refuseBlocks(WHAT, [a, b], options);
  const prepared = await operation.prepare([descriptor, a, b], options);
  const run = (
    x: Tensor,
    yOrOptions?: Tensor | AnyRunKernelOptions,
    last?: AnyRunKernelOptions,
  ): Tensor => {
    const [y, given] = rowsAndOptions<Tensor, AnyRunKernelOptions>(
      WHAT,
      'prepared(a, b, options)',
      yOrOptions,
      last,
    );
    return only(prepared([descriptor, x, y], given));
  };
  return Object.assign(run, { plan: prepared.plan });
}

/**
 * A kernel matrix: `out[..., m, n] = kernel(outer(sum_k inner(a[..., m, k], b[..., n, k])))`, see KernelDescriptor for the
 * parts and the formulas.
 *
 * Shapes: a (..., M, K), b (..., N, K), result (..., M, N). b may be left out, `runKernel(descriptor, a, options)`: it is a
 * then, and each pair is computed once and mirrored.
 * The leading batch axes broadcast, and so do those of the parameters. dtype float32 or float64, the same for all. Inputs may
 * be row- or column-major with any leading stride; other strides are copied first. Memory beyond the result is needed for
 * such copies, for rows that are scaled or normalised, and where few rows make it worth splitting the sum.
 *
 * A parameter is a number or a tensor, which the kernel reads itself: no call waits for the device. Exponents given as numbers
 * are built into the kernel where they are integers or half-integers up to 8 or multiples of 1/4 up to 4, and so is `degree`.
 * p = Infinity, the largest |x|, is for norms (both powers 'pow') and a number. Numbers out of a parameter's range are an error;
 * an exponent in a tensor (p, innerP, outerP) that is not positive and finite, Infinity included, makes its batch entry NaN.
 *
 * - epsilon (differences only): values of d below it count as 0. Default 1e-5 for laplace and gaussian, as in Kermac, 0 for all
 *   others.
 * - regularization r: where the kernel is one of differences with value 1 between equal rows, the diagonal becomes 1 + r
 *   whatever was computed there, as in Kermac; to the diagonal of all others r is added. The diagonal is where
 *   m + x = n + y, with regularizationOffset [x, y].
 * - scale multiplies the features first: exp(-s / 2) of data times 1 / h per feature is an anisotropic Gaussian.
 *
 * Accuracy (u = 2^-24 in float32, 2^-53 in float64): the sum has the bound of `cdist`. A kernel of it adds what its formula
 * makes of that bound: exp(-x) within (4 + 2 |x|) u and what the relative error of x gives, x times as much; a power (1 + s)^-e
 * within (6 + 1.5 e |log2(1 + s)|) u and e times the relative error of its base. Equal rows have s = 0 exactly. NaN in a row
 * makes its values NaN, a regularised diagonal of ones apart.
 *
 * Resolves when the work is enqueued; `toTypedArray` waits for it. `planOf(result)` tells how it is computed.
 *
 * @throws MercerError INVALID_ARGUMENT (descriptor, options), SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP and
 *   NOT_CONTIGUOUS (out), DISPOSED, OUT_OF_MEMORY; nothing is written then
 *
 * @example
 * ```ts
 * import { kernels, runKernel } from '@mercer/pairwise';
 *
 * const points = [[0, 0], [3, 4]];
 * const k = await runKernel(kernels.gaussian, points, {
 *   bandwidth: 5,
 *   regularization: 1e-3,
 *   device: 'cpu',
 * });
 * console.log(await k.toNested()); // [ [ 1.001, 0.6065307 ], [ 0.6065307, 1.001 ] ]
 * ```
 */
export const runKernel: RunKernel = Object.assign(
  (...given: RunKernelArguments): Pending<Tensor> => {
    const [, a, second, third] = given;
    const [b, options] = isOptions(second) ? [undefined, second] : [second, third];
    if (!isBlocked([a, b], options)) return inMemory(...given);
    refuseTracedOut(
      WHAT,
      [a, b, ...flatArguments([{ ...(options as AnyOut), out: undefined }])],
      options as AnyOut,
    );
    return blocked(...given);
  },
  { prepare },
) as unknown as RunKernel;
