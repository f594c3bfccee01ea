import { smallSolveBytes } from '@mercer/kernels';
import type { routines } from '../routines.js';
import { needed } from './needed.js';
import type { CudaCall } from './cuda-call.js';
import { factorAll, Factors } from './factor.js';
import { kernels, launch } from './kernels.js';
import { batchScalars, mergeCodes, pack, strideScalars, triangle, unpack } from './move.js';
import { countOf, Scratch } from './scratch.js';

type SolveCall = CudaCall<typeof routines.solveCholesky.fields>;

/** Orders beyond this are factored faster by the library, one matrix after the other (docs/performance.md). */
const SMALL_ORDER = 96;

/** Solutions by Cholesky factors. */
export const solveCholesky = (call: SolveCall): Promise<void> => solve(call, true);

/** Solutions by LU factors. */
export const solveLU = (call: SolveCall): Promise<void> => solve(call, false);

async function solve(call: SolveCall, cholesky: boolean): Promise<void> {
  const { setting, args, stream } = call;
  const { batchShape } = setting;
  if (countOf(batchShape) === 0) return;
  const [a, b, x] = needed(args, 'a', 'b', 'x');
  if (isSmall(call, a.rows, b.columns)) {
    await solveSmall(call, cholesky);
    return;
  }
  const { infos, factor } = args;
  const uplo = triangle(args.upper);
  const part = cholesky ? uplo : 'all';
  using scratch = new Scratch(call);
  await infos.fill(0, { stream });
  const matrices = scratch.matrices(a.rows, a.columns);
  const sides = scratch.matrices(b.rows, b.columns);
  await pack(stream, batchShape, a, matrices, { part, infos });
  await pack(stream, batchShape, b, sides);
  const factors = new Factors(scratch, matrices, { cholesky, uplo });
  await factorAll(call, scratch, factors, sides);
  await mergeCodes(stream, infos, factors.codes, scratch.count);
  await unpack(stream, batchShape, sides, x, infos);
  if (factor !== undefined) await unpack(stream, batchShape, matrices, factor, infos, { part });
}

/** Does a system fit the shared memory of a block, and is it small enough to gain from that? */
function isSmall({ setting }: SolveCall, n: number, columns: number): boolean {
  const { device, dtype } = setting;
  const { limits } = device;
  if (n > SMALL_ORDER || limits.kind !== 'cuda') return false;
  return smallSolveBytes(dtype, n, columns) <= limits.sharedMemPerBlockOptin - 1024;
}

async function solveSmall(call: SolveCall, cholesky: boolean): Promise<void> {
  const { setting, args, stream } = call;
  const { batchShape, dtype } = setting;
  const [a, b, x] = needed(args, 'a', 'b', 'x');
  const { infos, factor } = args;
  const kernel = kernels.smallSolve(cholesky ? 'cholesky' : 'lu', dtype);
  const pointers = { a: a.memory, b: b.memory, x: x.memory, factor: factor?.memory, infos };
  const sizes = { n: a.rows, columns: b.columns, upper: args.upper, count: countOf(batchShape) };
  await launch(stream, kernel, pointers, {
    ...sizes,
    ...strideScalars('a', a),
    ...strideScalars('b', b),
    ...strideScalars('x', x),
    ...strideScalars('factor', factor ?? a),
    ...batchScalars(batchShape),
  });
}
