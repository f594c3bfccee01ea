import { cudaKernel } from '../../emit/cuda-kernel.js';
import { cudaType } from '../../emit/literals.js';
import { lines } from '../../emit/text.js';
import { type CudaKernel, withWorkspace } from '../../emitted-kernel.js';
import { computeTile } from '../../pair-tile/cuda/contraction.js';
import { readFunctions } from '../../pair-tile/cuda/neighbours.js';
import { pipelineOf } from '../../pair-tile/cuda/pipeline.js';
import { storeBytes, storeTile } from '../../pair-tile/cuda/store.js';
import {
  blockThreads,
  vectorWidth,
  tileOperands,
  type TileConfig,
} from '../../pair-tile/cuda/tile-operand.js';
import type { TilePlan } from '../plan-types.js';
import { pairwiseCost, operandRoles, signature, tileCount } from './kernel-signature.js';
import { finishFunction, pairFunctions, pairStep } from './pair-step.js';
import { triangleFunctions, type Triangle } from './triangle.js';

/** Rows of tiles that are walked together, so that their operands stay in the L2 cache. */
const TILES_PER_GROUP = 16;
/** Rows between a tile and the diagonal beyond which all of the tile lies below it. */
const FAR = 1 << 20;

/** The register-tiled kernel; with `splitK` above 1 it writes partial sums to the workspace. */
export function tileKernel(plan: TilePlan): CudaKernel {
  const { tile, splitK } = plan;
  const threads = blockThreads(tile);
  const step = pairStep(plan);
  const finish = finishFunction(plan);
  const [rows, columns] = tileOperands(plan);
  const finished = { rows, columns, tile };
  const pipeline = pipelineOf([rows, columns], {
    threads,
    tileK: tile.tileK,
    stages: tile.stages,
    splitK,
    keepsInRegisters: true,
    locate: 'locate(block, rowCount, columnCount)',
  });
  const sharedMemBytes = Math.max(pipeline.sharedMemBytes, storeBytes(finished));
  const partial = splitK > 1;
  const type = cudaType(plan.dtype);
  const storeText = storeTile(finished, {
    sharedMemBytes,
    aligned: plan.alignedOut && !partial,
    mirrored: plan.symmetric === true && !partial,
    combine: step.combine,
    finish: partial ? undefined : finish.call,
  });
  const before = `${readFunctions(plan.dtype)}
${pairFunctions(plan, step)}
${locateFunction(plan)}
${pipeline.functions}

`;
  const body = `  extern __shared__ __align__(16) unsigned char memory[];
  ${operandRoles(plan)}
  ${step.perLayer === true ? '' : step.setup}

  const Place place = locate(blockIdx.x, rowCount, columnCount);${
    step.perLayer === true ? `\n  const unsigned layer = place.layer;\n  ${step.setup}` : ''
  }
  const int thread = threadIdx.x;
${pipeline.setup}

  ${type} sum[${rows.perThread}][${columns.perThread}] = {};

${pipeline.loop(
  `${threadText(tile, 'own')}
const ${type}* const rowTile = reinterpret_cast<const ${type}*>(memory) + stage * STAGE + threadRow * ${vectorWidth(rows)};
const ${type}* const columnTile = reinterpret_cast<const ${type}*>(memory) + stage * STAGE + ${pipeline.places.get('columns') ?? 0} + threadColumn * ${vectorWidth(columns)};
${computeTile(rows, columns, tile, step)}`,
)}

${pipeline.after(lines(threadText(tile, 'threadAgain'), targetText(plan), partial ? '' : finish.setup('end.layer'), storeText))}`;
  return cudaKernel({
    name: plan.summary,
    entry: 'pairwise_tile',
    ...signature(plan, partial ? (params) => withWorkspace(params, 'write') : undefined),
    before,
    threads,
    resident: tile.blocksPerMultiprocessor,
    body,
    grid: (scalars) => tileCount(plan, tile, scalars) * splitK,
    sharedMemBytes,
    cost: (scalars) => pairwiseCost(plan, step, scalars),
  });
}

/** A thread's place in the tile: lanes of a warp cover 4 rows by 8 columns. */
function threadText({ threadRows, threadColumns, slicesK }: TileConfig, thread: string): string {
  const perSlice = threadRows * threadColumns;
  const inSlice = slicesK === 1 ? '' : ` % ${perSlice}`;
  return lines(
    `const int thread = ${thread}, lane = thread % 32, warp = thread${inSlice} / 32;`,
    slicesK > 1 && `const int slice = thread / ${perSlice};`,
    `const int threadRow = warp / ${threadColumns / 8} * 4 + lane / 8;`,
    `const int threadColumn = warp % ${threadColumns / 8} * 8 + lane % 8;`,
  );
}

/** Where a block's tile goes: to the output, or to the workspace as the sums of a part of k. */
function targetText({ dtype, tile, splitK, symmetric }: TilePlan): string {
  const type = cudaType(dtype);
  const isPart = splitK > 1;
  return lines(
    `const int rowsHere = (int)min(rowCount - end.rowStart, ${tile.tileRows}ll);`,
    `const int columnsHere = (int)min(columnCount - end.columnStart, ${tile.tileColumns}ll);`,
    `const long long targetStride = ${isPart ? 'columnCount' : 'ldo'};`,
    isPart
      ? `${type}* const target = workspace + ((long long)end.part * batch + end.layer) * rowCount * columnCount + end.rowStart * targetStride + end.columnStart;`
      : `${type}* const target = out + end.layer * batchStrideOut + end.rowStart * targetStride + end.columnStart;`,
    symmetric === true &&
      !isPart &&
      lines(
        `${type}* const mirror = out + end.layer * batchStrideOut + end.columnStart * targetStride + end.rowStart;`,
        '// far below the diagonal the distance from it no longer matters',
        `const int lead = (int)min(end.rowStart - end.columnStart, ${FAR}ll);`,
      ),
  );
}

const triangle = ({ tileRows, tileColumns }: TilePlan['tile']): Triangle => ({
  tileRows,
  tileColumns,
  groupRows: TILES_PER_GROUP,
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
