export type { WrtOption } from '../options.js';
export type {
  BackwardOptions,
  GradientTargets,
  LaterGradients,
  LinalgGradients,
  PreparedGradients,
  Shaped,
} from './backward-options.js';
export {
  choleskyBackward,
  type CholeskyBackward,
  type CholeskyBackwardOptions,
  type CholeskySaved,
} from './cholesky-backward.js';
export {
  eighBackward,
  type EighBackward,
  type EighGradients,
  type EighSaved,
} from './eigh-backward.js';
export {
  invBackward,
  type InvBackward,
  type InvBackwardOptions,
  type InvSaved,
} from './inv-backward.js';
export { kronBackward, type KronBackward, type KronBackwardOptions } from './kron-backward.js';
export {
  kronMatvecBackward,
  type KronMatvecBackward,
  type KronMatvecBackwardOptions,
  type KronMatvecInputs,
  type KronMatvecSaved,
} from './kron-matvec-backward.js';
export {
  logdetBackward,
  type LogdetBackward,
  type LogdetBackwardOptions,
  type LogdetSaved,
} from './logdet-backward.js';
export {
  lstsqBackward,
  type LstsqBackward,
  type LstsqBackwardOptions,
  type LstsqSaved,
} from './lstsq-backward.js';
export {
  matmulBackward,
  type MatmulBackward,
  type MatmulBackwardOptions,
  type ProductSaved,
} from './matmul-backward.js';
export {
  matrixPowerBackward,
  type MatrixPowerBackward,
  type MatrixPowerBackwardOptions,
  type MatrixPowerSaved,
} from './matrix-power-backward.js';
export { qrBackward, type QrBackward, type QrGradients, type QrSaved } from './qr-backward.js';
export type {
  SolveBackwardFunction,
  SolveBackwardOptions,
  SolveInputs,
  SolveSaved,
} from './solve-backward.js';
export {
  solveCholeskyBackward,
  type SolveCholeskyBackward,
  type SolveCholeskyBackwardOptions,
  type SolveCholeskySaved,
} from './solve-cholesky-backward.js';
export { solveLUBackward } from './solve-lu-backward.js';
export type { SpectrumOptions, SpectrumWarning } from './spectrum.js';
export { svdBackward, type SvdBackward, type SvdGradients, type SvdSaved } from './svd-backward.js';
export {
  solveTriangularBackward,
  type SolveTriangularBackwardOptions,
  type SolveTriangularForward,
} from './solve-triangular-backward.js';
