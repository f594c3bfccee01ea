import { cudaType } from '../../emit/cuda-literal.js';

/** Functions that read 2 or 4 neighbouring elements of shared memory with one instruction. */
export function readFunctions(dtype: 'float32' | 'float64'): string {
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
