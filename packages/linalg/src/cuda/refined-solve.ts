import type { Enqueuing } from '@mercer/tensor/operation';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { factorAll, Factors, solveAll } from './factor.js';
import { kernels, launch } from './kernels.js';
import { convert, mergeCodes, pack, triangle, unpack } from './move.js';
import { factored, planLU } from './plan-lu.js';
import { multiply } from './product.js';
import { clear, Scratch, type Dense } from './scratch.js';

type RefinedCall = CudaCall<FieldsOf<'refinedCholesky'>>;

/** Solutions from a float32 Cholesky factor, corrected with residuals in float64. */
export const refinedCholesky = (call: RefinedCall): Enqueuing => refined(call, true);

/** Solutions from float32 LU factors, corrected with residuals in float64. */
export const refinedLU = (call: RefinedCall): Enqueuing => refined(call, false);

function* refined(call: RefinedCall, cholesky: boolean): Enqueuing {
  const { setting, args } = call;
  const { batchShape } = setting;
  const { a, b, x, infos, steps } = args;
  const uplo = triangle(args.upper);
  const part = cholesky ? uplo : 'all';
  const problem = { dtype: 'float32', n: a.rows, columns: b.columns, use: 'solution' } as const;
  const lu = cholesky ? undefined : planLU(problem);
  using scratch = new Scratch(call);
  clear(call, infos);
  const exact = scratch.matrices(a.rows, a.columns, 'float64');
  const single = scratch.matrices(a.rows, a.columns, 'float32');
  yield* pack(call, batchShape, a, exact, { part, mirrored: cholesky, infos });
  yield* pack(call, batchShape, factored(a, lu), single, { part, infos });
  const sides = scratch.matrices(b.rows, b.columns, 'float64');
  yield* pack(call, batchShape, b, sides);
  const factors = new Factors(scratch, single, { cholesky, uplo, lu });
  yield* factorAll(call, scratch, factors);
  yield* mergeCodes(call, infos, factors.codes, scratch.count);
  const solution = yield* correct(call, scratch, factors, { exact, sides, steps });
  yield* unpack(call, batchShape, solution, x, infos);
}

/** x += factor^-1 (b - a x), once from x = 0 and then `steps` times. */
function* correct(
  call: RefinedCall,
  scratch: Scratch,
  factors: Factors,
  { exact, sides, steps }: { exact: Dense; sides: Dense; steps: number },
): Enqueuing<Dense> {
  const { rows, columns, count } = sides;
  const solution = scratch.matrices(rows, columns, 'float64');
  const residual = scratch.matrices(rows, columns, 'float64');
  const correction = scratch.matrices(rows, columns, 'float32');
  clear(call, solution.storage);
  for (let step = 0; step <= steps; step++) {
    yield* convert(call, sides, residual);
    if (step > 0) multiply(call, { a: exact, b: solution, c: residual, alpha: -1, beta: 1 });
    yield* convert(call, residual, correction);
    yield* solveAll(call, scratch, factors, correction);
    const pointers = { from: correction.storage, to: solution.storage };
    const elements = rows * columns * count;
    yield* launch(call, kernels.addCorrections(), pointers, { elements });
  }
  return solution;
}
