import { tensor, type Storage, type Tensor } from '@mercer/tensor';
import { workOf } from '../options.js';
import type { MatrixOperand } from '../operand.js';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { factorAll, Factors } from './factor.js';
import { kernels, launch } from './kernels.js';
import { mergeCodes, pack, triangle, unpack } from './move.js';
import { needed } from './needed.js';
import { readNumbers } from './read-numbers.js';
import { countOf, Scratch } from './scratch.js';

type CholeskyCall = CudaCall<FieldsOf<'cholesky'>>;

/**
 * Cholesky factors. Without jitter nothing waits; with it the call reads, without holding up the event loop, which matrices
 * have no factor yet, and factors those again.
 */
export async function cholesky(call: CholeskyCall): Promise<void> {
  const { setting, args } = call;
  const { batchShape } = setting;
  const count = countOf(batchShape);
  if (count === 0) return;
  const [a, factor] = needed(args, 'a', 'factor');
  const { infos, jitters } = args;
  const part = triangle(args.upper);
  using scratch = new Scratch(call);
  await infos.fill(0, workOf(call));
  await jitters.fill(0, workOf(call));
  const matrices = scratch.matrices(a.rows, a.columns);
  await pack(call, batchShape, a, matrices, { part, infos });
  const factors = new Factors(scratch, matrices, { cholesky: true, uplo: part });
  await factorAll(call, scratch, factors);
  if (args.attempts > 0) await escalate(call, scratch, factors, a);
  await mergeCodes(call, infos, factors.codes, count);
  await unpack(call, batchShape, matrices, factor, infos, { part });
}

/** Tries again with a growing multiple of the identity, matrix by matrix. */
async function escalate(
  call: CholeskyCall,
  scratch: Scratch,
  factors: Factors,
  a: MatrixOperand,
): Promise<void> {
  const { setting, args } = call;
  const { infos, jitters } = args;
  const part = triangle(args.upper);
  const { count } = scratch;
  let means: readonly number[] | undefined;
  const shift = new Float64Array(count);
  for (let attempt = 0; attempt < args.attempts; attempt++) {
    const failed = await failing(call, factors.codes, infos);
    if (!failed.includes(true)) return;
    means ??= await diagonalMeans(call, scratch, factors, a);
    for (const [z, mean] of means.entries()) {
      if (failed[z] === true) shift[z] = args.jitter * mean * 10 ** attempt;
    }
    using shifts = await tensor(shift, {
      dtype: setting.dtype,
      device: setting.device,
      ...workOf(call),
    });
    using shaped = shifts.reshape(jitters.shape);
    await jitters.copyFrom(shaped, workOf(call));
    const only = factors.codes;
    await pack(call, setting.batchShape, a, factors.matrices, { part, shifts, only });
    await factorAll(call, scratch, factors, { only: (z) => failed[z] === true });
  }
}

/** Which finite matrices have no factor yet. */
async function failing(
  call: CholeskyCall,
  codes: Storage,
  infos: Tensor<'int32'>,
): Promise<boolean[]> {
  const values = await readNumbers(call, codes, 'int32');
  const known = await infos.toTypedArray(workOf(call));
  return [...values].map((code, z) => code > 0 && known[z] === 0);
}

async function diagonalMeans(
  call: CholeskyCall,
  scratch: Scratch,
  { matrices }: Factors,
  a: MatrixOperand,
): Promise<readonly number[]> {
  const { dtype, batchShape } = call.setting;
  const plain = scratch.matrices(matrices.rows, matrices.columns);
  const means = scratch.bytes(8 * scratch.count);
  await pack(call, batchShape, a, plain);
  const pointers = { matrices: plain.storage, means };
  const sizes = { n: matrices.rows, count: scratch.count };
  await launch(call, kernels.diagonalMeans(dtype), pointers, sizes);
  return [...(await readNumbers(call, means, 'float64'))];
}
