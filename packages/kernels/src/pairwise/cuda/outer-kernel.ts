import { cudaType } from '../../emit/cuda-literal.js';
import type { CudaKernel, Scalars } from '../../emitted-kernel.js';
import type { OuterPlan } from '../plan-types.js';
import { pairwiseParams } from '../program.js';
import { pairwiseCost } from './cost.js';
import { operandRoles, parameterList, roleSizes } from './kernel-signature.js';
import { pairFunctions, pairStep } from './pair-step.js';

/** The kernel for very short sums: operands in registers, wide stores, k fixed in the text. */
export function outerKernel(plan: OuterPlan): CudaKernel {
  const { k, threadsX, threadsY, vector, rows } = plan.outerProduct;
  const threads = threadsX * threadsY;
  const type = cudaType(plan.dtype);
  const step = pairStep(plan);
  const place = (layout: string, row: string, stride: string): string =>
    layout === 'row' ? `(${row}) * ${stride} + c` : `c * ${stride} + (${row})`;
  const names = ['x', 'y', 'z', 'w'].slice(0, vector);
  const wideStore = `${type}${String(vector)} v;
      ${names.map((part, j) => `v.${part} = finish(sum[${String(j)}], p);`).join(' ')}
      *reinterpret_cast<${type}${String(vector)}*>(line) = v;`;
  const singleStore = `#pragma unroll
      for (int j = 0; j < ${String(vector)}; ++j)
        if (column + j < columnCount) line[j] = finish(sum[j], p);`;
  const source = `${pairFunctions(plan, step)}

extern "C" __global__ void __launch_bounds__(${String(threads)})
pairwise_outer(${parameterList(plan)}) {
  ${operandRoles(plan)}
  ${step.setup}
  const unsigned columnTiles = (unsigned)((columnCount + ${String(threadsX * vector - 1)}) / ${String(threadsX * vector)});
  const unsigned rowTiles = (unsigned)((rowCount + ${String(threadsY * rows - 1)}) / ${String(threadsY * rows)});
  const unsigned layer = blockIdx.x / (columnTiles * rowTiles), index = blockIdx.x % (columnTiles * rowTiles);
  const long long column = ((long long)(index % columnTiles) * ${String(threadsX)} + threadIdx.x % ${String(threadsX)}) * ${String(vector)};
  const long long rowStart = (long long)(index / columnTiles) * ${String(threadsY * rows)} + threadIdx.x / ${String(threadsX)};
  if (column >= columnCount) return;
  const ${type}* const rowSource = rows + layer * rowBatch;
  const ${type}* const columnSource = columns + layer * columnBatch;
  ${type} y[${String(vector)}][${String(Math.max(k, 1))}];
  #pragma unroll
  for (int j = 0; j < ${String(vector)}; ++j)
    #pragma unroll
    for (int c = 0; c < ${String(k)}; ++c) y[j][c] = columnSource[${place(plan.columnsLayout, 'min(column + j, columnCount - 1)', 'columnStride')}];
  #pragma unroll ${String(Math.min(rows, 2))}
  for (int i = 0; i < ${String(rows)}; ++i) {
    const long long row = rowStart + i * ${String(threadsY)};
    if (row >= rowCount) return;
    ${type} sum[${String(vector)}] = {};
    #pragma unroll
    for (int c = 0; c < ${String(k)}; ++c) {
      const ${type} x = __ldg(rowSource + ${place(plan.rowsLayout, 'row', 'rowStride')});
      #pragma unroll
      for (int j = 0; j < ${String(vector)}; ++j) sum[j] = ${step.step('sum[j]', 'x', 'y[j][c]', 'j')};
    }
    ${type}* const line = out + layer * batchStrideOut + row * ldo + column;
    ${
      vector > 1
        ? `if (column + ${String(vector)} <= columnCount) {
      ${wideStore}
    } else {
      ${singleStore}
    }`
        : singleStore
    }
  }
}
`;
  return {
    dialect: 'cuda',
    name: plan.summary,
    entry: 'pairwise_outer',
    source,
    params: pairwiseParams(plan.dtype),
    options: [],
    geometry: (scalars: Scalars) => {
      const size = roleSizes(plan, scalars);
      const tiles =
        Math.ceil(size.columns / (threadsX * vector)) * Math.ceil(size.rows / (threadsY * rows));
      return { grid: [tiles * size.batch, 1, 1], block: [threads, 1, 1], sharedMemBytes: 0 };
    },
    cost: (scalars: Scalars) => pairwiseCost(plan, step, scalars),
  };
}
