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

const read = (count: number, target: string, source: string): string =>
  count === 1 ? `${target}[0] = *(${source});` : `read${String(count)}(${target}, ${source});`;

/**
 * All pairs of one stage: columns of a chunk of k stay in registers, rows stream past them.
 * Expects `rowTile` and `columnTile` (this thread's places in shared memory) and `sum`.
 */
export function computeTile(
  rows: TileOperand,
  columns: TileOperand,
  tile: TileConfig,
  step: PairStep,
): string {
  const { tileK, chunkK } = tile;
  const type = cudaType(rows.dtype);
  const pairs = (i: string, x: string, c: string): string => `#pragma unroll
for (int j = 0; j < ${String(columns.perThread)}; ++j)
  sum[${i}][j] = ${step.step(`sum[${i}][j]`, x, `y[j][${c}]`, 'j')};`;
  const streamRows =
    rows.layout === 'row'
      ? `#pragma unroll
for (int i = 0; i < ${String(rows.perThread)}; ++i) {
  ${type} x[${String(chunkK)}];
  ${read(chunkK, 'x', `rowTile + i * ${String(rows.threads * sharedStride(rows, tile))} + kk`)}
  #pragma unroll
  for (int c = 0; c < ${String(chunkK)}; ++c) {
${indent(pairs('i', 'x[c]', 'c'), 4)}
  }
}`
      : `#pragma unroll
for (int c = 0; c < ${String(chunkK)}; ++c) {
  ${type} x[${String(rows.perThread)}];
${indent(readByK(rows, tile, 'x', 'rowTile'))}
  #pragma unroll
  for (int i = 0; i < ${String(rows.perThread)}; ++i) {
${indent(pairs('i', 'x[i]', 'c'), 4)}
  }
}`;
  const keepColumns =
    columns.layout === 'row'
      ? `#pragma unroll
for (int j = 0; j < ${String(columns.perThread)}; ++j) {
  ${read(chunkK, 'y[j]', `columnTile + j * ${String(columns.threads * sharedStride(columns, tile))} + kk`)}
}`
      : `#pragma unroll
for (int c = 0; c < ${String(chunkK)}; ++c) {
  ${type} part[${String(columns.perThread)}];
${indent(readByK(columns, tile, 'part', 'columnTile'))}
  #pragma unroll
  for (int j = 0; j < ${String(columns.perThread)}; ++j) y[j][c] = part[j];
}`;
  return lines(
    '#pragma unroll 1',
    `for (int kk = 0; kk < ${String(tileK)}; kk += ${String(chunkK)}) {`,
    `  ${type} y[${String(columns.perThread)}][${String(chunkK)}];`,
    indent(keepColumns),
    indent(streamRows),
    '}',
  );
}

/** Reads the thread's elements of one step of k where the operand is kept by k. */
function readByK(operand: TileOperand, tile: TileConfig, target: string, source: string): string {
  const g = group(operand);
  const stride = sharedStride(operand, tile);
  const from = `${source} + (kk + c) * ${String(stride)} + h * ${String(operand.threads * g)}`;
  return lines(
    '#pragma unroll',
    `for (int h = 0; h < ${String(operand.perThread / g)}; ++h) ${
      g === 1
        ? `${target}[h] = *(${from});`
        : `read${String(g)}(${target} + h * ${String(g)}, ${from});`
    }`,
  );
}

/** The thread's first place in a stage of shared memory, in elements. */
export function threadOffset(operand: TileOperand, tile: TileConfig, coordinate: string): string {
  return operand.layout === 'row'
    ? `${coordinate} * ${String(sharedStride(operand, tile))}`
    : `${coordinate} * ${String(group(operand))}`;
}
