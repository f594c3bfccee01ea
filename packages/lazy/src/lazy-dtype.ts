import type { MapReduceProblem } from '@mercer/kernels';

/** What symbolic matrices compute in: the data types that map-reduce kernels take. */
export type LazyDType = MapReduceProblem['dtype'];

const LAZY_DTYPES: { readonly [D in LazyDType]: true } = { float32: true, float64: true };

/** Whether a dtype is one that symbolic matrices compute in. */
export function isLazyDType(dtype: string): dtype is LazyDType {
  return Object.hasOwn(LAZY_DTYPES, dtype);
}

/** Their names, for messages. */
export const lazyDTypeNames = (): string => Object.keys(LAZY_DTYPES).join(' or ');
