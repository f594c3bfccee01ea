export type { BackwardOptions, LinalgGradients, Shaped, WrtOption } from './backward-options.js';
export { choleskyBackward, type CholeskyBackwardOptions } from './cholesky-backward.js';
export { eighBackward, type EighGradients, type EighSaved } from './eigh-backward.js';
export { invBackward, type InvBackwardOptions } from './inv-backward.js';
export { kronBackward, type KronBackwardOptions } from './kron-backward.js';
export {
  kronMatvecBackward,
  type KronMatvecBackwardOptions,
  type KronMatvecInputs,
  type KronMatvecSaved,
} from './kron-matvec-backward.js';
export {
  slogdetBackward,
  type SlogdetBackwardOptions,
  type SlogdetSaved,
} from './slogdet-backward.js';
export { lstsqBackward, type LstsqBackwardOptions, type LstsqSaved } from './lstsq-backward.js';
export { matmulBackward, type MatmulBackwardOptions } from './matmul-backward.js';
export {
  matrixPowerBackward,
  type MatrixPowerBackwardOptions,
  type MatrixPowerSaved,
} from './matrix-power-backward.js';
export { qrBackward, type QrGradients, type QrSaved } from './qr-backward.js';
export type { SolveBackwardOptions, SolveInputs, SolveSaved } from './solve-backward.js';
export {
  solveCholeskyBackward,
  type SolveCholeskyBackwardOptions,
  type SolveCholeskySaved,
} from './solve-cholesky-backward.js';
export { solveLUBackward } from './solve-lu-backward.js';
export type { SpectrumOptions, SpectrumWarning } from './spectrum.js';
export { svdBackward, type SvdGradients, type SvdSaved } from './svd-backward.js';
export {
  solveTriangularBackward,
  type SolveTriangularBackwardOptions,
} from './solve-triangular-backward.js';
