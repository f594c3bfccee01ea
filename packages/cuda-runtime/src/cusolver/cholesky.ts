import type { OptionNames } from '@mercer/options';
import {
  matrixOf,
  regionOf,
  workspaceOf,
  type DeviceMatrix,
  type DeviceRegion,
  type DeviceWorkspace,
} from '../device-region.js';
import { requireCusolver } from '../library/open-libraries.js';
import type { WorkspaceBytes } from '../native/library-calls.js';
import { handleOf } from '../native/owned.js';
import { readOptions } from '../read-options.js';
import type { CudaStream } from '../stream.js';
import { triangleCode, typeCode, type RealType, type Triangle } from '../matrix-options.js';

/** The shape of a Cholesky factorisation, n x n. */
export interface PotrfShape {
  readonly dtype: RealType;
  readonly uplo: Triangle;
  readonly n: number;
  readonly leadingDimension: number;
}

/** A Cholesky factorisation in place: a = L Lᵀ (lower) or Uᵀ U (upper). */
export interface PotrfOptions {
  readonly dtype: RealType;
  readonly uplo: Triangle;
  readonly n: number;
  readonly a: DeviceMatrix;
  /** At least `potrfWorkspace(...).deviceBytes`. */
  readonly workspace?: DeviceWorkspace;
  /** One int32: 0, or i > 0 when the leading minor of order i is not positive. */
  readonly info: DeviceRegion;
}

/** A solve with the factor that `potrf` left in `a`; `b` of n x `columns` becomes the solution. */
export interface PotrsOptions {
  readonly dtype: RealType;
  readonly uplo: Triangle;
  readonly n: number;
  readonly columns: number;
  readonly a: DeviceMatrix;
  readonly b: DeviceMatrix;
  /** One int32: 0, or -i when argument i of cusolverDnXpotrs is wrong. */
  readonly info: DeviceRegion;
}

const POTRF_SHAPE: OptionNames<PotrfShape> = {
  dtype: true,
  uplo: true,
  n: true,
  leadingDimension: true,
};
const POTRF: OptionNames<PotrfOptions> = {
  dtype: true,
  uplo: true,
  n: true,
  a: true,
  workspace: true,
  info: true,
};
const POTRS: OptionNames<PotrsOptions> = {
  dtype: true,
  uplo: true,
  n: true,
  columns: true,
  a: true,
  b: true,
  info: true,
};

/**
 * Bytes that `potrf` needs.
 *
 * @see cusolverDnXpotrf_bufferSize: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function potrfWorkspace(stream: CudaStream, shape: PotrfShape): WorkspaceBytes {
  const read = readOptions('cusolver.potrfWorkspace', shape, POTRF_SHAPE);
  const { dtype, uplo, n, leadingDimension } = read;
  return requireCusolver().potrfWorkspace(
    handleOf(stream, 'CudaStream'),
    typeCode(dtype),
    triangleCode(uplo),
    n,
    leadingDimension,
  );
}

/**
 * Enqueues cusolverDnXpotrf.
 *
 * @see cusolverDnXpotrf: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function potrf(stream: CudaStream, options: PotrfOptions): void {
  const read = readOptions('cusolver.potrf', options, POTRF);
  const { dtype, uplo, n, a, workspace, info } = read;
  requireCusolver().potrf(
    handleOf(stream, 'CudaStream'),
    typeCode(dtype),
    triangleCode(uplo),
    n,
    ...matrixOf(a),
    ...workspaceOf(workspace),
    ...regionOf(info),
  );
}

/**
 * Enqueues cusolverDnXpotrs.
 *
 * @see cusolverDnXpotrs: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function potrs(stream: CudaStream, options: PotrsOptions): void {
  const read = readOptions('cusolver.potrs', options, POTRS);
  const { dtype, uplo, n, columns, a, b, info } = read;
  requireCusolver().potrs(
    handleOf(stream, 'CudaStream'),
    typeCode(dtype),
    triangleCode(uplo),
    n,
    columns,
    ...matrixOf(a),
    ...matrixOf(b),
    ...regionOf(info),
  );
}
