import type { Enqueuing } from '@mercer/tensor/operation';
import { nativeStream } from '@mercer/tensor/cuda';
import type { FieldsOf } from '../routines.js';
import { factorBatched } from './batched.js';
import type { CudaCall } from './cuda-call.js';
import { exchangedSolve } from './exchanged-solve.js';
import { factorAll, Factors } from './factor.js';
import { kernels, launch } from './kernels.js';
import { batchScalars, mergeCodes, pack, strideScalars, triangle, unpack } from './move.js';
import type { LibraryName } from './libraries.js';
import { factored, planLU, type LuPlan } from './plan-lu.js';
import { planSolve, type SolvePlan } from './plan.js';
import { clear, countOf, Scratch } from './scratch.js';

type SolveCall = CudaCall<FieldsOf<'solveCholesky'>>;

/** Solutions by Cholesky factors. */
export const solveCholesky = (call: SolveCall): Enqueuing => solve(call, true);

/** Solutions by LU factors. */
export const solveLU = (call: SolveCall): Enqueuing => solve(call, false);

/** The libraries of a solve. */
export function solveLibraries(call: SolveCall, cholesky: boolean): readonly LibraryName[] {
  const { plan, lu } = plansOf(call, cholesky);
  if (plan === 'small') return [];
  const ownTriangles = plan === 'batched' || lu?.exchange === 'kernel';
  return ownTriangles ? ['cusolver', 'cublas'] : ['cusolver'];
}

function* solve(call: SolveCall, cholesky: boolean): Enqueuing {
  const { setting, args } = call;
  const { batchShape } = setting;
  const { a, b, x } = args;
  const { plan, lu } = plansOf(call, cholesky);
  if (plan === 'small') {
    yield* solveSmall(call, cholesky);
    return;
  }
  const { infos, factor: kept } = args;
  const uplo = triangle(args.upper);
  const part = cholesky ? uplo : 'all';
  using scratch = new Scratch(call);
  clear(call, infos);
  const matrices = scratch.matrices(a.rows, a.columns);
  const sides = scratch.matrices(b.rows, b.columns);
  yield* pack(call, batchShape, factored(a, lu), matrices, { part, infos });
  yield* pack(call, batchShape, b, sides);
  const factors = new Factors(scratch, matrices, { cholesky, uplo, lu });
  if (plan === 'batched') yield* factorBatched(call, scratch, factors, sides);
  else if (lu?.exchange === 'kernel') yield* exchangedSolve(call, scratch, factors, sides);
  else yield* factorAll(call, scratch, factors, { sides });
  yield* mergeCodes(call, infos, factors.codes, scratch.count);
  yield* unpack(call, batchShape, sides, x, infos);
  if (kept !== undefined) yield* unpack(call, batchShape, matrices, kept, infos, { part });
}

function plansOf(
  { setting, args, stream }: SolveCall,
  cholesky: boolean,
): { readonly plan: SolvePlan; readonly lu: LuPlan | undefined } {
  const { device, dtype, batchShape } = setting;
  const { limits } = device;
  if (limits.kind !== 'cuda') throw new TypeError(`${device.id} is no GPU`);
  const { a, b, factor } = args;
  const problem = { dtype, n: a.rows, columns: b.columns, count: countOf(batchShape) };
  const chosen = planSolve({ cholesky, ...problem }, limits);
  // A capture takes no tables of addresses from the host.
  const plan = chosen === 'batched' && nativeStream(stream).capturing ? 'streams' : chosen;
  const use = factor === undefined ? 'solution' : 'factor';
  const lu = cholesky || plan !== 'streams' ? undefined : planLU({ ...problem, use });
  return { plan, lu };
}

function* solveSmall(call: SolveCall, cholesky: boolean): Enqueuing {
  const { setting, args } = call;
  const { batchShape, dtype } = setting;
  const { a, b, x, infos, factor } = args;
  const kernel = kernels.smallSolve(cholesky ? 'cholesky' : 'lu', dtype);
  const pointers = { a: a.memory, b: b.memory, x: x.memory, factor: factor?.memory, infos };
  const sizes = { n: a.rows, columns: b.columns, upper: args.upper, count: countOf(batchShape) };
  yield* launch(call, kernel, pointers, {
    ...sizes,
    ...strideScalars({ a, b, x, factor: factor ?? a }),
    ...batchScalars(batchShape),
  });
}
