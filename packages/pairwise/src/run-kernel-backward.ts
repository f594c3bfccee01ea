import type { PairwiseDType } from '@mercer/kernels';
import { isTensor, type ShardOptions, type Tensor, type TensorOperand } from '@mercer/tensor';
import {
  flatArguments,
  isTraced,
  mapArguments,
  readOptions,
  callsWhenArrived,
} from '@mercer/tensor/operation';
import type { KernelDescriptor } from './descriptor-types.js';
import {
  backwardFunction,
  checkNames,
  type BackwardCall,
  type GradientOuts,
} from './backward-operation.js';
import type { GradientsByLabel } from './gradients-by-label.js';
import type { BlockInput } from './blocks/blocked-backward.js';
import { gradientsInBlocks, isBlockedBackward } from './blocks/gradient-blocks.js';
import { backwardSpec } from './kernel-backward.js';
import { isOptions, rowsAndOptions } from './optional-rows.js';
import type { BlockRows } from './rows-input.js';
import { assertValue, primalOf } from './pair-derivatives.js';
import {
  BACKWARD_OPTIONS,
  type AnyBackwardOptions,
  type GradientOutsOf,
  type GradientsIn,
  type NoOuts,
  type PreparedBackward,
  type RunKernelBackwardOptions,
  type RunKernelVariable,
} from './run-kernel-backward-options.js';
import type { RowsAndOptions } from './run-kernel-options.js';

const WHAT = 'runKernelBackward';

/** How `runKernelBackward` is called. */
export interface RunKernelBackward {
  <
    F extends KernelDescriptor,
    D extends PairwiseDType,
    T = unknown,
    const W extends readonly RunKernelVariable<F>[] = DefaultVariables<T>,
    O extends GradientOutsOf<W, D> = NoOuts,
  >(
    descriptor: F,
    gradient: BlockRows<D>,
    a: BlockRows<NoInfer<D>>,
    ...rest: RowsAndOptions<BlockRows<NoInfer<D>>, RunKernelBackwardOptions<F, NoInfer<D>, W, O>, T>
  ): Promise<GradientsIn<W, D, O>>;
  /** Compiles for tensors like these and gives a synchronous function: see PreparedBackward. */
  readonly prepare: <
    F extends KernelDescriptor,
    D extends PairwiseDType,
    T = unknown,
    const W extends readonly RunKernelVariable<F>[] = DefaultVariables<T>,
  >(
    descriptor: F,
    gradient: Tensor<D>,
    a: Tensor<NoInfer<D>>,
    ...rest: RowsAndOptions<
      Tensor<NoInfer<D>>,
      Omit<RunKernelBackwardOptions<F, NoInfer<D>, W>, keyof ShardOptions>,
      T
    >
  ) => Promise<PreparedBackward<W, D>>;
}

type DefaultVariables<T> = [T] extends [TensorOperand] ? readonly ['a', 'b'] : readonly ['a'];

/**
 * Gradients of `runKernel(descriptor, a, b, options)`: given `gradient` = dL/d(result), returns dL/da, dL/db and those of the
 * parameters as asked for by `wrt`: bandwidth, alpha, gamma, offset, degree, p (or innerP and outerP), epsilon, scale,
 * regularization, and `parameters.name` of a custom kernel. It takes the inputs of the forward call, not its result: what the kernel needs is
 * computed again. On a GPU sums over many features are stored in scratch memory, up to 2 GiB of them; otherwise nothing of the size of
 * the result is stored.
 *
 * b may be left out, `runKernelBackward(descriptor, gradient, a, options)`, or be a itself: it is a, as in `runKernel`, and the gradient of a
 * is then that of both roles. For one of each, pass `a.view()` as b. The gradient of a parameter has its shape, [] for a number; what was
 * broadcast is summed.
 *
 * Conventions where no derivative exists: a zero difference contributes exactly 0 for every power, and so do a pair at
 * distance 0 of a norm, a pair that epsilon clamps, and a row of zeros under cosine; for p = Infinity all goes to the first k
 * that attains the maximum; 0 log 0 is 0. The gradient of epsilon, a threshold, is 0. That of degree is NaN where a base
 * gamma t + offset is negative: between integers its powers are no real numbers. Where p, innerP or outerP is read from memory and
 * is no positive finite number, gradients are NaN as the values are. A regularised diagonal of 1 + r does not depend on the inputs: the gradient counts
 * as 0 there, except for r itself.
 *
 * It is differentiated too, to any order: functions of autodiff go through it and through `runKernel`. Second derivatives of a root at distance 0 count as 0, and
 * so do those of a power of a difference that is 0, where the exponent is below 2 or read from memory.
 *
 * Accuracy: derivatives are taken of the expressions by rule; sums over pairs add (2 sqrt N + 4) u relative to the sum of
 * their absolute values. Gradients of parameters are summed in double precision over each row and rounded, then summed in double precision
 * over rows and batch entries. Products of a polynomial and an exponential (Matern) are differentiated as a whole, so that close points lose
 * nothing. The same inputs give the same bits, on a CPU under one executor (`MERCER_CPU`): by default a first call may be interpreted and the
 * next run compiled kernels.
 *
 * `out: { a, bandwidth }` names tensors that gradients are written to, by the names in wrt. A kernel is compiled for each number of features
 * and each choice of wrt. Rows that are not row-major are copied first. `runKernelBackward.prepare` compiles ahead; what it resolves to is
 * called as `prepared(gradient, a, b, { out, stream })`.
 *
 * With `devices`, `maxBytes` or `onProgress`, with rows or a gradient in host memory or of a file, or with an `out` in host memory for a or b, it goes
 * through the pairs block by block: see `cdistBackward`.
 *
 * @throws MercerError as `runKernel` does; INVALID_ARGUMENT for a name in wrt or out that the call does not have; OVERLAP for tensors of out
 *   that share memory with an input or each other; nothing is written then
 *
 * @example
 * ```ts
 * import { tensor } from '@mercer/tensor';
 * import { kernels, runKernelBackward } from '@mercer/pairwise';
 *
 * const a = await tensor([[0], [1]], { device: 'cpu' });
 * const b = await tensor([[0]], { device: 'cpu' });
 * const upstream = await tensor([[1], [1]], { device: 'cpu' });
 * const { a: da, bandwidth } = await runKernelBackward(kernels.gaussian, upstream, a, b, {
 *   bandwidth: 1,
 *   wrt: ['a', 'bandwidth'],
 * });
 * console.log(await da.toNested(), bandwidth.shape); // [ [ 0 ], [ -0.6065... ] ] [], 0 and -exp(-1/2)
 * ```
 */
