import { codeOf } from './code-of.js';

/** Element types that cuSOLVER's and cuBLAS's calls take here. */
export type RealType = 'float32' | 'float64';

/**
 * The triangle of a symmetric or triangular matrix that is read, and written by a factor. The other one is
 * left alone.
 */
export type Triangle = 'lower' | 'upper';

/** On which side of the other operand a matrix stands. */
export type Side = 'left' | 'right';

/** The integers in which an LU factorisation of cuSOLVER numbers the rows that it exchanged. */
export type PivotType = 'int32' | 'int64';

const types = { float32: 0, float64: 1 } as const;
const triangles = { lower: 0, upper: 1 } as const;
const sides = { left: 0, right: 1 } as const;
const pivotTypes = { int32: 0, int64: 1 } as const;

/** cudaDataType */
export const typeCode = (dtype: RealType): number => codeOf(types, dtype, 'The dtype');
/** cublasFillMode_t */
export const triangleCode = (uplo: Triangle): number => codeOf(triangles, uplo, 'The triangle');
/** cublasSideMode_t */
export const sideCode = (side: Side): number => codeOf(sides, side, 'The side');
/** Whether pivots are 64-bit. */
export const pivotCode = (type: PivotType): number => codeOf(pivotTypes, type, 'The pivotType');
