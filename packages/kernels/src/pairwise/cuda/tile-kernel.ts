import { dtypeBytes } from '../../dtype.js';
import { cudaType } from '../../emit/cuda-literal.js';
import { indent } from '../../emit/indent.js';
import type { CudaKernel, Scalars } from '../../emitted-kernel.js';
import type { TilePlan } from '../plan-types.js';
import { pairwiseCost } from './cost.js';
import { operandRoles, signature, roleSizes } from './kernel-signature.js';
import { finishFunction, pairFunctions, pairStep } from './pair-step.js';
import { computeTile, readFunctions } from './tile-compute.js';
import {
  blockThreads,
  copyFunctions,
  group,
  loadFunction,
  loadSetup,
  sharedElements,
  tileOperand,
} from './tile-operand.js';
import { storeBytes, storeTile } from './tile-store.js';
import { storeSymmetricTile } from './tile-store-symmetric.js';
import { triangleFunctions, triangleTiles, type Triangle } from './triangle.js';

/** Rows of tiles that are walked together, so that their operands stay in the L2 cache. */
const TILES_PER_GROUP = 16;
/** Rows between a tile and the diagonal beyond which all of the tile lies below it. */
const FAR = 1 << 20;

/** The register-tiled kernel; with `splitK` above 1 it writes partial sums to the workspace. */
export function tileKernel(plan: TilePlan): CudaKernel {
  const { tile, splitK } = plan;
  const threads = blockThreads(tile);
  const sliceThreads = tile.threadRows * tile.threadColumns;
  const bytes = dtypeBytes(plan.dtype);
  const step = pairStep(plan);
  const finish = finishFunction(plan);
  const mirrored = plan.symmetric === true && splitK === 1;
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
  const { params, list } = signature(plan, partial ? 'write' : undefined);
  const type = cudaType(plan.dtype);
  const finishSetup = partial ? '' : finish.setup('end.layer');
  const store = {
    aligned: plan.alignedOut && !partial,
    partial,
    combine: step.combine,
    finish: finish.call,
  };
  const source = `${readFunctions(plan.dtype)}
${pairFunctions(plan, step)}
${copyFunctions([rows, columns])}
${loadFunction(rows, tile)}
${loadFunction(columns, tile)}

${locateFunction(plan)}

extern "C" __global__ void __launch_bounds__(${threads}, ${tile.blocksPerMultiprocessor})
pairwise_tile(${list}) {
  extern __shared__ __align__(16) unsigned char memory[];
  ${operandRoles(plan)}
  ${step.perLayer === true ? '' : step.setup}

  const Place place = locate(blockIdx.x, rowCount, columnCount);${
    step.perLayer === true ? `\n  const unsigned layer = place.layer;\n  ${step.setup}` : ''
  }

  // which steps of k
  const int kTiles = (int)((k + ${tile.tileK - 1}) / ${tile.tileK});
  const int tilesPerPart = (kTiles + ${splitK - 1}) / ${splitK};
  const int firstTile = min((int)place.part * tilesPerPart, kTiles);
  const int tileEnd = min(firstTile + tilesPerPart, kTiles);

  const unsigned shared = (unsigned)__cvta_generic_to_shared(memory);
  const int thread = threadIdx.x;
  const long long kStart = (long long)firstTile * ${tile.tileK};
  ${loadSetup(rows, tile, {
    base: 'rows + place.layer * rowBatch',
    stride: 'rowStride',
    place: 'place.rowStart',
    kStart: 'kStart',
    count: `(int)min(rowCount - place.rowStart, ${tile.tileRows}ll)`,
    sharedOffset: 0,
  })}
  ${loadSetup(columns, tile, {
    base: 'columns + place.layer * columnBatch',
    stride: 'columnStride',
    place: 'place.columnStart',
    kStart: 'kStart',
    count: `(int)min(columnCount - place.columnStart, ${tile.tileColumns}ll)`,
    sharedOffset: rowElements * bytes,
  })}
  const auto load = [&](int t, int stage) {
    if (t < tileEnd) {
      const int steps = (int)min(k - (long long)t * ${tile.tileK}, ${tile.tileK}ll);
      load_rows(rowsTarget + stage * ${stageElements * bytes}, rowsSource, rowStride, rowsInner, rowsOuter, rowsLeft, steps);
      load_columns(columnsTarget + stage * ${stageElements * bytes}, columnsSource, columnStride, columnsInner, columnsOuter, columnsLeft, steps);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };

  // lanes of a warp cover 4 rows by 8 columns
  const int lane = thread % 32, warp = thread ${tile.slicesK === 1 ? '' : `% ${sliceThreads} `}/ 32;${tile.slicesK === 1 ? '' : `\n  const int slice = thread / ${sliceThreads};`}
  const int threadRow = warp / ${tile.threadColumns / 8} * 4 + lane / 8;
  const int threadColumn = warp % ${tile.threadColumns / 8} * 8 + lane % 8;
  ${type} sum[${rows.perThread}][${columns.perThread}] = {};

  // the first ${tile.stages - 1} turns only load
  int stage = 0;
  #pragma unroll 1
  for (int t = firstTile - ${tile.stages - 1}; t < tileEnd; ++t) {
    if (t >= firstTile) {
      asm volatile("cp.async.wait_group ${tile.stages - 2};" ::: "memory");
      __syncthreads();
    }
    load(t + ${tile.stages - 1}, stage == 0 ? ${tile.stages - 1} : stage - 1);
    if (t < firstTile) {
      stage = stage == ${tile.stages - 1} ? 0 : stage + 1;
      continue;
    }
    const ${type}* const rowTile = reinterpret_cast<const ${type}*>(memory) + stage * ${stageElements} + threadRow * ${group(rows)};
    const ${type}* const columnTile = reinterpret_cast<const ${type}*>(memory) + stage * ${stageElements} + ${rowElements} + threadColumn * ${group(columns)};
${indent(computeTile(rows, columns, tile, step), 4)}
    stage = stage == ${tile.stages - 1} ? 0 : stage + 1;
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");

  // found again rather than kept: the loop needs every register
  unsigned block;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  const Place end = locate(block, rowCount, columnCount);
  const int rowsHere = (int)min(rowCount - end.rowStart, ${tile.tileRows}ll);
  const int columnsHere = (int)min(columnCount - end.columnStart, ${tile.tileColumns}ll);
  ${
    partial
      ? `const long long targetStride = columnCount;
  ${type}* const target = workspace + ((long long)end.part * batch + end.layer) * rowCount * columnCount + end.rowStart * targetStride + end.columnStart;`
      : `const long long targetStride = ldo;
  ${type}* const target = out + end.layer * batchStrideOut + end.rowStart * targetStride + end.columnStart;`
  }${finishSetup === '' ? '' : `\n  ${finishSetup}`}${
    mirrored
      ? `
  ${type}* const mirror = out + end.layer * batchStrideOut + end.columnStart * targetStride + end.rowStart;
  // far below the diagonal the distance from it no longer matters
  const int lead = (int)min(end.rowStart - end.columnStart, ${FAR}ll);`
      : ''
  }
${indent(mirrored ? storeSymmetricTile(rows, columns, tile, sharedMemBytes, store) : storeTile(rows, columns, tile, sharedMemBytes, store))}
}
`;
  return {
    dialect: 'cuda',
    name: plan.summary,
    entry: 'pairwise_tile',
    source,
    params,
    options: [],
    geometry: (scalars: Scalars) => {
      const size = roleSizes(plan, scalars);
      const tiles =
        plan.symmetric === true
          ? triangleTiles(size.rows, triangle(tile))
          : Math.ceil(size.rows / tile.tileRows) * Math.ceil(size.columns / tile.tileColumns);
      return { grid: [tiles * splitK * size.batch, 1, 1], block: [threads, 1, 1], sharedMemBytes };
    },
    cost: (scalars: Scalars) => pairwiseCost(plan, step, scalars),
  };
}

