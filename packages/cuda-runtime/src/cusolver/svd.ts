import type { OptionNames } from '@mercer/options';
import { codeOf } from '../code-of.js';
import {
  matrixOf,
  optionalMatrixOf,
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
import { typeCode, type RealType } from '../matrix-options.js';

/** Which singular vectors are wanted: all, the first `columns`, or none. */
export type SingularVectors = 'all' | 'thin' | 'none';

/** a = U diag(s) Vᵀ for rows >= columns (for others decompose the transpose). `a` is destroyed. */
export interface GesvdShape {
  readonly dtype: RealType;
  readonly rows: number;
  readonly columns: number;
  readonly a: DeviceMatrix;
  /** `columns` singular values of `dtype`, descending. */
  readonly values: DeviceRegion;
  readonly leftVectors: SingularVectors;
  /** U: rows x rows (all) or rows x columns (thin). */
  readonly u?: DeviceMatrix;
  readonly rightVectors: SingularVectors;
  /** Vᵀ (not V): columns x columns. */
  readonly vt?: DeviceMatrix;
}

/** A singular value decomposition and what it needs. */
export interface GesvdOptions extends GesvdShape {
  /** At least `gesvdWorkspace(...).deviceBytes`. */
  readonly workspace?: DeviceWorkspace;
  /** One int32: 0, or i > 0 when i superdiagonals did not converge. */
  readonly info: DeviceRegion;
}

const GESVD_SHAPE: OptionNames<GesvdShape> = {
  dtype: true,
  rows: true,
  columns: true,
  a: true,
  values: true,
  leftVectors: true,
  u: true,
  rightVectors: true,
  vt: true,
};
const GESVD: OptionNames<GesvdOptions> = { ...GESVD_SHAPE, workspace: true, info: true };

/**
 * Bytes that `gesvd` needs.
 *
 * @see cusolverDnXgesvd_bufferSize: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function gesvdWorkspace(stream: CudaStream, shape: GesvdShape): WorkspaceBytes {
  const read = readOptions('cusolver.gesvdWorkspace', shape, GESVD_SHAPE);
  return requireCusolver().gesvdWorkspace(handleOf(stream, 'CudaStream'), ...problemOf(read));
}

/**
 * Runs cusolverDnXgesvd on the stream's solver thread, after everything enqueued on the stream so
 * far. Resolves when the results are in device memory; work enqueued before that is not ordered
 * with them. Cannot be captured.
 *
 * @see cusolverDnXgesvd: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export async function gesvd(stream: CudaStream, options: GesvdOptions): Promise<void> {
  const read = readOptions('cusolver.gesvd', options, GESVD);
  await requireCusolver().gesvd(
    handleOf(stream, 'CudaStream'),
    ...problemOf(read),
    ...workspaceOf(read.workspace),
    ...regionOf(read.info),
  );
}

type SingularProblem =
  Parameters<Addon['gesvdWorkspace']> extends [unknown, ...infer Rest] ? Rest : never;

const choices = { none: 0, thin: 1, all: 2 } as const;

function problemOf(shape: GesvdShape): SingularProblem {
  const { dtype, rows, columns, a, values, leftVectors, u, rightVectors, vt } = shape;
  return [
    typeCode(dtype),
    codeOf(choices, leftVectors, 'leftVectors'),
    codeOf(choices, rightVectors, 'rightVectors'),
    rows,
    columns,
    ...matrixOf(a),
    ...regionOf(values),
    ...optionalMatrixOf(u),
    ...optionalMatrixOf(vt),
  ];
}
