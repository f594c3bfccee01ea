import { dtypeBytes, type PairwiseDType } from '../../dtype.js';
import { cudaType } from '../../emit/literals.js';
import { lines } from '../../emit/text.js';

/** The longest vector: elements in the 16 bytes that one instruction moves at most. */
export const longestVector = (dtype: PairwiseDType): number => 16 / dtypeBytes(dtype);

/** Functions that read 2 or 4 neighbouring elements of shared memory with one instruction. */
export function readFunctions(dtype: PairwiseDType): string {
  const type = cudaType(dtype);
  const pair = `__device__ __forceinline__ void read2(${type}* r, const ${type}* s) {
  const ${type}2 v = *reinterpret_cast<const ${type}2*>(s);
  r[0] = v.x; r[1] = v.y;
}`;
  if (dtype === 'float64') return pair;
  return `${pair}
__device__ __forceinline__ void read4(float* r, const float* s) {
  const float4 v = *reinterpret_cast<const float4*>(s);
  r[0] = v.x; r[1] = v.y; r[2] = v.z; r[3] = v.w;
}`;
}

/** Reads `count` elements to `target`, `vector` neighbours at a time, those of turn `h` from `from` on. */
export const readNeighbours = (
  target: string,
  count: number,
  vector: number,
  from: string,
): string =>
  lines(
    '#pragma unroll',
    `for (int h = 0; h < ${count / vector}; ++h) ${
      vector === 1
        ? `${target}[h] = *(${from});`
        : `read${vector}(${target} + h * ${vector}, ${from});`
    }`,
  );

/** The members of a vector of so many elements. */
export const vectorMembers = (vector: number): string[] => ['x', 'y', 'z', 'w'].slice(0, vector);

/** Some neighbouring results of one thread. */
interface WrittenRow {
  readonly dtype: PairwiseDType;
  /** Elements that one store may write. */
  readonly vector: number;
  readonly count: number;
  readonly value: (index: string) => string;
  /** How many of them exist, as text. */
  readonly left: string;
}

/** Writes the values to `to`, in vectors as long as allowed. */
export function writeNeighbours({ dtype, vector, count, value, left }: WrittenRow): string {
  if (vector === 1) {
    return `#pragma unroll
for (int j = 0; j < ${count}; ++j)
  if (j < ${left}) to[j] = ${value('j')};`;
  }
  const type = `${cudaType(dtype)}${vector}`;
  const fields = vectorMembers(vector).map((_, e) => value(`j + ${e}`));
  return `#pragma unroll
for (int j = 0; j < ${count}; j += ${vector}) {
  if (j + ${vector} <= ${left}) {
    *reinterpret_cast<${type}*>(to + j) = make_${type}(${fields.join(', ')});
  } else {
    #pragma unroll
    for (int e = 0; e < ${vector}; ++e)
      if (j + e < ${left}) to[j + e] = ${value('j + e')};
  }
}`;
}
