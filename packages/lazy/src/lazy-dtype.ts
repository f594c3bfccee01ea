import type { MapReduceProblem } from '@mercer/kernels';

/** What symbolic matrices compute in: the data types of map-reduce kernels. */
export type LazyDType = MapReduceProblem['dtype'];

/** What tensors of variables may hold: numbers of 16 bits are computed with in float32. */
export type StoredDType = LazyDType | 'float16' | 'bfloat16';

/** What numbers of a stored dtype are computed in. */
export type ComputedIn<D extends StoredDType> = D extends LazyDType ? D : 'float32';

const COMPUTED_IN: { readonly [D in StoredDType]: ComputedIn<D> } = {
  float32: 'float32',
  float64: 'float64',
  float16: 'float32',
  bfloat16: 'float32',
};

/** What a dtype is computed in; undefined for one that symbolic matrices do not take. */
export function computedIn(dtype: string): LazyDType | undefined {
  return Object.hasOwn(COMPUTED_IN, dtype) ? COMPUTED_IN[dtype as StoredDType] : undefined;
}

/** The dtypes that symbolic matrices take, for messages. */
export const storedDTypeNames = (): string => Object.keys(COMPUTED_IN).join(', ');

/** Up to where row numbers and counts, as numbers of a dtype, are whole. */
export const WHOLE_UP_TO: { readonly [D in LazyDType]: number } = {
  float32: 2 ** 24,
  float64: 2 ** 53,
};
