import { isTensor, type Pending, type Tensor, type WorkOptions } from '@mercer/tensor';
import { assertTensor, givesPending, readableInput, readOptions } from '@mercer/tensor/operation';
import { gradAlignment, launchGrad, loadGrad, newGradOutput } from './weighted-differences-call.js';
import {
  WEIGHTED_DIFFERENCES_OPTIONS,
  checkGradNorm,
  WHAT,
  type WeightedDifferencesOptions,
} from './weighted-differences-options.js';
import {
  gradOperand,
  gradOutput,
  gradShape,
  GRAD_INPUTS,
  type GradInputs,
  type GradShape,
} from './weighted-differences-operands.js';
import {
  prepareWeightedDifferences,
  type PrepareWeightedDifferences,
} from './weighted-differences-prepare.js';
import { readableParameter } from './kernel-parameter.js';
import type { Operand } from './operands.js';
import { placeAll, type PairwiseInput } from './place.js';
import type { DTypeOfRows, RowsBeside, RowsInput } from './rows-input.js';

/** How `weightedDifferences` is called. */
export interface WeightedDifferences {
  <A extends RowsInput, B extends RowsBeside<A>>(
    a: A,
    b: B,
    c: RowsInput<DTypeOfRows<A, B>>,
    d: RowsInput<DTypeOfRows<A, B>>,
    options?: WeightedDifferencesOptions<DTypeOfRows<A, B>>,
  ): Pending<Tensor<DTypeOfRows<A, B>>>;
  /** Compiles once and returns a synchronous function: see PreparedWeightedDifferences. */
  readonly prepare: PrepareWeightedDifferences;
}

/**
 * Differences of points and data, raised to the power p - 1 with their sign, weighted and summed:
 * `out[..., o, n, m] = sum_k c[..., o, k] a[..., k, m] sign(e) |e|^(p - 1)` with `e = d[..., n, m] - b[..., n, k]`.
 *
 * The name says what is summed: at p = 2 these are the differences themselves. It is Kermac's `cdist_grad`, whose name is not
 * taken over because the sum is not the gradient of `cdist` (that is `cdistBackward`).
 *
 * It is the step of recursive feature machines that makes average gradient outer products: a is the kernel matrix with the
 * norm's root factor already in it, b the data, c the coefficients, d the points, each with its features along the first of
 * its last two axes (b and d). One call gives the gradients of O predictors at M points in N features, up to the kernel's
 * constant factor, which is -1 / bandwidth for `kernels.laplace` and p = 1.
 *
 * Shapes: a (..., K, M), b (..., N, K), c (..., O, K), d (..., N, M), result (..., O, N, M); the leading batch axes
 * broadcast, those of p too. dtype float32 or float64, the same for all. The last axis of each tensor is contiguous, the
 * others have any stride; inputs with other strides are copied first. Memory beyond the result is needed only for such
 * copies and where few outputs make it worth splitting the sum.
 *
 * A zero difference contributes exactly 0 for every p > 0, also where p lies in device memory; nonzero differences are not
 * clamped. On a GPU, where p < 2 (1 apart) or no multiple of 1/4, float32 differences below 2^-126 count as 0. NaN stays;
 * where a term is infinite or above 2^127 the result is infinite or NaN.
 *
 * Accuracy (float32, u = 2^-24; float64 likewise), relative to the sum of |c a| |e|^(p - 1): (2 sqrt K + 24) u typically,
 * (K + 24) u at worst, plus |p - 1| (1 + 1.5 |log2 |e||) u of each term. On a GPU float32 products may run on tensor cores, on
 * operands split in two, and powers on the special-function unit: at worst 8 u and |p - 1| |log2 |e|| u of each term more. The
 * tests hold both devices to the bound without that. The same inputs give the same bits,
 * on a CPU under one executor: by default a first call may be interpreted and the next run compiled kernels. `weightedDifferences.prepare`
 * waits for these, and MERCER_CPU names one for every call.
 *
 * Resolves when the work is enqueued; `toTypedArray` waits for it. `planOf(result)` tells how it is computed.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT (p), OVERLAP and NOT_CONTIGUOUS
 *   (out), DISPOSED, OUT_OF_MEMORY; nothing is written then
 *
 * @example
 * ```ts
 * import { weightedDifferences } from '@mercer/pairwise';
 *
 * // one point of two features, two data points, one row of coefficients
 * const a = [[1], [2]]; // (K, M)
 * const b = [[0, 1], [0, 3]]; // (N, K)
 * const c = [[1, 10]]; // (O, K)
 * const d = [[2], [3]]; // (N, M)
 * const out = await weightedDifferences(a, b, c, d, { p: 2, device: 'cpu' });
 * console.log(await out.toNested()); // [ [ [ 22 ], [ 3 ] ] ]
 * ```
 */
