import { waited, type Enqueuing } from '@mercer/tensor/operation';
import { tensor, type Storage, type Tensor } from '@mercer/tensor';
import { workOf } from '../options.js';
import type { MatrixOperand } from '../operand.js';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { factorAll, Factors } from './factor.js';
import { kernels, launch } from './kernels.js';
import { mergeCodes, pack, triangle, unpack } from './move.js';
import { readNumbers } from './read-numbers.js';
import { clear, countOf, Scratch } from './scratch.js';

type CholeskyCall = CudaCall<FieldsOf<'cholesky'>>;

/**
 * Cholesky factors. Without jitter nothing waits; with it the call reads, without holding up the event loop, which matrices
 * have no factor yet, and factors those again.
 */
export function* cholesky(call: CholeskyCall): Enqueuing {
  const { setting, args } = call;
  const { batchShape } = setting;
  const count = countOf(batchShape);
  if (count === 0) return;
  const { a, factor, infos, jitters } = args;
  const part = triangle(args.upper);
  using scratch = new Scratch(call);
  clear(call, infos);
  clear(call, jitters);
  const matrices = scratch.matrices(a.rows, a.columns);
  yield* pack(call, batchShape, a, matrices, { part, infos });
  const factors = new Factors(scratch, matrices, { cholesky: true, uplo: part });
  yield* factorAll(call, scratch, factors);
  if (args.attempts > 0) yield* escalate(call, scratch, factors, a);
  yield* mergeCodes(call, infos, factors.codes, count);
  yield* unpack(call, batchShape, matrices, factor, infos, { part });
}

/** Tries again with a growing multiple of the identity, matrix by matrix. */
function* escalate(
  call: CholeskyCall,
  scratch: Scratch,
  factors: Factors,
  a: MatrixOperand,
): Enqueuing {
  const { setting, args } = call;
  const { infos, jitters } = args;
  const part = triangle(args.upper);
  const { count } = scratch;
  let means: readonly number[] | undefined;
  const shift = new Float64Array(count);
  for (let attempt = 0; attempt < args.attempts; attempt++) {
    const failed = yield* failing(call, factors.codes, infos);
    if (!failed.includes(true)) return;
    means ??= yield* diagonalMeans(call, scratch, factors, a);
    for (const [z, mean] of means.entries()) {
      if (failed[z] === true) shift[z] = args.jitter * mean * 10 ** attempt;
    }
    using shifts = yield* waited(() =>
      tensor(shift, { dtype: setting.dtype, device: setting.device, ...workOf(call) }),
    );
    using shaped = shifts.reshape(jitters.shape);
    yield* waited(() => jitters.copyFrom(shaped, workOf(call)));
    const only = factors.codes;
    yield* pack(call, setting.batchShape, a, factors.matrices, { part, shifts, only });
    yield* factorAll(call, scratch, factors, { only: (z) => failed[z] === true });
  }
}

/** Which finite matrices have no factor yet. */
function* failing(
  call: CholeskyCall,
  codes: Storage,
  infos: Tensor<'int32'>,
): Enqueuing<boolean[]> {
  const values = yield* readNumbers(call, codes, 'int32');
  const known = yield* waited(() => infos.toTypedArray(workOf(call)));
  return [...values].map((code, z) => code > 0 && known[z] === 0);
}

function* diagonalMeans(
  call: CholeskyCall,
  scratch: Scratch,
  { matrices }: Factors,
  a: MatrixOperand,
): Enqueuing<readonly number[]> {
  const { dtype, batchShape } = call.setting;
  const plain = scratch.matrices(matrices.rows, matrices.columns);
  const means = scratch.bytes(8 * scratch.count);
  yield* pack(call, batchShape, a, plain);
  const pointers = { matrices: plain.storage, means };
  const sizes = { n: matrices.rows, count: scratch.count };
  yield* launch(call, kernels.diagonalMeans(dtype), pointers, sizes);
  return [...(yield* readNumbers(call, means, 'float64'))];
}
