import type { OptionNames } from '@mercer/options';
import {
  matrixOf,
  regionOf,
  workspaceOf,
  type DeviceMatrix,
  type DeviceRegion,
  type DeviceWorkspace,
} from '../device-region.js';
import { requireCublas } from '../library/open-libraries.js';
import {
  sideCode,
  triangleCode,
  typeCode,
  type RealType,
  type Side,
  type Triangle,
} from '../matrix-options.js';
import { handleOf } from '../native/owned.js';
import { readOptions } from '../read-options.js';
import type { CudaStream } from '../stream.js';

/**
 * op(a) x = alpha b (left) or x op(a) = alpha b (right) with a triangular a of order `rows` (left) or
 * `columns` (right). Nothing says that a is singular: x then has infinities or NaN.
 */
export interface TriangularSolve {
  readonly dtype: RealType;
  /** The side of x on which op(a) stands. */
  readonly side: Side;
  readonly uplo: Triangle;
  /** op(a) = aᵀ. Default false. */
  readonly transpose?: boolean;
  /** Takes the diagonal of a as ones, without reading it. Default false. */
  readonly unitDiagonal?: boolean;
  /** Of b and x. */
  readonly rows: number;
  /** Of b and x. */
  readonly columns: number;
  /** Default 1. With 0 x is 0, and a is not read. Rounded to `dtype`. */
  readonly alpha?: number;
  /**
   * Starts at a multiple of 256 bytes and has at least 16 KiB. Default: 32 MiB of the stream's own. A
   * captured graph works in the same memory each time, so it must not run beside other calls that do.
   */
  readonly workspace?: DeviceWorkspace;
}

/** One triangular solve. */
export interface TrsmOptions extends TriangularSolve {
  readonly a: DeviceMatrix;
  /** Becomes x. */
  readonly b: DeviceMatrix;
}

/** Many triangular solves of one shape. At most 2^31 - 1 of each dimension. */
export interface TrsmBatchedOptions extends TriangularSolve {
  /**
   * `batch` device addresses of triangular matrices (`DeviceBuffer.address` plus offset) as uint64. What
   * they point to is not checked, and the caller keeps it until the work, or the graph it is captured in,
   * is done with it.
   */
  readonly pointers: DeviceRegion;
  readonly leadingDimension: number;
  /** `batch` addresses of right-hand sides, which become the solutions. */
  readonly rightPointers: DeviceRegion;
  readonly rightLeadingDimension: number;
  readonly batch: number;
}

const SOLVE: OptionNames<TriangularSolve> = {
  dtype: true,
  side: true,
  uplo: true,
  transpose: true,
  unitDiagonal: true,
  rows: true,
  columns: true,
  alpha: true,
  workspace: true,
};
const TRSM: OptionNames<TrsmOptions> = { ...SOLVE, a: true, b: true };
const TRSM_BATCHED: OptionNames<TrsmBatchedOptions> = {
  ...SOLVE,
  pointers: true,
  leadingDimension: true,
  rightPointers: true,
  rightLeadingDimension: true,
  batch: true,
};

/**
 * Enqueues cublasStrsm or cublasDtrsm, with 64-bit dimensions where the library has those calls (CUDA 12).
 *
 * @see cublas<t>trsm: https://docs.nvidia.com/cuda/cublas/index.html
 */
export function trsm(stream: CudaStream, options: TrsmOptions): void {
  const read = readOptions('cublas.trsm', options, TRSM);
  requireCublas().trsm(
    handleOf(stream, 'CudaStream'),
    ...problemOf(read),
    ...matrixOf(read.a),
    ...matrixOf(read.b),
    ...workspaceOf(read.workspace),
  );
}

/**
 * Enqueues cublasStrsmBatched or cublasDtrsmBatched.
 *
 * @see cublas<t>trsmBatched: https://docs.nvidia.com/cuda/cublas/index.html
 */
export function trsmBatched(stream: CudaStream, options: TrsmBatchedOptions): void {
  const read = readOptions('cublas.trsmBatched', options, TRSM_BATCHED);
  requireCublas().trsmBatched(
    handleOf(stream, 'CudaStream'),
    ...problemOf(read),
    ...regionOf(read.pointers),
    read.leadingDimension,
    ...regionOf(read.rightPointers),
    read.rightLeadingDimension,
    read.batch,
    ...workspaceOf(read.workspace),
  );
}

type Problem = [
  type: number,
  side: number,
  uplo: number,
  transpose: number,
  unit: number,
  rows: number,
  columns: number,
  alpha: number,
];

function problemOf(solve: TriangularSolve): Problem {
  const { dtype, side, uplo, transpose = false, unitDiagonal = false } = solve;
  return [
    typeCode(dtype),
    sideCode(side),
    triangleCode(uplo),
    transpose ? 1 : 0,
    unitDiagonal ? 1 : 0,
    solve.rows,
    solve.columns,
    solve.alpha ?? 1,
  ];
}
