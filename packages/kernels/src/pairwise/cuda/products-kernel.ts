import { cudaKernel } from '../../emit/cuda-kernel.js';
import { cudaLiteral } from '../../emit/literals.js';
import { indent } from '../../emit/text.js';
import type { CudaKernel, Scalars } from '../../emitted-kernel.js';
import { pointer, type KernelParam } from '../../kernel-param.js';
import type { ProductsPlan } from '../plan-types.js';
import { signature } from './kernel-signature.js';
import { finishFunction, pairFunctions, pairStep } from './pair-step.js';

const THREADS = 256;
/** A block's part of the output: a warp has four columns a lane and every eighth row. */
const [TILE_ROWS, TILE_COLUMNS] = [64, 128];
/** Pairs of a tile that warps compute again, one each; with more all of the tile is. */
const MOST_CLOSE = 512;
/** Steps of k that a tile keeps in shared memory, and pairs of a thread there: four rows by two times four columns. */
const [STEPS, OWN_ROWS, OWN_COLUMNS] = [16, 4, 8];
/** Below it products of low parts may leave the range of float32. */
const LEAST_NORMS = 2 ** -80;

/**
 * The second phase of squared distances through products: reads x.y from where the output goes, adds the norms, and writes the outer
 * expression there. Pairs that are close beside their norms, and those of which a number is not finite or out of range, are computed
 * again by differences: by a warp each, or, where a tile has many of them, all of the tile as the direct kernels do.
 */
export function productsKernel(plan: ProductsPlan): CudaKernel {
  const step = pairStep(plan);
  const finish = finishFunction(plan);
  // one batch entry; the inner expression has no parameters
  const setup = finish.setup('0');
  const vector = plan.alignedOut;
  const body = `  __shared__ unsigned short close[${MOST_CLOSE}];
  __shared__ int closeCount;
${setup === '' ? '' : `  ${setup}\n`}  const unsigned columnTiles = (unsigned)((n + ${TILE_COLUMNS - 1}) / ${TILE_COLUMNS});
  const long long rowStart = (long long)(blockIdx.x / columnTiles) * ${TILE_ROWS};
  const long long columnStart = (long long)(blockIdx.x % columnTiles) * ${TILE_COLUMNS};
  const int rowsHere = (int)min(m - rowStart, ${TILE_ROWS}ll), columnsHere = (int)min(n - columnStart, ${TILE_COLUMNS}ll);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, column = 4 * lane;
  float* const tile = out + rowStart * ldo + columnStart;
  if (threadIdx.x == 0) closeCount = 0;
  __syncthreads();
  if (column < columnsHere) {
    float normB[4];
    #pragma unroll
    for (int j = 0; j < 4; ++j) normB[j] = column + j < columnsHere ? normsB[columnStart + column + j] : 0.0f;
    #pragma unroll 4
    for (int row = warp; row < rowsHere; row += ${THREADS / 32}) {
      const float normA = normsA[rowStart + row];
      float* const line = tile + row * ldo + column;
      float value[4];
${indent(read(vector), 6)}
      #pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float norms = normA + normB[j], distance = fmaf(-2.0f, value[j], norms);
        // false for NaN, and where both sides are infinite
        const bool far = distance > ${cudaLiteral(Math.fround(plan.products.closeness), 'float32')} * norms && norms >= ${cudaLiteral(LEAST_NORMS, 'float32')};
        if (!far && column + j < columnsHere) {
          const int place = atomicAdd(&closeCount, 1);
          if (place < ${MOST_CLOSE}) close[place] = (unsigned short)(row * ${TILE_COLUMNS} + column + j);
        }
        value[j] = ${finish.call('far ? distance : 0.0f')};
      }
${indent(write(vector), 6)}
    }
  }
  __syncthreads();
  const int count = closeCount;
  if (count <= ${MOST_CLOSE}) {
    for (int each = warp; each < count; each += ${THREADS / 32}) {
      const int row = close[each] / ${TILE_COLUMNS}, other = close[each] % ${TILE_COLUMNS};
      const float* const x = a + (rowStart + row) * lda;
      const float* const y = b + (columnStart + other) * ldb;
      float sum = 0.0f;
${indent(
  differences(plan, step.step('sum', 'x[l]', 'y[l]', '0'), (j) =>
    step.step('sum', `u.${j}`, `v.${j}`, '0'),
  ),
  6,
)}
      #pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
      if (lane == 0) tile[row * ldo + other] = ${finish.call('sum')};
    }
    return;
  }
  __shared__ __align__(16) float rowTile[${STEPS}][${TILE_ROWS + 4}], columnTile[${STEPS}][${TILE_COLUMNS + 4}];
  const int ownRow = threadIdx.x / 16 * 4, ownColumn = threadIdx.x % 16 * 4;
  float sums[${OWN_ROWS}][${OWN_COLUMNS}] = {};
  for (long long start = 0; start < k; start += ${STEPS}) {
    __syncthreads();
${indent(fill('row', TILE_ROWS), 4)}
${indent(fill('column', TILE_COLUMNS), 4)}
    __syncthreads();
    #pragma unroll 4
    for (int l = 0; l < ${STEPS}; ++l) {
      const float4 r = *reinterpret_cast<const float4*>(&rowTile[l][ownRow]);
      const float4 c = *reinterpret_cast<const float4*>(&columnTile[l][ownColumn]);
      const float4 d = *reinterpret_cast<const float4*>(&columnTile[l][ownColumn + ${TILE_COLUMNS / 2}]);
      const float x[${OWN_ROWS}] = {r.x, r.y, r.z, r.w}, y[${OWN_COLUMNS}] = {c.x, c.y, c.z, c.w, d.x, d.y, d.z, d.w};
      #pragma unroll
      for (int i = 0; i < ${OWN_ROWS}; ++i)
        #pragma unroll
        for (int j = 0; j < ${OWN_COLUMNS}; ++j) sums[i][j] = ${step.step('sums[i][j]', 'x[i]', 'y[j]', '0')};
    }
  }
  #pragma unroll
  for (int i = 0; i < ${OWN_ROWS}; ++i)
    #pragma unroll
    for (int j = 0; j < ${OWN_COLUMNS}; ++j) {
      const int other = ownColumn + j % 4 + j / 4 * ${TILE_COLUMNS / 2};
      if (ownRow + i < rowsHere && other < columnsHere) tile[(ownRow + i) * ldo + other] = ${finish.call('sums[i][j]')};
    }`;
  return cudaKernel({
    name: plan.summary,
    entry: 'pairwise_products',
    ...signature(plan, withNorms),
    before: `${pairFunctions(plan, step)}\n\n`,
    threads: THREADS,
    body,
    grid: ({ m = 0, n = 0 }) => Math.ceil(m / TILE_ROWS) * Math.ceil(n / TILE_COLUMNS),
    cost: ({ m = 0, n = 0 }: Scalars) => ({
      bytes: 8 * m * n + 4 * (m + n),
      flops: m * n * (2 + 2 * finish.issueSlots),
      issueSlots: m * n * (5 + finish.issueSlots),
    }),
  });
}

