import type { FieldsOf, RoutineName } from '../routines.js';
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

/** How a GPU computes each routine. */
const cudaRoutines: { readonly [K in RoutineName]: CudaRoutine<FieldsOf<K>> } = {
  solveCholesky,
  solveLU,
  refinedCholesky,
  refinedLU,
  triangularSolve,
  cholesky,
  eigh,
  inverse,
  logdet,
  condition,
  qr,
  svd,
  lstsq,
  gemm,
  gemmTf32,
  gemmTf32x3,
  kron,
  eigenPower,
  inverseRoot,
};

/** Enqueues a routine on a GPU. @throws MercerError NO_BACKEND without the library */
export async function runCuda<K extends RoutineName>(
  name: K,
  call: CudaCall<FieldsOf<K>>,
): Promise<void> {
  await namingTheLibrary(call.setting, () => cudaRoutines[name](call));
}
