import { cudaType } from '../../emit/cuda-literal.js';
import type { PairwiseDType } from '../../pairwise/problem.js';

/** Some neighbouring results of one thread. */
export interface StoredRow {
  readonly dtype: PairwiseDType;
  /** Elements that one store may write. */
  readonly vector: number;
  readonly count: number;
  readonly value: (index: string) => string;
  /** How many of them exist, as text. */
  readonly left: string;
}

/** Writes the values to `to`, as wide as allowed. */
export function storeRow({ dtype, vector, count, value, left }: StoredRow): string {
  const type = cudaType(dtype);
  if (vector === 1) {
    return `#pragma unroll
for (int j = 0; j < ${count}; ++j)
  if (j < ${left}) to[j] = ${value('j')};`;
  }
  const names = ['x', 'y', 'z', 'w'].slice(0, vector);
  const fields = names.map((_, e) => value(`j + ${e}`)).join(', ');
  return `#pragma unroll
for (int j = 0; j < ${count}; j += ${vector}) {
  if (j + ${vector} <= ${left}) {
    *reinterpret_cast<${type}${vector}*>(to + j) = make_${type}${vector}(${fields});
  } else {
    #pragma unroll
    for (int e = 0; e < ${vector}; ++e)
      if (j + e < ${left}) to[j + e] = ${value('j + e')};
  }
}`;
}
