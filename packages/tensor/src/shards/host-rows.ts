import type { DType } from '@mercer/kernels';
import { hostArray, type HostArray } from '../host-array.js';

/**
 * Host data as elements that blocks are taken of, in its own memory where it can be: typed arrays keep their dtype, which blocks are cast
 * from, and numbers without one take `dtype`.
 *
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH
 */
export function hostRows(source: unknown, dtype: DType | undefined, what: string): HostArray {
  const hasOwn =
    ArrayBuffer.isView(source) ||
    ArrayBuffer.isView((Object(source) as { readonly data?: unknown }).data);
  return hostArray(source, hasOwn ? {} : { dtype }, what);
}
