import type { OptionNames } from '@mercer/options';
import {
  matrixOf,
  optionalRegionOf,
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
import { pivotCode, typeCode, type PivotType, type RealType } from '../matrix-options.js';

/** The shape of a factorisation of rows x columns. */
export interface FactorShape {
  readonly dtype: RealType;
  readonly rows: number;
  readonly columns: number;
  readonly leadingDimension: number;
}

/** The shape of an LU factorisation. */
export interface GetrfShape extends FactorShape {
  /** As in GetrfOptions. */
  readonly pivotType?: PivotType;
}

/** An LU factorisation in place: P a = L U, the diagonal of L not stored. */
export interface GetrfOptions {
  readonly dtype: RealType;
  readonly rows: number;
  readonly columns: number;
  readonly a: DeviceMatrix;
  /** min(rows, columns) of `pivotType`, counted from 1. Left out: no pivoting. */
  readonly pivots?: DeviceRegion;
  /**
   * 'int64' (default) calls cusolverDnXgetrf and Xgetrs; 'int32' cusolverDnSgetrf or Dgetrf and their getrs, which exchange rows
   * quicker and take matrices of less than 2^31 elements. The same for a factorisation, its workspace and its solves.
   */
  readonly pivotType?: PivotType;
  /** At least `getrfWorkspace(...).deviceBytes`. */
  readonly workspace?: DeviceWorkspace;
  /** One int32: 0, or i > 0 when pivot i is exactly 0. */
  readonly info: DeviceRegion;
}

/** A solve with the factors that `getrf` left in `a`; `b` of n x `columns` becomes the solution. */
export interface GetrsOptions {
  readonly dtype: RealType;
  readonly n: number;
  readonly columns: number;
  /** Solves aᵀ x = b. Default false. */
  readonly transpose?: boolean;
  readonly a: DeviceMatrix;
  /** As `getrf` wrote them. */
  readonly pivots?: DeviceRegion;
  /** As `getrf` had it. */
  readonly pivotType?: PivotType;
  readonly b: DeviceMatrix;
  /** One int32: 0, or -i when argument i of getrs is wrong. */
  readonly info: DeviceRegion;
}

const GETRF_SHAPE: OptionNames<GetrfShape> = {
  dtype: true,
  rows: true,
  columns: true,
  leadingDimension: true,
  pivotType: true,
};
const GETRF: OptionNames<GetrfOptions> = {
  dtype: true,
  rows: true,
  columns: true,
  a: true,
  pivots: true,
  pivotType: true,
  workspace: true,
  info: true,
};
const GETRS: OptionNames<GetrsOptions> = {
  dtype: true,
  n: true,
  columns: true,
  transpose: true,
  a: true,
  pivots: true,
  pivotType: true,
  b: true,
  info: true,
};

/**
 * Bytes that `getrf` needs.
 *
 * @see cusolverDnXgetrf_bufferSize: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function getrfWorkspace(stream: CudaStream, shape: GetrfShape): WorkspaceBytes {
  const read = readOptions('cusolver.getrfWorkspace', shape, GETRF_SHAPE);
  const { dtype, rows, columns, leadingDimension, pivotType = 'int64' } = read;
  return requireCusolver().getrfWorkspace(
    handleOf(stream, 'CudaStream'),
    typeCode(dtype),
    pivotCode(pivotType),
    rows,
    columns,
    leadingDimension,
  );
}

/**
 * Enqueues cusolverDnXgetrf, or Sgetrf or Dgetrf.
 *
 * @see cusolverDnXgetrf, cusolverDn<t>getrf: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function getrf(stream: CudaStream, options: GetrfOptions): void {
  const read = readOptions('cusolver.getrf', options, GETRF);
  const { dtype, rows, columns, a, pivots, pivotType = 'int64', workspace, info } = read;
  requireCusolver().getrf(
    handleOf(stream, 'CudaStream'),
    typeCode(dtype),
    pivotCode(pivotType),
    rows,
    columns,
    ...matrixOf(a),
    ...optionalRegionOf(pivots),
    ...workspaceOf(workspace),
    ...regionOf(info),
  );
}

/**
 * Enqueues cusolverDnXgetrs, or Sgetrs or Dgetrs.
 *
 * @see cusolverDnXgetrs, cusolverDn<t>getrs: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function getrs(stream: CudaStream, options: GetrsOptions): void {
  const read = readOptions('cusolver.getrs', options, GETRS);
  const { dtype, n, columns, transpose = false, a, b, info } = read;
  const { pivots, pivotType = 'int64' } = read;
  requireCusolver().getrs(
    handleOf(stream, 'CudaStream'),
    typeCode(dtype),
    pivotCode(pivotType),
    transpose ? 1 : 0,
    n,
    columns,
    ...matrixOf(a),
    ...optionalRegionOf(pivots),
    ...matrixOf(b),
    ...regionOf(info),
  );
}
