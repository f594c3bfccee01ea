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

/** Enqueues cublasStrsm or cublasDtrsm, with 64-bit dimensions where the library has those calls (CUDA 12). */
export function trsm(stream: CudaStream, options: TrsmOptions): void {
  requireCublas().trsm(
    handleOf(stream, 'CudaStream'),
    ...problemOf(options),
    ...matrixOf(options.a),
    ...matrixOf(options.b),
    ...workspaceOf(options.workspace),
  );
}

/** Enqueues cublasStrsmBatched or cublasDtrsmBatched. */
export function trsmBatched(stream: CudaStream, options: TrsmBatchedOptions): void {
  requireCublas().trsmBatched(
    handleOf(stream, 'CudaStream'),
    ...problemOf(options),
    ...regionOf(options.pointers),
    options.leadingDimension,
    ...regionOf(options.rightPointers),
    options.rightLeadingDimension,
    options.batch,
    ...workspaceOf(options.workspace),
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