const triangle = ({ tileRows, tileColumns }: TilePlan['tile']): Triangle => ({
  tileRows,
  tileColumns,
  together: TILES_PER_GROUP,
});

const PLACE = 'struct Place { long long rowStart, columnStart; unsigned layer, part; };';

/** Which tile a block computes: batch, then part of k, then groups of rows of tiles. */
function locateFunction(plan: TilePlan): string {
  const { tile, splitK } = plan;
  if (plan.symmetric === true) return locateInTriangle(plan);
  const group = `${TILES_PER_GROUP}u`;
  return `${PLACE}
__device__ __forceinline__ Place locate(unsigned index, long long rowCount, long long columnCount) {
  const unsigned rowTiles = (unsigned)((rowCount + ${tile.tileRows - 1}) / ${tile.tileRows});
  const unsigned columnTiles = (unsigned)((columnCount + ${tile.tileColumns - 1}) / ${tile.tileColumns});
  const unsigned perBatch = rowTiles * columnTiles * ${splitK}u, layer = index / perBatch;
  index -= layer * perBatch;
  const unsigned part = index % ${splitK}u;
  index /= ${splitK}u;
  // ${TILES_PER_GROUP} rows of tiles together, column by column, so that operands stay in the L2 cache
  const unsigned perGroup = ${group} * columnTiles, firstRow = index / perGroup * ${group};
  const unsigned groupRows = min(rowTiles - firstRow, ${group});
  index %= perGroup;
  return {(long long)(firstRow + index % groupRows) * ${tile.tileRows}, (long long)(index / groupRows) * ${tile.tileColumns}, layer, part};
}`;
}

function locateInTriangle({ tile, splitK }: TilePlan): string {
  return `${triangleFunctions(triangle(tile))}
${PLACE}
__device__ __forceinline__ Place locate(unsigned index, long long rowCount, long long columnCount) {
  const unsigned perBatch = (unsigned)tiles_of(rowCount) * ${splitK}u, layer = index / perBatch;
  index -= layer * perBatch;
  const unsigned part = index % ${splitK}u;
  const Tile tile = tile_at(index / ${splitK}u, (rowCount + ${tile.tileRows - 1}) / ${tile.tileRows});
  return {(long long)tile.row * ${tile.tileRows}, (long long)tile.column * ${tile.tileColumns}, layer, part};
}`;
}