export const weightedDifferences: WeightedDifferences = Object.assign(
  givesPending(compute) as WeightedDifferences,
  {
    prepare: prepareWeightedDifferences,
  },
);

async function compute(
  a: PairwiseInput,
  b: PairwiseInput,
  c: PairwiseInput,
  d: PairwiseInput,
  options?: WeightedDifferencesOptions,
): Promise<Tensor> {
  options = readOptions(WHAT, options, WEIGHTED_DIFFERENCES_OPTIONS);
  const { p: norm = 2, out, stream, debug, signal } = options;
  checkGradNorm(norm);
  if (out !== undefined) assertTensor(out, `${WHAT}: out`);
  const placed = await placeAll(WHAT, { a, b, c, d }, options, isTensor(norm) ? [norm] : []);
  const copies: Tensor[] = [];
  try {
    const tensors = named(placed.tensors);
    const shape = gradShape(tensors, norm);
    const read = isTensor(norm) ? [...placed.tensors, norm] : placed.tensors;
    const output = out && gradOutput(out, shape, read);
    const p = await readableParameter(WHAT, 'p', norm, shape, copies, {
      stream,
      signal,
    });
    const { inputs, operands } = await readableInputs(tensors, shape, { stream, signal }, copies);
    const target = out ?? newGradOutput(shape, stream);
    if (target.size === 0) return target;
    try {
      const written = output ?? gradOutput(target, shape, []);
      const alignment = gradAlignment(operands, written);
      const loaded = await loadGrad(shape, alignment, p, { debug, signal }, 'call');
      const queue = stream ?? shape.device.defaultStream;
      await queue.room({ signal });
      launchGrad(loaded, { shape, inputs, operands, out: target, output: written, p }, queue);
      return target;
    } catch (error) {
      if (out === undefined) target.dispose();
      throw error;
    }
  } finally {
    for (const copy of copies) copy.dispose();
    placed.release();
  }
}

function named(tensors: readonly Tensor[]): GradInputs {
  const [a, b, c, d] = tensors as [Tensor, Tensor, Tensor, Tensor];
  const inputs = { a, b, c, d };
  for (const name of GRAD_INPUTS) assertTensor(inputs[name], `${WHAT}: ${name}`);
  return inputs;
}

/** The inputs as a kernel can read them: themselves, or row-major copies. */
async function readableInputs(
  given: GradInputs,
  shape: GradShape,
  { stream, signal }: WorkOptions,
  copies: Tensor[],
): Promise<{
  readonly inputs: GradInputs;
  readonly operands: Record<keyof GradInputs, Operand>;
}> {
  const inputs: Record<keyof GradInputs, Tensor> = { ...given };
  const read = async (name: keyof GradInputs): Promise<Operand> => {
    const target = { ...shape, stream, signal, copies };
    const readable = await readableInput(given[name], (t) => gradOperand(t, shape), target);
    inputs[name] = readable.tensor;
    return readable.operand;
  };
  const operands = {
    a: await read('a'),
    b: await read('b'),
    c: await read('c'),
    d: await read('d'),
  };
  return { inputs, operands };
}
