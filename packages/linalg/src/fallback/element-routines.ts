import type { ElementRoutine } from './element.js';
import {
  cholesky,
  condition,
  inverse,
  logdet,
  solveCholesky,
  solveLU,
  triangularSolve,
} from './factors.js';
import { eigenPower, inverseRoot } from './powers.js';
import { eigh, gemm, kron, lstsq, qr, svd } from './orthogonal.js';

/** The routines by the names that the native side has for them. */
export const elementRoutines: Readonly<Record<string, ElementRoutine>> = {
  solve_cholesky: solveCholesky,
  solve_lu: solveLU,
  // ml-matrix is float64 throughout: there is nothing to refine.
  refined_cholesky: solveCholesky,
  refined_lu: solveLU,
  triangular_solve: triangularSolve,
  cholesky,
  eigh,
  inverse,
  logdet,
  condition,
  qr,
  svd,
  lstsq,
  gemm,
  kron,
  eigen_power: eigenPower,
  inverse_root: inverseRoot,
};
