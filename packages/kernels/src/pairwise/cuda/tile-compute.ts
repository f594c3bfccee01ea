import { cudaType } from '../../emit/cuda-literal.js';
import { indent, lines } from '../../emit/indent.js';
import type { TileConfig } from '../plan-types.js';
import type { PairStep } from './pair-step.js';
import { group, sharedStride, type TileOperand } from './tile-operand.js';

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

/**
 * All pairs of one stage. Expects `rowTile` and `columnTile` (this thread's places in shared memory)
 * and `sum`.
 */
export function computeTile(
  rows: TileOperand,
  columns: TileOperand,
  tile: TileConfig,
  step: PairStep,
): string {
  const type = cudaType(rows.dtype);
  const place = `i * ${String(columns.perThread)} + j`;
  return `#pragma unroll ${String(tile.chunkK)}
for (int kk = ${tile.slicesK === 1 ? '0' : 'slice'}; kk < ${String(tile.tileK)}; kk += ${String(tile.slicesK)}) {
  ${type} x[${String(rows.perThread)}], y[${String(columns.perThread)}];
${indent(readStep(rows, 'x', 'rowTile'))}
${indent(readStep(columns, 'y', 'columnTile'))}
  #pragma unroll
  for (int i = 0; i < ${String(rows.perThread)}; ++i)
    #pragma unroll
    for (int j = 0; j < ${String(columns.perThread)}; ++j)
      sum[i][j] = ${step.step('sum[i][j]', 'x[i]', 'y[j]', place)};
}`;
}

/** Reads the thread's elements of one step of k. */
function readStep(operand: TileOperand, target: string, source: string): string {
  const g = group(operand);
  const from = `${source} + kk * ${String(sharedStride(operand))} + h * ${String(operand.threads * g)}`;
  return lines(
    '#pragma unroll',
    `for (int h = 0; h < ${String(operand.perThread / g)}; ++h) ${
      g === 1
        ? `${target}[h] = *(${from});`
        : `read${String(g)}(${target} + h * ${String(g)}, ${from});`
    }`,
  );
}
