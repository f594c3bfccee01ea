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
import type { CudaStream } from '../stream.js';
import { typeCode, type RealType } from '../matrix-options.js';

/** The shape of a factorisation of rows x columns. */
export interface FactorShape {
  readonly dtype: RealType;
  readonly rows: number;
  readonly columns: number;
  readonly leadingDimension: number;
}

/** An LU factorisation in place: P a = L U, the diagonal of L not stored. */
export interface GetrfOptions {
  readonly dtype: RealType;
  readonly rows: number;
  readonly columns: number;
  readonly a: DeviceMatrix;
  /** min(rows, columns) int64, counted from 1. Left out: no pivoting. */
  readonly pivots?: DeviceRegion;
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
  readonly b: DeviceMatrix;
  /** One int32: 0, or -i when argument i of cusolverDnXgetrs is wrong. */
  readonly info: DeviceRegion;
}

/** Bytes that `getrf` needs. */
export function getrfWorkspace(stream: CudaStream, shape: FactorShape): WorkspaceBytes {
  const { dtype, rows, columns, leadingDimension } = shape;
  return requireCusolver().getrfWorkspace(
    handleOf(stream, 'CudaStream'),
    typeCode(dtype),
    rows,
    columns,
    leadingDimension,
  );
}

/** Enqueues cusolverDnXgetrf. */
export function getrf(stream: CudaStream, options: GetrfOptions): void {
  const { dtype, rows, columns, a, pivots, workspace, info } = options;
  requireCusolver().getrf(
    handleOf(stream, 'CudaStream'),
    typeCode(dtype),
    rows,
    columns,
    ...matrixOf(a),
    ...optionalRegionOf(pivots),
    ...workspaceOf(workspace),
    ...regionOf(info),
  );
}

/** Enqueues cusolverDnXgetrs. */
export function getrs(stream: CudaStream, options: GetrsOptions): void {
  const { dtype, n, columns, transpose = false, a, pivots, b, info } = options;
  requireCusolver().getrs(
    handleOf(stream, 'CudaStream'),
    typeCode(dtype),
    transpose ? 1 : 0,
    n,
    columns,
    ...matrixOf(a),
    ...optionalRegionOf(pivots),
    ...matrixOf(b),
    ...regionOf(info),
  );
}
