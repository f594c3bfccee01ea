import { dtypeBytes } from '../../dtype.js';
import { cudaType } from '../../emit/cuda-literal.js';
import { indent } from '../../emit/indent.js';
import type { CudaKernel, Scalars } from '../../emitted-kernel.js';
import type { TilePlan } from '../plan-types.js';
import { pairwiseParams, withWorkspace } from '../program.js';
import { pairwiseCost } from './cost.js';
import { operandRoles, parameterList, roleSizes } from './kernel-signature.js';
import { pairFunctions, pairStep } from './pair-step.js';
import { computeTile, readFunctions, threadOffset } from './tile-compute.js';
import { loadFunction, sharedElements, tileOperand } from './tile-operand.js';
import { storeBytes, storeTile } from './tile-store.js';

/** Rows of tiles that are walked together, so that their operands stay in the L2 cache. */
const TILES_PER_GROUP = 16;

/** The register-tiled kernel; with `splitK` above 1 it writes partial sums to the workspace. */
export function tileKernel(plan: TilePlan): CudaKernel {
  const { tile, splitK } = plan;
  const threads = tile.threadRows * tile.threadColumns;
  const bytes = dtypeBytes(plan.dtype);
  const step = pairStep(plan);
  const rows = tileOperand(
    { name: 'rows', layout: plan.rowsLayout, aligned: plan.alignedRows, dtype: plan.dtype },
    tile,
  );
  const columns = tileOperand(
    {
      name: 'columns',
      layout: plan.columnsLayout,
      aligned: plan.alignedColumns,
      dtype: plan.dtype,
    },
    tile,
  );
  const rowElements = sharedElements(rows, tile);
  const stageElements = rowElements + sharedElements(columns, tile);
  const sharedMemBytes = Math.max(
    stageElements * tile.stages * bytes,
    storeBytes(rows, columns, tile),
  );
  const partial = splitK > 1;
  const params = pairwiseParams(plan.dtype);
  const type = cudaType(plan.dtype);
  const advance = (operand: 'row' | 'column', layout: string): string =>
    layout === 'row' ? `start` : `start * ${operand}Stride`;
  const source = `${readFunctions(plan.dtype)}
${pairFunctions(plan, step)}
${loadFunction(rows, tile)}
${loadFunction(columns, tile)}

extern "C" __global__ void __launch_bounds__(${String(threads)}, ${String(tile.blocksPerMultiprocessor)})
pairwise_tile(${parameterList(plan, partial ? 'write' : undefined)}) {
  extern __shared__ __align__(16) unsigned char memory[];
  ${operandRoles(plan)}
  ${step.setup}

  // which tile: batch, then part of k, then groups of ${String(TILES_PER_GROUP)} rows of tiles, column by column
  const unsigned rowTiles = (unsigned)((rowCount + ${String(tile.tileRows - 1)}) / ${String(tile.tileRows)});
  const unsigned columnTiles = (unsigned)((columnCount + ${String(tile.tileColumns - 1)}) / ${String(tile.tileColumns)});
  unsigned index = blockIdx.x;
  const unsigned perBatch = rowTiles * columnTiles * ${String(splitK)}u;
  const unsigned layer = index / perBatch;
  index -= layer * perBatch;
  const unsigned part = index % ${String(splitK)}u;
  index /= ${String(splitK)}u;
  const unsigned perGroup = ${String(TILES_PER_GROUP)}u * columnTiles;
  const unsigned firstRow = index / perGroup * ${String(TILES_PER_GROUP)}u;
  const unsigned groupRows = min(rowTiles - firstRow, ${String(TILES_PER_GROUP)}u);
  index %= perGroup;
  const long long rowStart = (long long)(firstRow + index % groupRows) * ${String(tile.tileRows)};
  const long long columnStart = (long long)(index / groupRows) * ${String(tile.tileColumns)};
  const int rowsHere = (int)min(rowCount - rowStart, ${String(tile.tileRows)}ll);
  const int columnsHere = (int)min(columnCount - columnStart, ${String(tile.tileColumns)}ll);

  // which steps of k
  const int kTiles = (int)((k + ${String(tile.tileK - 1)}) / ${String(tile.tileK)});
  const int tilesPerPart = (kTiles + ${String(splitK - 1)}) / ${String(splitK)};
  const int firstTile = min((int)part * tilesPerPart, kTiles);
  const int tileEnd = min(firstTile + tilesPerPart, kTiles);

  const ${type}* const rowSource = rows + layer * rowBatch + rowStart${plan.rowsLayout === 'row' ? ' * rowStride' : ''};
  const ${type}* const columnSource = columns + layer * columnBatch + columnStart${plan.columnsLayout === 'row' ? ' * columnStride' : ''};
  const unsigned shared = (unsigned)__cvta_generic_to_shared(memory);
  const int thread = threadIdx.x;
  const auto load = [&](int t, int stage) {
    if (t < tileEnd) {
      const long long start = (long long)t * ${String(tile.tileK)};
      const int steps = (int)min(k - start, ${String(tile.tileK)}ll);
      const unsigned target = shared + stage * ${String(stageElements * bytes)};
      load_rows(target, rowSource + ${advance('row', plan.rowsLayout)}, rowStride, rowsHere, steps, thread);
      load_columns(target + ${String(rowElements * bytes)}, columnSource + ${advance('column', plan.columnsLayout)}, columnStride, columnsHere, steps, thread);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };

  // lanes of a warp cover 4 rows by 8 columns
  const int lane = thread % 32, warp = thread / 32;
  const int threadRow = warp / ${String(tile.threadColumns / 8)} * 4 + lane / 8;
  const int threadColumn = warp % ${String(tile.threadColumns / 8)} * 8 + lane % 8;
  ${type} sum[${String(rows.perThread)}][${String(columns.perThread)}] = {};

  #pragma unroll
  for (int stage = 0; stage < ${String(tile.stages - 1)}; ++stage) load(firstTile + stage, stage);
  int stage = 0;
  #pragma unroll 1
  for (int t = firstTile; t < tileEnd; ++t) {
    asm volatile("cp.async.wait_group ${String(tile.stages - 2)};" ::: "memory");
    __syncthreads();
    load(t + ${String(tile.stages - 1)}, stage == 0 ? ${String(tile.stages - 1)} : stage - 1);
    const ${type}* const rowTile = reinterpret_cast<const ${type}*>(memory) + stage * ${String(stageElements)} + ${threadOffset(rows, tile, 'threadRow')};
    const ${type}* const columnTile = reinterpret_cast<const ${type}*>(memory) + stage * ${String(stageElements)} + ${String(rowElements)} + ${threadOffset(columns, tile, 'threadColumn')};
${indent(computeTile(rows, columns, tile, step), 4)}
    stage = stage == ${String(tile.stages - 1)} ? 0 : stage + 1;
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");

  ${
    partial
      ? `${type}* const target = workspace + ((long long)part * batch + layer) * rowCount * columnCount;
  const long long targetStride = columnCount;`
      : `${type}* const target = out + layer * batchStrideOut;
  const long long targetStride = ldo;`
  }
${indent(storeTile(rows, columns, tile, sharedMemBytes, { aligned: plan.alignedOut && !partial, partial }))}
}
`;
  return {
    dialect: 'cuda',
    name: plan.summary,
    entry: 'pairwise_tile',
    source,
    params: partial ? withWorkspace(params, 'write') : params,
    options: [],
    geometry: (scalars: Scalars) => {
      const size = roleSizes(plan, scalars);
      const tiles =
        Math.ceil(size.rows / tile.tileRows) * Math.ceil(size.columns / tile.tileColumns);
      return { grid: [tiles * splitK * size.batch, 1, 1], block: [threads, 1, 1], sharedMemBytes };
    },
    cost: (scalars: Scalars) => pairwiseCost(plan, step, scalars),
  };
}
