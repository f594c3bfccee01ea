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
import type { Addon } from '../native/addon.js';
import type { WorkspaceBytes } from '../native/library-calls.js';
import { handleOf } from '../native/owned.js';
import { readOptions } from '../read-options.js';
import type { CudaStream } from '../stream.js';
import { sideCode, typeCode, type RealType, type Side } from '../matrix-options.js';
import type { FactorShape } from './lu.js';

/** A QR factorisation in place: R in the upper triangle, Householder vectors below the diagonal. */
export interface GeqrfOptions {
  readonly dtype: RealType;
  readonly rows: number;
  readonly columns: number;
  readonly a: DeviceMatrix;
  /** min(rows, columns) factors of the reflectors, of `dtype`. */
  readonly tau: DeviceRegion;
  /** At least `geqrfWorkspace(...).deviceBytes`. */
  readonly workspace?: DeviceWorkspace;
  /** One int32: 0, or -i when argument i of cusolverDnXgeqrf is wrong. */
  readonly info: DeviceRegion;
}

/** A product in place with the Q of `geqrf`: c = op(Q) c (left) or c op(Q) (right). At most 2^31 - 1 each way. */
export interface OrmqrShape {
  readonly dtype: RealType;
  readonly side: Side;
  /** Multiplies by Qᵀ. Default false. */
  readonly transpose?: boolean;
  /** Of `c`. */
  readonly rows: number;
  /** Of `c`. */
  readonly columns: number;
  /** Columns of `a`, at most its rows, which are the order of Q. */
  readonly reflectors: number;
  readonly a: DeviceMatrix;
  readonly tau: DeviceRegion;
  readonly c: DeviceMatrix;
}

/** A product with Q and what it needs. */
export interface OrmqrOptions extends OrmqrShape {
  /** At least `ormqrWorkspace(...).deviceBytes`. */
  readonly workspace?: DeviceWorkspace;
  /** One int32: 0, or -i when argument i of cusolverDnSormqr is wrong. */
  readonly info: DeviceRegion;
}

const FACTOR_SHAPE: OptionNames<FactorShape> = {
  dtype: true,
  rows: true,
  columns: true,
  leadingDimension: true,
};
const GEQRF: OptionNames<GeqrfOptions> = {
  dtype: true,
  rows: true,
  columns: true,
  a: true,
  tau: true,
  workspace: true,
  info: true,
};
const ORMQR_SHAPE: OptionNames<OrmqrShape> = {
  dtype: true,
  side: true,
  transpose: true,
  rows: true,
  columns: true,
  reflectors: true,
  a: true,
  tau: true,
  c: true,
};
const ORMQR: OptionNames<OrmqrOptions> = { ...ORMQR_SHAPE, workspace: true, info: true };

/**
 * Bytes that `geqrf` needs.
 *
 * @see cusolverDnXgeqrf_bufferSize: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function geqrfWorkspace(stream: CudaStream, shape: FactorShape): WorkspaceBytes {
  const read = readOptions('cusolver.geqrfWorkspace', shape, FACTOR_SHAPE);
  const { dtype, rows, columns, leadingDimension } = read;
  return requireCusolver().geqrfWorkspace(
    handleOf(stream, 'CudaStream'),
    typeCode(dtype),
    rows,
    columns,
    leadingDimension,
  );
}

/**
 * Enqueues cusolverDnXgeqrf.
 *
 * @see cusolverDnXgeqrf: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function geqrf(stream: CudaStream, options: GeqrfOptions): void {
  const read = readOptions('cusolver.geqrf', options, GEQRF);
  const { dtype, rows, columns, a, tau, workspace, info } = read;
  requireCusolver().geqrf(
    handleOf(stream, 'CudaStream'),
    typeCode(dtype),
    rows,
    columns,
    ...matrixOf(a),
    ...regionOf(tau),
    ...workspaceOf(workspace),
    ...regionOf(info),
  );
}

/**
 * Bytes that `ormqr` needs; nothing on the host.
 *
 * @see cusolverDn<t>ormqr_bufferSize: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function ormqrWorkspace(stream: CudaStream, shape: OrmqrShape): WorkspaceBytes {
  const read = readOptions('cusolver.ormqrWorkspace', shape, ORMQR_SHAPE);
  return requireCusolver().ormqrWorkspace(handleOf(stream, 'CudaStream'), ...reflectionOf(read));
}

/**
 * Enqueues cusolverDnSormqr or cusolverDnDormqr.
 *
 * @see cusolverDn<t>ormqr: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function ormqr(stream: CudaStream, options: OrmqrOptions): void {
  const read = readOptions('cusolver.ormqr', options, ORMQR);
  requireCusolver().ormqr(
    handleOf(stream, 'CudaStream'),
    ...reflectionOf(read),
    ...workspaceOf(read.workspace),
    ...regionOf(read.info),
  );
}

type Reflection =
  Parameters<Addon['ormqrWorkspace']> extends [unknown, ...infer Rest] ? Rest : never;

function reflectionOf(shape: OrmqrShape): Reflection {
  const { dtype, side, transpose = false, rows, columns, reflectors, a, tau, c } = shape;
  return [
    typeCode(dtype),
    sideCode(side),
    transpose ? 1 : 0,
    rows,
    columns,
    reflectors,
    ...matrixOf(a),
    ...regionOf(tau),
    ...matrixOf(c),
  ];
}