export const runKernelBackward = backwardFunction(WHAT, read, {
  takes: isInBlocks,
  compute: inBlocks,
}) as RunKernelBackward;

const anyBackward = runKernelBackward as unknown as (
  ...args: readonly unknown[]
) => Promise<GradientsByLabel>;

function isInBlocks([, gradient, a, second, third]: Given): boolean {
  const [rows, read] = isOptions(second) ? [undefined, second] : [second, third];
  return isBlockedBackward([gradient, a, rows], read);
}

function inBlocks([descriptor, gradient, a, second, third]: Given): Promise<unknown> {
  const rows = isOptions(second) ? undefined : second;
  return callsWhenArrived([gradient, a, rows], async ([g, x, y]) => {
    const form = `${WHAT}(descriptor, gradient, a, b, options)`;
    const [, given] = rowsAndOptions<Tensor, AnyBackwardOptions>(WHAT, form, second, third);
    const options = readOptions(WHAT, given, BACKWARD_OPTIONS);
    const { out, wrt: wanted, devices: _, maxBytes: __, onProgress: ___, ...values } = options;
    const isOne = y === undefined || y === x;
    const wrt = wanted ?? (isOne ? ['a'] : ['a', 'b']);
    if (out !== undefined) checkNames(WHAT, wrt, out);
    const tensors = flatArguments([values]).filter(
      (one): one is Tensor => isTensor(one) || isTraced(one),
    );
    return gradientsInBlocks({
      ...options,
      what: WHAT,
      wrt: Array.isArray(wrt) ? wrt : [],
      gradient: g as BlockInput,
      a: x as BlockInput,
      b: isOne ? undefined : (y as BlockInput),
      parameters: tensors,
      compute: (block) => {
        const there = new Map<unknown, Tensor | undefined>(
          tensors.map((one, at) => [one, block.parameters[at]]),
        );
        const [moved] = mapArguments([values], (one) => there.get(one) ?? one);
        const [m, n] = values.regularizationOffset ?? [0, 0];
        const [i, j] = block.first;
        return anyBackward(descriptor, block.gradient, block.a, block.b, {
          ...(moved as AnyBackwardOptions),
          // Rows and columns of a block are others, also where the whole has one input.
          ...(isOne ? { symmetric: undefined } : {}),
          ...(values.regularization === undefined ? {} : { regularizationOffset: [m + i, n + j] }),
          wrt: Array.isArray(wrt) ? block.wrt : wrt,
          signal: block.signal,
        });
      },
    });
  });
}

type Given = readonly [
  descriptor: KernelDescriptor,
  gradient: Tensor,
  a: Tensor,
  second?: Tensor | AnyBackwardOptions,
  third?: AnyBackwardOptions,
];

/** What a call computes, of what, and how. @throws MercerError INVALID_ARGUMENT */
function read(what: string, [descriptor, gradient, a, second, third]: Given): BackwardCall {
  assertValue(gradient, `${what}: gradient`);
  assertValue(a, `${what}: a`);
  const form = `${what}(descriptor, gradient, a, b, options)`;
  const [b, options] = rowsAndOptions<Tensor, AnyBackwardOptions>(what, form, second, third);
  if (b !== undefined) assertValue(b, `${what}: b`);
  const { wrt, out, stream, debug, signal, ...forward } = readOptions(
    what,
    options,
    BACKWARD_OPTIONS,
  );
  const one = b === undefined || b === a;
  const made: Tensor[] = [];
  const [known] = mapArguments([forward], (value) => primalOf(value, made)) as [typeof forward];
  const spec = backwardSpec(WHAT, descriptor, one, known, wrt ?? (one ? ['a'] : ['a', 'b']));
  const values = { ...forward, ...namedParameters(forward.parameters) };
  return {
    descriptor,
    spec,
    tensors: [gradient, a, one ? undefined : b],
    given: (label) => (values as Readonly<Record<string, unknown>>)[label],
    made,
    options: { out: out as GradientOuts | undefined, stream, debug, signal },
  };
}

/** Parameters of a custom kernel by the names that `wrt` has for them. */
const namedParameters = (given: object = {}): object =>
  Object.fromEntries(Object.entries(given).map(([name, one]) => [`parameters.${name}`, one]));
