import { dtypeBytes } from '../../dtype.js';
import { cudaKernel } from '../../emit/cuda-kernel.js';
import { cudaType } from '../../emit/literals.js';
import { indent } from '../../emit/text.js';
import type { CudaKernel } from '../../emitted-kernel.js';
import type { DotPlan } from '../plan-types.js';
import { pairwiseCost, operandRoles, signature, tileCount } from './kernel-signature.js';
import { everyCase, type StepText } from '../../pair-tile/cuda/pair-arithmetic.js';
import { triangleFunctions } from './triangle.js';
import {
  finishFunction,
  layerSetup,
  pairFunctions,
  pairStep,
  type FinishFunction,
} from './pair-step.js';

const THREADS = 256;

/** The kernel whose lanes share each sum: operands go straight from memory to registers. */
export function dotKernel(plan: DotPlan): CudaKernel {
  const { lanes, warps, rows, columns, vector } = plan.dot;
  const type = cudaType(plan.dtype);
  const step = pairStep(plan);
  const finish = finishFunction(plan);
  const symmetric = plan.symmetric === true;
  const triangle = { tileRows: rows, tileColumns: columns, groupRows: 1 };
  const groupsPerBlock = warps > 1 ? 1 : THREADS / lanes;
  const width = lanes * warps * vector;
  const outputs = rows * columns;
  const before = `${pairFunctions(plan, step)}
${fetchFunction(plan, 'rows', vector)}
${fetchFunction(plan, 'columns', vector)}
${symmetric ? `${triangleFunctions(triangle)}\n` : ''}
`;
  const body = `  ${operandRoles(plan)}
  ${step.perLayer === true ? '' : step.setup}
  const int lane = threadIdx.x % ${lanes * warps};
  const long long rowGroups = (rowCount + ${rows - 1}) / ${rows};
${
  symmetric
    ? '  const long long perBatch = tiles_of(rowCount);'
    : `  const long long columnGroups = (columnCount + ${columns - 1}) / ${columns};
  const long long perBatch = rowGroups * columnGroups;`
}
  long long index = (long long)blockIdx.x * ${groupsPerBlock} + threadIdx.x / ${lanes * warps};
  // a group past the end repeats the last one and stores nothing: its lanes take part in shuffles
  const bool live = index < perBatch * batch;
  if (!live) index = perBatch * batch - 1;
  const long long layer = index / perBatch;
  index -= layer * perBatch;
${
  symmetric
    ? `  const Tile group = tile_at(index, rowGroups);
  const long long rowStart = group.row * ${rows}, columnStart = group.column * ${columns};`
    : `  const long long rowStart = index / columnGroups * ${rows};
  const long long columnStart = index % columnGroups * ${columns};`
}
  const ${type}* const rowSource = rows + layer * rowBatch;
  const ${type}* const columnSource = columns + layer * columnBatch;
${layerSetup(step, finish)}
  ${type} sum[${rows}][${columns}] = {};
  #pragma unroll ${outputs >= 4 || step.cases !== undefined ? 1 : 4}
  for (long long at = lane * ${vector}; at < k; at += ${width}) {
    ${type} x[${rows}][${vector}], y[${columns}][${vector}];
    #pragma unroll
    for (int i = 0; i < ${rows}; ++i) fetch_rows(x[i], rowSource, rowStride, min(rowStart + i, rowCount - 1), at, k);
    #pragma unroll
    for (int j = 0; j < ${columns}; ++j) fetch_columns(y[j], columnSource, columnStride, min(columnStart + j, columnCount - 1), at, k);
${indent(
  everyCase(step, (text) => addPairs(plan, text)),
  4,
)}
  }
  #pragma unroll
  for (int i = 0; i < ${rows}; ++i)
    #pragma unroll
    for (int j = 0; j < ${columns}; ++j)
      #pragma unroll
      for (int offset = ${lanes / 2}; offset > 0; offset /= 2) {
        const ${type} other = __shfl_xor_sync(0xffffffffu, sum[i][j], offset);
        sum[i][j] = ${step.combine('sum[i][j]', 'other')};
      }
${warps > 1 ? blockReduce(plan, type, step.combine, finish) : groupStore(plan, type, finish)}`;
  return cudaKernel({
    name: plan.summary,
    entry: 'pairwise_dot',
    ...signature(plan),
    before,
    threads: THREADS,
    body,
    grid: (scalars) => Math.ceil(tileCount(plan, triangle, scalars) / groupsPerBlock),
    cost: (scalars) => pairwiseCost(plan, step, scalars),
  });
}

