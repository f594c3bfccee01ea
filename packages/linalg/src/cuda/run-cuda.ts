import type { Fields, Routine } from '../routine.js';
import { routines } from '../routines.js';
import { cholesky } from './cholesky.js';
import type { CudaCall, CudaRoutine } from './cuda-call.js';
import { eigh } from './eigh.js';
import { gemm, gemmTf32, gemmTf32x3 } from './gemm.js';
import { kron } from './kron.js';
import { lstsq } from './lstsq.js';
import { namingTheLibrary } from './naming-the-library.js';
import { eigenPower, inverseRoot } from './powers.js';
import { qr } from './qr.js';
import { refinedCholesky, refinedLU } from './refined-solve.js';
import { solveCholesky, solveLU } from './solve.js';
import { condition, inverse, logdet } from './square-functions.js';
import { svd } from './svd.js';
import { triangularSolve } from './triangular-solve.js';

/** A routine and how a GPU computes it. */
function entry<F extends Fields>(
  { name }: Routine<F>,
  run: CudaRoutine<F>,
): readonly [string, CudaRoutine] {
  return [name, run as unknown as CudaRoutine];
}

/** By name of the routine. */
const cudaRoutines: ReadonlyMap<string, CudaRoutine> = new Map([
  entry(routines.solveCholesky, solveCholesky),
  entry(routines.solveLU, solveLU),
  entry(routines.refinedCholesky, refinedCholesky),
  entry(routines.refinedLU, refinedLU),
  entry(routines.triangularSolve, triangularSolve),
  entry(routines.cholesky, cholesky),
  entry(routines.eigh, eigh),
  entry(routines.inverse, inverse),
  entry(routines.logdet, logdet),
  entry(routines.condition, condition),
  entry(routines.qr, qr),
  entry(routines.svd, svd),
  entry(routines.lstsq, lstsq),
  entry(routines.gemm, gemm),
  ['gemm_tf32', gemmTf32 as CudaRoutine],
  ['gemm_tf32x3', gemmTf32x3 as CudaRoutine],
  entry(routines.kron, kron),
  entry(routines.eigenPower, eigenPower),
  entry(routines.inverseRoot, inverseRoot),
]);

/** Enqueues a routine on a GPU. @throws MercerError NO_BACKEND without the library */
export async function runCuda<F extends Fields>(
  { name }: Routine<F>,
  call: CudaCall<F>,
): Promise<void> {
  const routine = cudaRoutines.get(name);
  if (routine === undefined) throw new TypeError(`no GPU computes ${name}`);
  await namingTheLibrary(call.setting, () => routine(call));
}
