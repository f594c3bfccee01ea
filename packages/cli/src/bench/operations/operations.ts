import {
  isLinear,
  isReduction,
  isSolver,
  type Cell,
  type LinearName,
  type OperationName,
  type ReductionName,
  type SolverCell,
  type SolverName,
} from '../cells.js';
import { cdistOperation } from './cdist.js';
import { weightedDifferencesOperation } from './weighted-differences.js';
import {
  gaussianOperation,
  laplaceOperation,
  exponentialOperation,
  minkowskiOperation,
} from './kernels.js';
import {
  eighOperation,
  matmulOperation,
  solveCholeskyOperation,
  solveLUOperation,
  svdOperation,
} from './linear.js';
import { kMeansOperation } from './k-means.js';
import type {
  ElementOperation,
  OperationParts,
  ReductionOperation,
  ResidualOperation,
  Result,
} from './operation.js';
import {
  gaussianGradientOperation,
  gaussianSumOperation,
  kMeansAssignmentOperation,
  laplacianSumOperation,
  logSumExpOperation,
  nearestOperation,
} from './reductions.js';
import { inverseKernelOperation, solveOperation } from './solves.js';

/** Operations by Mercer's own kernels, by their names. */
export const OPERATIONS: Readonly<Record<OperationName, ElementOperation>> = {
  cdist: cdistOperation,
  minkowski: minkowskiOperation,
  laplace: laplaceOperation,
  exponential: exponentialOperation,
  gaussian: gaussianOperation,
  weightedDifferences: weightedDifferencesOperation,
};

/** Operations of dense linear algebra, by their names. */
export const LINEAR_OPERATIONS: Readonly<Record<LinearName, ResidualOperation>> = {
  solveCholesky: solveCholeskyOperation,
  solveLU: solveLUOperation,
  eigh: eighOperation,
  svd: svdOperation,
  matmul: matmulOperation,
};

/** Reductions of symbolic formulas, by their names. */
export const REDUCTION_OPERATIONS: Readonly<Record<ReductionName, ReductionOperation>> = {
  gaussianSum: gaussianSumOperation,
  laplacianSum: laplacianSumOperation,
  logSumExp: logSumExpOperation,
  gaussianGradient: gaussianGradientOperation,
  nearest: nearestOperation,
  kMeansAssignment: kMeansAssignmentOperation,
  kMeans: kMeansOperation,
};

/** Systems with kernel matrices, by their names. */
export const SOLVER_OPERATIONS: Readonly<Record<SolverName, ResidualOperation<SolverCell>>> = {
  solve: solveOperation,
  inverseKernel: inverseKernelOperation,
};

/** What is the same for all kinds; only cells of the operation's own kind may be given to it. */
export function operationOf(cell: Cell): OperationParts<Cell, Result> {
  if (isReduction(cell)) return REDUCTION_OPERATIONS[cell.operation];
  if (isSolver(cell)) return SOLVER_OPERATIONS[cell.operation];
  return isLinear(cell) ? LINEAR_OPERATIONS[cell.operation] : OPERATIONS[cell.operation];
}
