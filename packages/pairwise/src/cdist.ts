import type { PairwiseDType } from '@mercer/kernels';
import { assertTensor, empty, type Tensor, type TensorSource } from '@mercer/tensor';
import { checkNorm, type CdistOptions } from './cdist-options.js';
import { cdistProblem } from './cdist-problem.js';
import {
  inputOperand,
  outOperand,
  pairwiseScalars,
  pairwiseShape,
  type Operand,
  type PairwiseShape,
} from './operands.js';
import { launchProgram, loadProgram } from './pairwise-program.js';
import { placeInputs, type PairwiseInput } from './place.js';
import { rememberPlan } from './plan-of.js';
import { prepareCdist, type PrepareCdist } from './prepare-cdist.js';

/** The call signatures of `cdist`. */
export interface Cdist {
  <D extends PairwiseDType>(
    a: Tensor<D>,
    b: Tensor<NoInfer<D>> | TensorSource,
    options?: CdistOptions<NoInfer<D>>,
  ): Promise<Tensor<D>>;
  <D extends PairwiseDType>(
    a: TensorSource,
    b: Tensor<D>,
    options?: CdistOptions<NoInfer<D>>,
  ): Promise<Tensor<D>>;
  <D extends PairwiseDType = PairwiseDType>(
    a: TensorSource,
    b: TensorSource,
    options?: CdistOptions<D>,
  ): Promise<Tensor<D>>;
  /** Compiles once and returns a synchronous function: see PreparedCdist. */
  readonly prepare: PrepareCdist;
}

/**
 * Distances between all rows of `a` and all rows of `b`:
 * `out[..., m, n] = (sum_k |a[..., m, k] - b[..., n, k]|^p)^(1/p)`, and for p = Infinity the largest difference.
 *
 * Shapes: a (..., M, K), b (..., N, K), result (..., M, N); the leading batch axes broadcast. dtype float32 or float64,
 * the same for both. Inputs may be row- or column-major with any leading stride; other strides are copied first. Memory
 * beyond the result is needed only for such copies and where few rows make it worth splitting the sum.
 *
 * Accuracy (float32, u = 2^-24): each term |d|^p within (6 + 1.5 p |log2 |d||) u, the sum of K terms within
 * (2 sqrt K + 4) u typically and K u at worst, both relative; equal rows have distance exactly 0. NaN in a row makes its
 * distances NaN, for every p. On a GPU, where p is neither an integer nor a half-integer up to 8, float32 differences and
 * sums below 2^-126 count as 0.
 *
 * Resolves when the work is enqueued; `toTypedArray` waits for it. `planOf(result)` tells how it is computed.
 *
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, INVALID_ARGUMENT (p), OVERLAP and NOT_CONTIGUOUS
 *   (out), DISPOSED, OUT_OF_MEMORY; nothing is written then
 *
 * @example
 * ```ts
 * import { cdist } from '@mercer/pairwise';
 *
 * const d = await cdist([[0, 0], [6, 8]], [[3, 4]], { p: 2, device: 'cpu' });
 * console.log(await d.toNested()); // [ [ 5 ], [ 5 ] ]
 * ```
 */
export const cdist: Cdist = Object.assign(compute, { prepare: prepareCdist });

async function compute(
  a: PairwiseInput,
  b: PairwiseInput,
  options: CdistOptions = {},
): Promise<Tensor> {
  const { p = 2, skipEpilogue = false, out } = options;
  checkNorm(p);
  if (out !== undefined) assertTensor(out, 'cdist: out');
  const inputs = await placeInputs(a, b, options);
  const copies: Tensor[] = [];
  try {
    assertTensor(inputs.a, 'cdist: a');
    assertTensor(inputs.b, 'cdist: b');
    const shape = pairwiseShape('cdist', inputs.a, inputs.b);
    const given = out === undefined ? undefined : outputOf(out, shape, [inputs.a, inputs.b]);
    const x = await readable(inputs.a, shape, options, copies);
    const y = await readable(inputs.b, shape, options, copies);
    const target = given ?? newOutput(shape, options);
    if (target.tensor.size === 0) return target.tensor;
    try {
      const problem = cdistProblem(shape, [x.operand, y.operand, target.operand], p, skipEpilogue);
      const loaded = await loadProgram(shape.device, problem, options.debug);
      const stream = options.stream ?? shape.device.defaultStream;
      await stream.room();
      const scalars = pairwiseScalars(shape, x.operand, y.operand, target.operand, p);
      launchProgram(loaded, stream, [x.tensor, y.tensor, target.tensor], scalars);
      rememberPlan(target.tensor, loaded.plan);
      return target.tensor;
    } catch (error) {
      if (given === undefined) target.tensor.dispose();
      throw error;
    }
  } finally {
    for (const copy of copies) copy.dispose();
    inputs.release();
  }
}

interface Bound {
  readonly tensor: Tensor;
  readonly operand: Operand;
}

function outputOf(out: Tensor, shape: PairwiseShape, inputs: readonly Tensor[]): Bound {
  return { tensor: out, operand: outOperand('cdist', out, shape, inputs) };
}

function newOutput(shape: PairwiseShape, { stream }: CdistOptions): Bound {
  const { dtype, device, outShape } = shape;
  return outputOf(empty(outShape, { dtype, device, stream }), shape, []);
}

/** The input as a kernel can read it: itself, or a row-major copy of its broadcast or oddly strided view. */
async function readable(
  x: Tensor,
  shape: PairwiseShape,
  { stream }: CdistOptions,
  copies: Tensor[],
): Promise<Bound> {
  const direct = inputOperand(x, shape);
  if (direct !== undefined) return { tensor: x, operand: direct };
  // First the plain copy; a batch that one stride cannot describe is spelled out as well.
  const packed = await x.clone({ stream });
  copies.push(packed);
  const plain = inputOperand(packed, shape);
  if (plain !== undefined) return { tensor: packed, operand: plain };
  using spread = packed.broadcastTo([...shape.batchShape, ...x.shape.slice(-2)]);
  const full = await spread.clone({ stream });
  copies.push(full);
  const operand = inputOperand(full, shape);
  if (operand === undefined) throw new Error('a row-major copy is always readable');
  return { tensor: full, operand };
}
