import {
  emitCdistGrad,
  isSpecialisedDerivative,
  normDerivative,
  planCdistGrad,
  type CdistGradPlan,
  type CdistGradProblem,
  type PairwiseDType,
} from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { isTensor, MercerError, type OutOption, type Pending, type Tensor } from '@mercer/tensor';
import {
  assertTensor,
  CallSteps,
  coreOf,
  differentiable,
  only,
  Operation,
  OUT_OPTION,
  pointerAt,
  sizeOfShape,
  type BatchRule,
  type CallPlan,
  type ProgramProblem,
} from '@mercer/tensor/operation';
import { ofRows } from './batch-rules.js';
import { CallInputs } from './call-inputs.js';
import { checkPreparedFor } from './check-prepared.js';
import { boundValue } from './launch-values.js';
import type { MatrixOperand } from './operands.js';
import { placeAll, type PairwiseInput } from './place.js';
import type { DTypeOfRows, RowsBeside, RowsInput } from './rows-input.js';
import type { ParameterValue } from './run-kernel-options.js';
import {
  freshGradOutput,
  gradOperand,
  gradOutput,
  gradScalars,
  gradShape,
  type GradOperands,
  type GradOutput,
  type GradShape,
} from './weighted-differences-operands.js';
import {
  checkGradNorm,
  PREPARE_GRAD_OPTIONS,
  WEIGHTED_DIFFERENCES_OPTIONS,
  WHAT,
  type WeightedDifferencesOptions,
} from './weighted-differences-options.js';

/** Options of `weightedDifferences.prepare`; `out` is an example whose alignment counts. */
export type PrepareWeightedDifferencesOptions<D extends PairwiseDType> = Omit<
  WeightedDifferencesOptions<D>,
  'device'
>;

/** Options of a prepared call; `p`, only where it was prepared as a tensor, replaces that tensor. */
export interface PreparedWeightedDifferencesOptions<D extends PairwiseDType> extends OutOption<D> {
  readonly p?: Tensor<D> | undefined;
}

const PREPARED_OPTIONS: OptionNames<PreparedWeightedDifferencesOptions<PairwiseDType>> = {
  ...OUT_OPTION,
  p: true,
};

/**
 * A weighted sum of norm derivatives whose kernels are compiled and loaded. Calling it is synchronous: it enqueues and
 * returns the result. dtype, device and p (its number, or that it is a tensor) are fixed; all sizes are free.
 *
 * It blocks only while the stream has no room for another launch: `await stream.room()` between calls avoids that.
 *
 * @throws MercerError as `weightedDifferences` does, and NOT_CONTIGUOUS for an input that would have to be copied
 */
export interface PreparedWeightedDifferences<D extends PairwiseDType> {
  (
    a: Tensor<D>,
    b: Tensor<D>,
    c: Tensor<D>,
    d: Tensor<D>,
    options?: PreparedWeightedDifferencesOptions<D>,
  ): Tensor<D>;
  /** The plan used; it was chosen for sizes like those of the examples. */
  readonly plan: CdistGradPlan;
}

/** Prepares a sum for tensors like these, which are examples: only their type, layout and sizes are read. */
export type PrepareWeightedDifferences = <D extends PairwiseDType>(
  a: Tensor<D>,
  b: Tensor<NoInfer<D>>,
  c: Tensor<NoInfer<D>>,
  d: Tensor<NoInfer<D>>,
  options?: PrepareWeightedDifferencesOptions<NoInfer<D>>,
) => Promise<PreparedWeightedDifferences<D>>;

type Arguments = readonly [a: PairwiseInput, b: PairwiseInput, c: PairwiseInput, d: PairwiseInput];

/** What prepared calls know of their examples. */
interface Example {
  readonly p: ParameterValue;
  readonly shape: Pick<GradShape, 'dtype' | 'device'>;
  readonly alignment: GradAlignment;
}

/** Which operands may be read and written 16 bytes at a time. */
type GradAlignment = Pick<CdistGradProblem, 'alignedA' | 'alignedB' | 'alignedC' | 'alignedOut'>;

const operation = new Operation<Arguments, WeightedDifferencesOptions, Example>({
  what: WHAT,
  options: WEIGHTED_DIFFERENCES_OPTIONS,
  prepareOptions: PREPARE_GRAD_OPTIONS,
  freeOptions: PREPARED_OPTIONS,
  snapshot: (args, options, prepared) => {
    const { p = 2 } = options;
    checkGradNorm(p);
    if (prepared !== undefined) checkNormOfCall(prepared.p, p);
    return [args, options];
  },
  identify: (args, { p = 2, out }) => {
    const inputs = args.filter(isTensor);
    const isPlaced = inputs.length < args.length;
    const key = isTensor(p) ? 'memory' : `${p}`;
    if (isTensor(p)) inputs.push(p);
    return { key: isPlaced ? undefined : key, tensors: { inputs, outs: [out] } };
  },
  place: async (args, options, made) => {
    const beside = isTensor(options.p) ? [options.p] : [];
    return (await placeAll(WHAT, args, options, beside, made)) as Arguments & Tensor[];
  },
  plan: planCall,
});

