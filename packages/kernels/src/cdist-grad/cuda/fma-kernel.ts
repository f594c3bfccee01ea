import { cudaType } from '../../emit/literals.js';
import { indent, lines } from '../../emit/text.js';
import type { CudaKernel } from '../../emitted-kernel.js';
import {
  readFunctions,
  readNeighbours,
  longestVector,
  writeNeighbours,
} from '../../pair-tile/cuda/neighbours.js';
import type { FmaConfig, FmaPlan } from '../plan-types.js';
import { FMA_THREADS, FMA_TILE_K } from './configs.js';
import { type BlockTile, stagedKernel, storeTarget, type GradOperand } from './staged-kernel.js';
import { termStep } from './term-step.js';

/** Extents of the tile of a block. */
export function fmaTile(config: FmaConfig): BlockTile {
  return {
    o: config.tileO,
    n: config.perThreadN * FMA_THREADS.n,
    m: config.perThreadM * FMA_THREADS.m,
  };
}

/** The operands of a stage: all by k, so that a thread reads neighbours with one instruction. */
export function fmaOperands(plan: Pick<FmaPlan, 'dtype' | 'fma' | 'alignedA'>): GradOperand[] {
  const { dtype, fma } = plan;
  const tile = fmaTile(fma);
  const tileK = FMA_TILE_K[dtype];
  const width = longestVector(dtype);
  // The padding keeps 16-byte reads aligned and spreads the element copies of a warp over the banks.
  const turned = {
    dtype,
    inner: tileK,
    innerIsK: true,
    aligned: false,
    turned: true,
    // the sums take the registers
    mostUnrolled: 4,
  };
  return [
    {
      name: 'a',
      dtype,
      outer: tileK,
      inner: tile.m,
      innerIsK: false,
      turned: false,
      aligned: plan.alignedA,
      stride: tile.m,
    },
    {
      name: 'b',
      ...turned,
      outer: tile.n,
      stride: roundUp(tile.n, width) + width,
      repeatLast: true,
    },
    { name: 'c', ...turned, outer: tile.o, stride: roundUp(tile.o, width) + width },
  ];
}

const roundUp = (value: number, to: number): number => Math.ceil(value / to) * to;

/** The kernel of plain multiply-adds. */
export function fmaKernel(plan: FmaPlan): CudaKernel {
  const { fma: config, dtype } = plan;
  const type = cudaType(dtype);
  return stagedKernel(plan, {
    ...config,
    entry: 'cdist_grad_fma',
    tile: fmaTile(config),
    threads: FMA_THREADS.n * FMA_THREADS.m,
    tileK: FMA_TILE_K[dtype],
    operands: fmaOperands(plan),
    functions: readFunctions(dtype),
    place: placeText(config, 'thread', 'place'),
    setup: () => `  ${type} z[${config.perThreadN}][${config.perThreadM}];
  const ${type}* const zs = d + place.layer * batchStrideD + (place.nStart + nPlace) * ldd + place.mStart + mPlace;
  #pragma unroll
  for (int i = 0; i < ${config.perThreadN}; ++i)
    #pragma unroll
    for (int j = 0; j < ${config.perThreadM}; ++j)
      z[i][j] = nPlace + i < nHere && mPlace + j < mHere ? zs[i * ldd + j] : (${type})0;
  ${type} sum[${config.tileO}][${config.perThreadN}][${config.perThreadM}] = {};`,
    compute: ({ places }) => computeText(plan, places),
    placeAgain: placeText(config, 'threadAgain', 'end'),
    store: storeText(plan),
    bytesBehind: 0,
  });
}

const threadPlace = (config: FmaConfig, thread: string): string =>
  `const int mPlace = ${thread} % ${FMA_THREADS.m} * ${config.perThreadM}, nPlace = ${thread} / ${FMA_THREADS.m} * ${config.perThreadN};`;

/** A thread's place in the block, and how much of the block exists. */
function placeText(config: FmaConfig, thread: string, place: string): string {
  const tile = fmaTile(config);
  return `  ${threadPlace(config, thread)}
  const int nHere = (int)min(n - ${place}.nStart, ${tile.n}ll), mHere = (int)min(m - ${place}.mStart, ${tile.m}ll);`;
}

/** All steps of k of one stage: the factors once, then a multiply-add for each row of c. */
function computeText(plan: FmaPlan, places: ReadonlyMap<string, number>): string {
  const { fma: config, dtype } = plan;
  const type = cudaType(dtype);
  const { perThreadN, perThreadM, tileO } = config;
  const [a, b, c] = fmaOperands(plan);
  const stage = `reinterpret_cast<const ${type}*>(memory) + stage * STAGE`;
  const read = (name: string, count: number, from: string, stride: number): string =>
    readText(name, count, `${from} + kk * ${stride}`, dtype);
  const { term } = termStep(plan);
  return `${threadPlace(config, 'own')}
const ${type}* const as = ${stage} + ${places.get('a') ?? 0} + mPlace;
const ${type}* const bs = ${stage} + ${places.get('b') ?? 0} + nPlace;
const ${type}* const cs = ${stage} + ${places.get('c') ?? 0};
#pragma unroll 1
for (int kk = 0; kk < ${FMA_TILE_K[dtype]}; ++kk) {
  ${type} x[${perThreadN}], w[${perThreadM}], t[${perThreadN}][${perThreadM}], q[${tileO}];
${indent(lines(read('x', perThreadN, 'bs', b?.stride ?? 0), read('w', perThreadM, 'as', a?.stride ?? 0), read('q', tileO, 'cs', c?.stride ?? 0)))}
  #pragma unroll
  for (int i = 0; i < ${perThreadN}; ++i)
    #pragma unroll
    for (int j = 0; j < ${perThreadM}; ++j) t[i][j] = ${term('z[i][j] - x[i]', 'w[j]')};
  #pragma unroll
  for (int r = 0; r < ${tileO}; ++r)
    #pragma unroll
    for (int i = 0; i < ${perThreadN}; ++i)
      #pragma unroll
      for (int j = 0; j < ${perThreadM}; ++j) sum[r][i][j] = ${dtype === 'float32' ? 'fmaf' : 'fma'}(q[r], t[i][j], sum[r][i][j]);
}`;
}

/** Neighbours in shared memory with the longest vector reads that fit. */
function readText(name: string, count: number, from: string, dtype: FmaPlan['dtype']): string {
  const most = longestVector(dtype);
  const vector = [most, 2, 1].find((size) => size <= most && count % size === 0) ?? 1;
  return readNeighbours(name, count, vector, `${from} + h${vector === 1 ? '' : ` * ${vector}`}`);
}

function storeText(plan: FmaPlan): string {
  const { fma: config, dtype, splitK } = plan;
  const type = cudaType(dtype);
  const width = longestVector(dtype);
  const vector = plan.alignedOut && splitK === 1 && config.perThreadM % width === 0 ? width : 1;
  return `  const int oHere = (int)min(o - end.oStart, ${config.tileO}ll);
  ${storeTarget(plan)}
  #pragma unroll
  for (int r = 0; r < ${config.tileO}; ++r)
    if (r < oHere)
      #pragma unroll
      for (int i = 0; i < ${config.perThreadN}; ++i)
        if (nPlace + i < nHere) {
          ${type}* const to = target + r * strideR + i * strideN;
${indent(writeNeighbours({ dtype, vector, count: config.perThreadM, value: (j) => `sum[r][i][${j}]`, left: 'mHere - mPlace' }), 10)}
        }`;
}
