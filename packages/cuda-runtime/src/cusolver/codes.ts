import { codeOf } from '../code-of.js';

/** Element types that cuSOLVER's calls take here. */
export type RealType = 'float32' | 'float64';

/** The triangle of a symmetric matrix that is read, and written by a factor. The other one is left alone. */
export type Triangle = 'lower' | 'upper';

const types = { float32: 0, float64: 1 } as const;
const triangles = { lower: 0, upper: 1 } as const;

/** cudaDataType */
export const typeCode = (dtype: RealType): number => codeOf(types, dtype, 'The dtype');
/** cublasFillMode_t */
export const triangleCode = (uplo: Triangle): number => codeOf(triangles, uplo, 'The triangle');
