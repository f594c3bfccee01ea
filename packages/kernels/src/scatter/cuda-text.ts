import { prelude } from '../elementwise/conversion-text.js';
import { elementInfo } from '../elementwise/element-type.js';
import type { IndexDType } from './scatter-plan-types.js';

/** Threads of a block in every kernel of the family. */
export const THREADS = 256;
/** Most blocks along x. */
export const MOST_BLOCKS = 2 ** 31 - 1;

/** Types that texts start with. */
export const cudaHead = prelude('cuda');

/** The type of an index in CUDA C++. */
export const indexType = (dtype: IndexDType): string => elementInfo(dtype).storage;

/** `row_of(i, columns)`: i / columns, in 32 bits where both fit. */
export const ROW_OF = `FN i64 row_of(i64 i, i64 columns) {
  return (((u64)i | (u64)columns) >> 32) == 0 ? (i64)((u32)i / (u32)columns) : i / columns;
}
`;
