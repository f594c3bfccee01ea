import type { OptionNames } from '@mercer/options';
import {
  optionalRegionOf,
  regionOf,
  workspaceOf,
  type DeviceRegion,
  type DeviceWorkspace,
} from '../device-region.js';
import { requireCublas } from '../library/open-libraries.js';
import { typeCode, type RealType } from '../matrix-options.js';
import type { BufferHandle } from '../native/handles.js';
import { handleOf } from '../native/owned.js';
import { readOptions } from '../read-options.js';
import type { CudaStream } from '../stream.js';

/** Many n x n matrices. At most 2^31 - 1 of each dimension. */
export interface LuBatch {
  readonly dtype: RealType;
  readonly n: number;
  /**
   * `batch` device addresses (`DeviceBuffer.address` plus offset) as uint64. What they point to is not
   * checked, and the caller keeps it until the work, or the graph it is captured in, is done with it.
   */
  readonly pointers: DeviceRegion;
  readonly leadingDimension: number;
  readonly batch: number;
  /** n int32 for each matrix, counted from 1, one matrix after another. Left out: no pivoting. */
  readonly pivots?: DeviceRegion;
  /** As for `trsm`. */
  readonly workspace?: DeviceWorkspace;
}

/** LU factorisations in place: P a = L U, the diagonal of L not stored. Meant for n up to some hundred. */
export interface GetrfBatchedOptions extends LuBatch {
  /** One int32 for each matrix: 0, or i > 0 when pivot i is exactly 0. */
  readonly infos: DeviceRegion;
}

/** Solves with the factors that `getrfBatched` left; pivots as it wrote them. */
export interface GetrsBatchedOptions extends LuBatch {
  /** Of each right-hand side. */
  readonly columns: number;
  /** Solves aᵀ x = b. Default false. */
  readonly transpose?: boolean;
  /** `batch` addresses of right-hand sides of n x `columns`, which become the solutions. */
  readonly rightPointers: DeviceRegion;
  readonly rightLeadingDimension: number;
}

const LU_BATCH: OptionNames<LuBatch> = {
  dtype: true,
  n: true,
  pointers: true,
  leadingDimension: true,
  batch: true,
  pivots: true,
  workspace: true,
};
const GETRF_BATCHED: OptionNames<GetrfBatchedOptions> = { ...LU_BATCH, infos: true };
const GETRS_BATCHED: OptionNames<GetrsBatchedOptions> = {
  ...LU_BATCH,
  columns: true,
  transpose: true,
  rightPointers: true,
  rightLeadingDimension: true,
};

/**
 * Enqueues cublasSgetrfBatched or cublasDgetrfBatched.
 *
 * @see cublas<t>getrfBatched: https://docs.nvidia.com/cuda/cublas/index.html
 */
export function getrfBatched(stream: CudaStream, options: GetrfBatchedOptions): void {
  const read = readOptions('cublas.getrfBatched', options, GETRF_BATCHED);
  requireCublas().getrfBatched(
    handleOf(stream, 'CudaStream'),
    ...batchOf(read),
    ...regionOf(read.infos),
    ...workspaceOf(read.workspace),
  );
}

/**
 * Enqueues cublasSgetrsBatched or cublasDgetrsBatched. Their info, which lies on the host, becomes a
 * `CublasError` that names the argument.
 *
 * @see cublas<t>getrsBatched: https://docs.nvidia.com/cuda/cublas/index.html
 */
export function getrsBatched(stream: CudaStream, options: GetrsBatchedOptions): void {
  const read = readOptions('cublas.getrsBatched', options, GETRS_BATCHED);
  requireCublas().getrsBatched(
    handleOf(stream, 'CudaStream'),
    ...batchOf(read),
    read.transpose === true ? 1 : 0,
    read.columns,
    ...regionOf(read.rightPointers),
    read.rightLeadingDimension,
    ...workspaceOf(read.workspace),
  );
}

type Batch = [
  type: number,
  n: number,
  pointers: BufferHandle,
  offset: number,
  leading: number,
  count: number,
  ...pivots: [buffer: BufferHandle, offset: number] | [undefined, 0],
];

function batchOf(batch: LuBatch): Batch {
  return [
    typeCode(batch.dtype),
    batch.n,
    ...regionOf(batch.pointers),
    batch.leadingDimension,
    batch.batch,
    ...optionalRegionOf(batch.pivots),
  ];
}
