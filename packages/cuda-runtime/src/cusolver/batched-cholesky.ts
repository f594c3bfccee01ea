import type { OptionNames } from '@mercer/options';
import { regionOf, type DeviceRegion } from '../device-region.js';
import { requireCusolver } from '../library/open-libraries.js';
import { handleOf } from '../native/owned.js';
import { readOptions } from '../read-options.js';
import type { CudaStream } from '../stream.js';
import { triangleCode, typeCode, type RealType, type Triangle } from '../matrix-options.js';

/** Cholesky factorisations in place of many n x n matrices. At most 2^31 - 1 of each. */
export interface PotrfBatchedOptions {
  readonly dtype: RealType;
  readonly uplo: Triangle;
  readonly n: number;
  /**
   * `batch` device addresses (`DeviceBuffer.address` plus offset) as uint64. What they point to is
   * not checked, and the caller keeps it until the work, or the graph it is captured in, is done with it.
   */
  readonly pointers: DeviceRegion;
  readonly leadingDimension: number;
  readonly batch: number;
  /** `batch` int32 as in `potrf`. */
  readonly infos: DeviceRegion;
}

/** Solves with those factors, one right-hand side of length n each, which is all that cuSOLVER has. */
export interface PotrsBatchedOptions {
  readonly dtype: RealType;
  readonly uplo: Triangle;
  readonly n: number;
  /** `batch` addresses of factors. */
  readonly pointers: DeviceRegion;
  readonly leadingDimension: number;
  /** `batch` addresses of right-hand sides, which become the solutions. */
  readonly rightPointers: DeviceRegion;
  readonly rightLeadingDimension: number;
  readonly batch: number;
  /** One int32: 0, or -i when argument i of cusolverDnSpotrsBatched is wrong. */
  readonly info: DeviceRegion;
}

const POTRF_BATCHED: OptionNames<PotrfBatchedOptions> = {
  dtype: true,
  uplo: true,
  n: true,
  pointers: true,
  leadingDimension: true,
  batch: true,
  infos: true,
};
const POTRS_BATCHED: OptionNames<PotrsBatchedOptions> = {
  dtype: true,
  uplo: true,
  n: true,
  pointers: true,
  leadingDimension: true,
  rightPointers: true,
  rightLeadingDimension: true,
  batch: true,
  info: true,
};

/**
 * Enqueues cusolverDnSpotrfBatched or cusolverDnDpotrfBatched.
 *
 * @see cusolverDn<t>potrfBatched: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function potrfBatched(stream: CudaStream, options: PotrfBatchedOptions): void {
  const read = readOptions('cusolver.potrfBatched', options, POTRF_BATCHED);
  const { dtype, uplo, n, pointers, leadingDimension, batch, infos } = read;
  requireCusolver().potrfBatched(
    handleOf(stream, 'CudaStream'),
    typeCode(dtype),
    triangleCode(uplo),
    n,
    ...regionOf(pointers),
    leadingDimension,
    batch,
    ...regionOf(infos),
  );
}

/**
 * Enqueues cusolverDnSpotrsBatched or cusolverDnDpotrsBatched.
 *
 * @see cusolverDn<t>potrsBatched: https://docs.nvidia.com/cuda/cusolver/index.html
 */
export function potrsBatched(stream: CudaStream, options: PotrsBatchedOptions): void {
  const read = readOptions('cusolver.potrsBatched', options, POTRS_BATCHED);
  const { dtype, uplo, n, pointers, leadingDimension, rightPointers, batch, info } = read;
  requireCusolver().potrsBatched(
    handleOf(stream, 'CudaStream'),
    typeCode(dtype),
    triangleCode(uplo),
    n,
    ...regionOf(pointers),
    leadingDimension,
    ...regionOf(rightPointers),
    read.rightLeadingDimension,
    batch,
    ...regionOf(info),
  );
}
