import { describeValue, type OptionNames } from '@mercer/options';
import {
  matrixOf,
  regionOf,
  workspaceOf,
  type DeviceMatrix,
  type DeviceRegion,
  type DeviceWorkspace,
} from '../device-region.js';
import { misuse } from '../errors.js';
import { requireCusolver } from '../library/open-libraries.js';
import type { Addon } from '../native/addon.js';
import type { WorkspaceBytes } from '../native/library-calls.js';
import { handleOf } from '../native/owned.js';
import { readOptions } from '../read-options.js';
import type { CudaStream } from '../stream.js';
import { triangleCode, typeCode, type RealType, type Triangle } from '../matrix-options.js';

/** A symmetric eigenproblem of n x n. */
export interface SyevdShape {
  readonly dtype: RealType;
  readonly uplo: Triangle;
  readonly n: number;
  /** Overwritten: by the eigenvectors as columns if they are wanted. */
  readonly a: DeviceMatrix;
  /** n eigenvalues of `dtype`, ascending. */
  readonly values: DeviceRegion;
  readonly vectors: boolean;
}

/** An eigenproblem and what it needs. */
export interface SyevdOptions extends SyevdShape {
  /** At least `syevdWorkspace(...).deviceBytes`. */
  readonly workspace?: DeviceWorkspace;
  /** One int32: 0, or i > 0 when i values did not converge. */
  readonly info: DeviceRegion;
}

/** Many eigenproblems: matrices lie n * leadingDimension elements apart, values n apart. */
export interface SyevBatchedShape extends SyevdShape {
  /** At least 1. */
  readonly batch: number;
}

/** Many eigenproblems and what they need. */
export interface SyevBatchedOptions extends SyevBatchedShape {
  /** At least `syevBatchedWorkspace(...).deviceBytes`. */
  readonly workspace?: DeviceWorkspace;
  /** `batch` int32 as in `syevd`. */
  readonly infos: DeviceRegion;
}

const SYEVD_SHAPE: OptionNames<SyevdShape> = {
  dtype: true,
  uplo: true,
  n: true,
  a: true,
  values: true,
  vectors: true,
};
const SYEVD: OptionNames<SyevdOptions> = { ...SYEVD_SHAPE, workspace: true, info: true };
const SYEV_BATCHED_SHAPE: OptionNames<SyevBatchedShape> = { ...SYEVD_SHAPE, batch: true };
const SYEV_BATCHED: OptionNames<SyevBatchedOptions> = {
  ...SYEV_BATCHED_SHAPE,
  workspace: true,
  infos: true,
};

/**
 * Bytes that `syevd` needs.
 *
 * @see cusolverDnXsyevd_bufferSize: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function syevdWorkspace(stream: CudaStream, shape: SyevdShape): WorkspaceBytes {
  const read = readOptions('cusolver.syevdWorkspace', shape, SYEVD_SHAPE);
  return requireCusolver().syevdWorkspace(handleOf(stream, 'CudaStream'), ...problemOf(read, 0));
}

/**
 * Runs cusolverDnXsyevd on the stream's solver thread, after everything enqueued on the stream so
 * far. Resolves when the results are in device memory; work enqueued before that is not ordered
 * with them. Cannot be captured.
 *
 * @see cusolverDnXsyevd: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export async function syevd(stream: CudaStream, options: SyevdOptions): Promise<void> {
  const read = readOptions('cusolver.syevd', options, SYEVD);
  await requireCusolver().syevd(
    handleOf(stream, 'CudaStream'),
    ...problemOf(read, 0),
    ...workspaceOf(read.workspace),
    ...regionOf(read.info),
  );
}

/**
 * Bytes that `syevBatched` needs. Throws `NOT_SUPPORTED` where cuSOLVER is older than CUDA 12.6.
 *
 * @see cusolverDnXsyevBatched_bufferSize: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function syevBatchedWorkspace(stream: CudaStream, shape: SyevBatchedShape): WorkspaceBytes {
  const read = readOptions('cusolver.syevBatchedWorkspace', shape, SYEV_BATCHED_SHAPE);
  return requireCusolver().syevdWorkspace(
    handleOf(stream, 'CudaStream'),
    ...problemOf(read, batchOf(read)),
  );
}

/**
 * Runs cusolverDnXsyevBatched as `syevd` runs. Rejects with `NOT_SUPPORTED` before CUDA 12.6.
 *
 * @see cusolverDnXsyevBatched: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export async function syevBatched(stream: CudaStream, options: SyevBatchedOptions): Promise<void> {
  const read = readOptions('cusolver.syevBatched', options, SYEV_BATCHED);
  await requireCusolver().syevd(
    handleOf(stream, 'CudaStream'),
    ...problemOf(read, batchOf(read)),
    ...workspaceOf(read.workspace),
    ...regionOf(read.infos),
  );
}

type EigenProblem =
  Parameters<Addon['syevdWorkspace']> extends [unknown, ...infer Rest] ? Rest : never;

function problemOf(shape: SyevdShape, batch: number): EigenProblem {
  const { dtype, uplo, n, a, values, vectors } = shape;
  return [
    typeCode(dtype),
    vectors ? 1 : 0,
    triangleCode(uplo),
    n,
    batch,
    ...matrixOf(a),
    ...regionOf(values),
  ];
}

function batchOf({ batch }: SyevBatchedShape): number {
  if (batch >= 1) return batch;
  throw misuse(
    'INVALID_ARGUMENT',
    `A batch of ${describeValue(batch)} eigenproblems. Pass at least 1, or call nothing.`,
  );
}