function planCall(
  [a, b, c, d]: Arguments,
  { p = 2, out }: WeightedDifferencesOptions,
  prepared?: Example | 'example',
): CallPlan<Example> {
  const example = prepared === 'example' ? undefined : prepared;
  if (out !== undefined) assertTensor(out, `${WHAT}: out`);
  assertTensor(a, `${WHAT}: a`);
  assertTensor(b, `${WHAT}: b`);
  assertTensor(c, `${WHAT}: c`);
  assertTensor(d, `${WHAT}: d`);
  const given = { a, b, c, d };
  const shape = gradShape(given, p);
  const read = isTensor(p) ? [a, b, c, d, p] : [a, b, c, d];
  const output = out === undefined ? freshGradOutput(shape) : gradOutput(out, shape, read);
  if (example !== undefined) checkPreparedFor(WHAT, shape, example.shape);
  const tensors = { inputs: read, outs: [out] };
  const steps = new CallSteps(coreOf(shape.device), tensors);
  const to = steps.result({ shape: shape.outShape, dtype: shape.dtype });
  const inputs = new CallInputs(WHAT, steps, read, prepared === undefined);
  const bound = boundValue(inputs, 'p', p, shape);
  const rowsOf = (name: keyof GradOperands) =>
    inputs.readable(name, given[name], (view) => gradOperand(view, shape), shape.batchShape);
  const rows = { a: rowsOf('a'), b: rowsOf('b'), c: rowsOf('c'), d: rowsOf('d') };
  const operands: GradOperands = {
    a: rows.a.operand,
    b: rows.b.operand,
    c: rows.c.operand,
    d: rows.d.operand,
  };
  const own = gradAlignment(operands, output);
  const fits = example !== undefined && meets(own, example.alignment);
  const alignment = example === undefined ? own : fits ? example.alignment : UNALIGNED;
  const { dtype, device, m, n, o, k, batch } = shape;
  const plan = { tensors, steps, example: { p, shape: { dtype, device }, alignment } };
  if (sizeOfShape(shape.outShape) === 0 && prepared !== 'example') return plan;
  const programOf = (of: GradAlignment): string =>
    `cdist-grad ${dtype} ${isTensor(p) ? 'memory' : p} ${JSON.stringify(of)}`;
  if (prepared === 'example') {
    // A later call may bring addresses that are not multiples of 16 bytes.
    steps.alsoPrepareProgram(programOf(UNALIGNED), gradProblem(shape, p, UNALIGNED));
  }
  steps.addProgram(
    gradProblem(shape, p, alignment),
    {
      values: m * n * o * k * batch,
      pointers: {
        a: pointerAt(rows.a.view),
        b: pointerAt(rows.b.view),
        c: pointerAt(rows.c.view),
        d: pointerAt(rows.d.view),
        out: pointerAt(to),
        pAt: bound.pointer,
      },
      scalars: {
        ...gradScalars(shape, operands, output),
        pStride: bound.stride,
        pValue: bound.value,
      },
    },
    {
      program: programOf(alignment),
      tells: (parts) => parts,
    },
  );
  return plan;
}

function gradProblem(
  { dtype, m, n, o, k, batch }: GradShape,
  p: ParameterValue,
  alignment: GradAlignment,
): ProgramProblem<CdistGradPlan> {
  const inMemory = isTensor(p);
  const specialised = !inMemory && isSpecialisedDerivative(p);
  const sizes = { dtype, m, n, o, k, batch };
  return {
    key: `cdist-grad ${JSON.stringify([sizes, inMemory ? 'memory' : p, alignment])}`,
    plan: (limits) =>
      planCdistGrad(
        {
          ...sizes,
          phi: normDerivative(specialised ? p : 'runtime'),
          ...(inMemory ? {} : { p }),
          ...alignment,
        },
        limits,
      ),
    emit: emitCdistGrad,
  };
}

function gradAlignment(
  { a, b, c }: Readonly<Record<'a' | 'b' | 'c', MatrixOperand>>,
  out: GradOutput,
): GradAlignment {
  return {
    alignedA: a.aligned,
    alignedB: b.aligned,
    alignedC: c.aligned,
    alignedOut: out.aligned,
  };
}

const UNALIGNED: GradAlignment = {
  alignedA: false,
  alignedB: false,
  alignedC: false,
  alignedOut: false,
};

function meets(actual: GradAlignment, wanted: GradAlignment): boolean {
  return (
    (actual.alignedA || !wanted.alignedA) &&
    (actual.alignedB || !wanted.alignedB) &&
    (actual.alignedC || !wanted.alignedC) &&
    (actual.alignedOut || !wanted.alignedOut)
  );
}

function checkNormOfCall(prepared: ParameterValue, given: ParameterValue): void {
  if (given === prepared || (isTensor(prepared) && isTensor(given))) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${WHAT}: prepared for p = ${isTensor(prepared) ? 'a tensor' : String(prepared)}, called with ${isTensor(given) ? `the ${given.label}` : String(given)}. Leave p out, or prepare with a tensor p and pass a tensor.`,
  );
}

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
export const weightedDifferences = differentiable(
  'weightedDifferences',
  Object.assign(
    (
      a: PairwiseInput,
      b: PairwiseInput,
      c: PairwiseInput,
      d: PairwiseInput,
      options?: WeightedDifferencesOptions,
    ): Pending<Tensor> => operation.one([a, b, c, d], options),
    {
      prepare: async (
        a: Tensor,
        b: Tensor,
        c: Tensor,
        d: Tensor,
        options?: PrepareWeightedDifferencesOptions<PairwiseDType>,
      ) => {
        const prepared = await operation.prepare([a, b, c, d], options);
        const run = (x: Tensor, y: Tensor, z: Tensor, w: Tensor, given?: OutOption): Tensor =>
          only(prepared([x, y, z, w], given));
        return Object.assign(run, { plan: prepared.plan });
      },
    },
  ),
  undefined,
  ofRows as BatchRule,
  'one call',
) as unknown as WeightedDifferences;