/** Adds the pairs of the elements just fetched. */
function addPairs({ dot: { rows, columns, vector } }: DotPlan, step: StepText): string {
  const place = `(i * ${columns} + j) * ${vector} + c`;
  return `#pragma unroll
for (int c = 0; c < ${vector}; ++c)
  #pragma unroll
  for (int i = 0; i < ${rows}; ++i)
    #pragma unroll
    for (int j = 0; j < ${columns}; ++j)
      sum[i][j] = ${step('sum[i][j]', 'x[i][c]', 'y[j][c]', place)};`;
}

/** `vector` steps of k of one row; steps past the end read as 0. */
function fetchFunction(plan: DotPlan, name: 'rows' | 'columns', vector: number): string {
  const type = cudaType(plan.dtype);
  const layout = name === 'rows' ? plan.rowsLayout : plan.columnsLayout;
  const aligned = name === 'rows' ? plan.alignedRows : plan.alignedColumns;
  const signature = `__device__ __forceinline__ void fetch_${name}(${type}* r, const ${type}* __restrict__ s, long long stride, long long row, long long at, long long k)`;
  const place = layout === 'row' ? 's[row * stride + at + c]' : 's[(at + c) * stride + row]';
  const single = `#pragma unroll
  for (int c = 0; c < ${vector}; ++c) r[c] = at + c < k ? ${place} : 0;`;
  if (layout === 'column' || !aligned || vector * dtypeBytes(plan.dtype) !== 16) {
    return `${signature} {
  ${single}
}`;
  }
  const names = ['x', 'y', 'z', 'w'].slice(0, vector);
  return `${signature} {
  if (at + ${vector} <= k) {
    const ${type}${vector} v = *reinterpret_cast<const ${type}${vector}*>(s + row * stride + at);
    ${names.map((part, c) => `r[${c}] = v.${part};`).join(' ')}
    return;
  }
  ${single}
}`;
}

/** Every lane holds every sum: lane t writes outputs t, t + lanes, ... */
function groupStore(plan: DotPlan, type: string, finish: FinishFunction): string {
  const { lanes, rows, columns } = plan.dot;
  return `  if (!live) return;
  ${type}* const target = out + layer * batchStrideOut;
  #pragma unroll
  for (int i = 0; i < ${rows}; ++i)
    #pragma unroll
    for (int j = 0; j < ${columns}; ++j)
      if (lane == (i * ${columns} + j) % ${lanes} && rowStart + i < rowCount && columnStart + j < columnCount${
        plan.symmetric === true
          ? ` && rowStart + i >= columnStart + j)
        target[(rowStart + i) * ldo + columnStart + j] = target[(columnStart + j) * ldo + rowStart + i] = ${finish.call('sum[i][j]')};`
          : `)
        target[(rowStart + i) * ldo + columnStart + j] = ${finish.call('sum[i][j]')};`
      }`;
}

/** One sum of every warp through shared memory, combined in the order of the warps. */
function blockReduce(
  plan: DotPlan,
  type: string,
  combine: (x: string, y: string) => string,
  finish: FinishFunction,
): string {
  const { warps, rows, columns } = plan.dot;
  const outputs = rows * columns;
  return `  __shared__ ${type} parts[${warps}][${outputs}];
  #pragma unroll
  for (int i = 0; i < ${rows}; ++i)
    #pragma unroll
    for (int j = 0; j < ${columns}; ++j)
      if (lane % 32 == (i * ${columns} + j) % 32) parts[lane / 32][i * ${columns} + j] = sum[i][j];
  __syncthreads();
  if (lane < ${outputs}) {
    ${type} total = parts[0][lane];
    #pragma unroll
    for (int part = 1; part < ${warps}; ++part) total = ${combine('total', 'parts[part][lane]')};
    const long long row = rowStart + lane / ${columns}, column = columnStart + lane % ${columns};
${
  plan.symmetric === true
    ? `    ${type}* const target = out + layer * batchStrideOut;
    if (row < rowCount && column <= row) target[row * ldo + column] = target[column * ldo + row] = ${finish.call('total')};`
    : `    if (row < rowCount && column < columnCount) out[layer * batchStrideOut + row * ldo + column] = ${finish.call('total')};`
}
  }`;
}
