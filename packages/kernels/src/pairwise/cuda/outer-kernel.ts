import { cudaKernel } from '../../emit/cuda-kernel.js';
import { cudaType } from '../../emit/literals.js';
import { indent } from '../../emit/text.js';
import type { CudaKernel } from '../../emitted-kernel.js';
import type { OuterPlan } from '../plan-types.js';
import { pairwiseCost, operandRoles, signature, roleSizes } from './kernel-signature.js';
import { everyCase, type StepText } from '../../pair-tile/cuda/pair-arithmetic.js';
import { finishFunction, layerSetup, pairFunctions, pairStep } from './pair-step.js';
import { tilesOf } from './triangle.js';

/** How far the block's first row lies below its first column; far away only the sign matters. */
const LEAD = '  const int lead = (int)max(min(rowStart - columnStart, 1048576ll), -1048576ll);\n';

/**
 * The kernel for very short sums, bound by writing: a block keeps its rows and columns in shared
 * memory, a thread its columns in registers; k is fixed in the text. All of a symmetric output must be written
 * as well, so both halves are computed, by the same arithmetic.
 */
export function outerKernel(plan: OuterPlan): CudaKernel {
  const { k, threadsX, threadsY, vector, rows } = plan.outerProduct;
  const threads = threadsX * threadsY;
  const [tileRows, tileColumns] = [threadsY * rows, threadsX * vector];
  const type = cudaType(plan.dtype);
  const step = pairStep(plan);
  const finish = finishFunction(plan);
  const symmetric = plan.symmetric === true;
  const body = `  __shared__ ${type} rowTile[${tileRows * Math.max(k, 1)}], columnTile[${tileColumns * Math.max(k, 1)}];
  ${operandRoles(plan)}
  ${step.perLayer === true ? '' : step.setup}
  const unsigned columnTiles = (unsigned)((columnCount + ${tileColumns - 1}) / ${tileColumns});
  const unsigned rowTiles = (unsigned)((rowCount + ${tileRows - 1}) / ${tileRows});
  const unsigned layer = blockIdx.x / (columnTiles * rowTiles), index = blockIdx.x % (columnTiles * rowTiles);
  const long long rowStart = (long long)(index / columnTiles) * ${tileRows};
  const long long columnStart = (long long)(index % columnTiles) * ${tileColumns};
${layerSetup(step, finish)}${symmetric ? LEAD : ''}  const int rowsHere = (int)min(rowCount - rowStart, ${tileRows}ll);
  const int columnsHere = (int)min(columnCount - columnStart, ${tileColumns}ll);
${indent(fill(plan, 'row', tileRows))}
${indent(fill(plan, 'column', tileColumns))}
  __syncthreads();
  const int column = threadIdx.x % ${threadsX} * ${vector}, threadRow = threadIdx.x / ${threadsX};
  if (column >= columnsHere) return;
  ${type} y[${vector}][${Math.max(k, 1)}];
  #pragma unroll
  for (int j = 0; j < ${vector}; ++j)
    #pragma unroll
    for (int c = 0; c < ${k}; ++c) y[j][c] = columnTile[(column + j) * ${k} + c];
  ${type}* line = out + layer * batchStrideOut + (rowStart + threadRow) * ldo + columnStart + column;
  #pragma unroll ${finish.issueSlots + k * step.issueSlots > 16 ? 1 : 4}
  for (int row = threadRow; row < rowsHere; row += ${threadsY}, line += ${threadsY} * ldo) {
    ${type} sum[${vector}] = {};
${indent(
  everyCase(step, (text) => addPairs(plan, text)),
  4,
)}
    #pragma unroll
    for (int j = 0; j < ${vector}; ++j) sum[j] = ${finish.call('sum[j]')};
${indent(store(type, vector), 4)}
  }`;
  return cudaKernel({
    name: plan.summary,
    entry: 'pairwise_outer',
    ...signature(plan),
    before: `${pairFunctions(plan, step)}\n\n`,
    threads,
    body,
    grid: (scalars) => {
      const { rows: count, columns, batch } = roleSizes(plan, scalars);
      return tilesOf(count, columns, { tileRows, tileColumns }) * batch;
    },
    cost: (scalars) => pairwiseCost(plan, step, scalars),
  });
}

/**
 * Adds the pairs of one row. In a symmetric problem the point of the larger index comes first, and all take
 * place 0, so one way of raising to a power: both places of a pair get the same bits.
 */
function addPairs(plan: OuterPlan, step: StepText): string {
  const { k, vector } = plan.outerProduct;
  return `#pragma unroll
for (int c = 0; c < ${k}; ++c) {
  const ${cudaType(plan.dtype)} x = rowTile[row * ${k} + c];
  #pragma unroll
  for (int j = 0; j < ${vector}; ++j) ${
    plan.symmetric === true
      ? `{
    // the point of the larger index first, by one path: both places of a pair get the same bits
    const bool below = lead + row >= column + j;
    sum[j] = ${step('sum[j]', 'below ? x : y[j][c]', 'below ? y[j][c] : x', '0')};
  }`
      : `sum[j] = ${step('sum[j]', 'x', 'y[j][c]', `j * ${k} + c`)};`
  }
}`;
}

/** Copies the block's part of an operand to shared memory, in the order of memory. */
function fill(plan: OuterPlan, name: 'row' | 'column', extent: number): string {
  const { k, threadsX, threadsY } = plan.outerProduct;
  const layout = name === 'row' ? plan.rowsLayout : plan.columnsLayout;
  const type = cudaType(plan.dtype);
  const [place, step] =
    layout === 'row' ? [`e / ${k}`, `e % ${k}`] : [`e % ${extent}`, `e / ${extent}`];
  const from =
    layout === 'row'
      ? `(${name}Start + place) * ${name}Stride + step`
      : `step * ${name}Stride + ${name}Start + place`;
  return `for (int e = threadIdx.x; e < ${extent * k}; e += ${threadsX * threadsY}) {
  const int place = ${k === 0 ? '0' : place}, step = ${k === 0 ? '0' : step};
  const ${type}* const source = ${name}s + layer * ${name}Batch;
  ${name}Tile[place * ${k} + step] = place < ${name}sHere ? source[${from}] : 0;
}`;
}

function store(type: string, vector: number): string {
  if (vector === 1) return '*line = sum[0];';
  const values = Array.from({ length: vector }, (_, j) => `sum[${j}]`).join(', ');
  return `if (column + ${vector} <= columnsHere) {
  *reinterpret_cast<${type}${vector}*>(line) = make_${type}${vector}(${values});
} else {
  #pragma unroll
  for (int j = 0; j < ${vector}; ++j)
    if (column + j < columnsHere) line[j] = sum[j];
}`;
}