/** Of what every pairwise kernel has, the output is read too; behind it come the norms. */
const withNorms = (params: readonly KernelParam[]): readonly KernelParam[] => [
  ...params.map((param) =>
    param.kind === 'pointer' && param.name === 'out'
      ? pointer('out', 'float32', 'readwrite')
      : param,
  ),
  ...['normsA', 'normsB'].map((name) => pointer(name, 'float32', 'read')),
];

const VALUES = 'value[0], value[1], value[2], value[3]';

const read = (vector: boolean): string => {
  const one = `#pragma unroll
for (int j = 0; j < 4; ++j) value[j] = column + j < columnsHere ? line[j] : 0.0f;`;
  if (!vector) return one;
  return `if (column + 4 <= columnsHere) {
  const float4 four = *reinterpret_cast<const float4*>(line);
  value[0] = four.x, value[1] = four.y, value[2] = four.z, value[3] = four.w;
} else {
${indent(one)}
}`;
};

const write = (vector: boolean): string => {
  const one = `#pragma unroll
for (int j = 0; j < 4; ++j)
  if (column + j < columnsHere) line[j] = value[j];`;
  if (!vector) return one;
  return `if (column + 4 <= columnsHere) {
  *reinterpret_cast<float4*>(line) = make_float4(${VALUES});
} else {
${indent(one)}
}`;
};

/** The sum of a warp's own steps, by 16 bytes where both rows allow it. */
function differences(
  { alignedRows, alignedColumns }: ProductsPlan,
  one: string,
  of: (component: 'x' | 'y' | 'z' | 'w') => string,
): string {
  const tail = (start: string): string =>
    `for (long long l = ${start}; l < k; l += 32) sum = ${one};`;
  if (!alignedRows || !alignedColumns) return tail('lane');
  const four = (['x', 'y', 'z', 'w'] as const).map((component) => `  sum = ${of(component)};`);
  return `for (long long l = 4 * lane; l + 4 <= k; l += 128) {
  const float4 u = *reinterpret_cast<const float4*>(x + l), v = *reinterpret_cast<const float4*>(y + l);
${four.join('\n')}
}
${tail('k / 4 * 4 + lane')}`;
}

/** Copies steps of the block's rows to shared memory, with 0 beyond the operand. */
function fill(name: 'row' | 'column', extent: number): string {
  const [operand, stride] = name === 'row' ? ['a', 'lda'] : ['b', 'ldb'];
  return `for (int e = threadIdx.x; e < ${extent * STEPS}; e += ${THREADS}) {
  const int place = e / ${STEPS}, l = e % ${STEPS};
  const bool isThere = place < ${name}sHere && start + l < k;
  ${name}Tile[l][place] = isThere ? ${operand}[(${name}Start + place) * ${stride} + start + l] : 0.0f;
}`;
}
