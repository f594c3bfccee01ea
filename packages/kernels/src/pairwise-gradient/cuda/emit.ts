import { cudaHelpers, type CudaHelper } from '../../emit/cuda-math.js';
import { indent, lines } from '../../emit/indent.js';
import { parameterList } from '../../emit/parameter-text.js';
import type { CudaGeometry, CudaKernel, Scalars } from '../../emitted-kernel.js';
import { gradientCost } from '../gradient-cost.js';
import { gradientParams, thetaName } from '../gradient-params.js';
import type { CudaGradientPlan } from '../gradient-plan.js';
import { cudaFunctions, type CudaFunctions } from './functions.js';
import { cudaPairsText, cudaSumsText } from './first-phase.js';
import { cudaParametersText, cudaRowsText, cudaTotalsText } from './second-phase.js';
import { gradientSharedBytes } from './sizes.js';
import { cudaReadText, cudaTilesText, loadText } from './tiles.js';
import { planExpressions, type PlanExpressions } from '../plan-expressions.js';

const ENTRY = 'pairwise_gradient';

/** Threads of a block: 16 along the rows and 16 along the columns or k. */
export const CUDA_GRADIENT_THREADS = 256;

/** The GPU kernel of a gradient plan. */
export function emitCudaGradient(plan: CudaGradientPlan): CudaKernel {
  const expressions = planExpressions(plan);
  const functions = cudaFunctions(plan, expressions);
  const tiles = keptTiles(plan, expressions);
  const sharedMemBytes = Math.max(
    gradientSharedBytes(plan, tiles, plan.dtype),
    plan.target === 'rows' ? 0 : CUDA_GRADIENT_THREADS * 8,
  );
  return {
    dialect: 'cuda',
    name: plan.summary,
    entry: ENTRY,
    source: sourceText(plan, expressions, functions),
    params: gradientParams(plan),
    options: [],
    geometry: (scalars) => geometry(plan, sharedMemBytes, scalars),
    cost: (scalars) => gradientCost(plan, scalars),
  };
}

/** What is kept in shared memory per pair: its values, s being the first of them for a while. */
function keptTiles(
  plan: CudaGradientPlan,
  { pairs }: PlanExpressions,
): { values: number; index: boolean } {
  const index = plan.target === 'rows' && plan.reduce === 'max';
  return { values: Math.max(pairs.length, 1), index };
}

function geometry(plan: CudaGradientPlan, sharedMemBytes: number, scalars: Scalars): CudaGeometry {
  const { m = 0, batch = 0 } = scalars;
  const blocks = Math.ceil(m / (16 * plan.rowsPerThread)) * plan.parts * batch;
  return { grid: [blocks, 1, 1], block: [CUDA_GRADIENT_THREADS, 1, 1], sharedMemBytes };
}

function signature(plan: CudaGradientPlan): string {
  const names = plan.parameters.map(thetaName);
  const lines = ['m', 'rowStrideB', 'batchStrideB', ...names.map((name) => `${name}At`)];
  return parameterList(gradientParams(plan, names), { lines: [...lines, 'diagonalOffset'] });
}

function sourceText(
  plan: CudaGradientPlan,
  expressions: PlanExpressions,
  functions: CudaFunctions,
): string {
  const rows = plan.target === 'rows';
  const helpers = new Set<CudaHelper>(functions.helpers);
  const thetas = plan.parameters.map((_, i) => {
    const name = `theta${i}`;
    return `const double ${name} = ${name}At != nullptr ? (double)${name}At[layer * ${name}Stride] : ${name}Value;`;
  });
  const first = plan.readsSum ? cudaSumsText(plan) : '';
  const second = !expressions.readsTerms
    ? ''
    : rows
      ? cudaRowsText(plan)
      : cudaParametersText(plan, expressions);
  return `${cudaHelpers(helpers, plan.dtype)}
${cudaReadText(plan.dtype)}
${loadText(plan)}

extern "C" __global__ void __launch_bounds__(${CUDA_GRADIENT_THREADS}, 2)
${ENTRY}(${signature(plan)}) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int thread = threadIdx.x, along = thread % 16, down = thread / 16;
  const long long rowTiles = (m + ROWS - 1) / ROWS, columnTiles = (n + COLUMNS - 1) / COLUMNS;
  const long long tile = blockIdx.x % rowTiles, part = blockIdx.x / rowTiles % parts, layer = blockIdx.x / rowTiles / parts;
  const long long tilesPerPart = (columnTiles + parts - 1) / parts;
  const long long firstTile = min(part * tilesPerPart, columnTiles), tileEnd = min(firstTile + tilesPerPart, columnTiles);
  const long long rowStart = tile * ROWS;
${indent(lines(...thetas, functions.setup))}
${indent(cudaTilesText(plan, expressions))}
  a += layer * batchStrideA;
  b += layer * batchStrideB;
  gradient += layer * batchStrideG;
${
  rows
    ? `  out += ((part * batch + layer) * m + rowStart) * k;
  // a part without columns contributes 0
  if (firstTile == tileEnd) {
    for (long long i = thread; i < min(m - rowStart, (long long)ROWS) * k; i += ${CUDA_GRADIENT_THREADS}) out[i] = 0;
  }`
    : `  double total[${plan.sums.length}] = {};`
}

  #pragma unroll 1
  for (long long at = firstTile; at < tileEnd; ++at) {
    const long long columnStart = at * COLUMNS;
${indent(lines(first, cudaPairsText(plan, expressions), second), 4)}
  }
${rows ? '' : indent(cudaTotalsText(plan))}
}
`.replace(/\n{3,}/g, '\n\n');
}
