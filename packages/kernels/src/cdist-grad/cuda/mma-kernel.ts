import { indent } from '../../emit/text.js';
import type { CudaKernel } from '../../emitted-kernel.js';
import type { Pipeline } from '../../pair-tile/cuda/pipeline.js';
import type { MmaConfig, MmaPlan } from '../plan-types.js';
import { type BlockTile, stagedKernel, storeTarget, type GradOperand } from './staged-kernel.js';
import { termStep } from './term-step.js';

/** Rows of c of one tensor-core product. */
export const MMA_ROWS = 16;
/**
 * Steps of k of one stage, which are also those that the tensor cores add up before the sum moves to a
 * register: they cut the bits of what they add, so long sums there would drift.
 */
export const MMA_TILE_K = 32;
/** Padding that puts the eight lines of k that a warp reads into different banks. */
const PADDING_A = 8;
const STRIDE_K = MMA_TILE_K + 4;

/** Extents of the tile of a block. */
export function mmaTile(config: MmaConfig): BlockTile {
  return {
    o: MMA_ROWS,
    n: config.perWarpN * config.warpsN,
    m: 8 * config.perWarpM * config.warpsM,
  };
}

/** The operands of a stage. */
export function mmaOperands(
  plan: Pick<MmaPlan, 'mma' | 'alignedA' | 'alignedB' | 'alignedC'>,
): GradOperand[] {
  const tile = mmaTile(plan.mma);
  const common = { dtype: 'float32', turned: false } as const;
  const byK = { ...common, inner: MMA_TILE_K, innerIsK: true, stride: STRIDE_K };
  return [
    {
      ...common,
      name: 'a',
      outer: MMA_TILE_K,
      inner: tile.m,
      innerIsK: false,
      aligned: plan.alignedA,
      stride: Math.ceil(tile.m / 32) * 32 + PADDING_A,
      // Lane 4 g + q of a product takes the steps 8 q to 8 q + 7 of k.
      line: (k) => `((${k}) % 8 * 4 + (${k}) / 8)`,
    },
    { ...byK, name: 'b', outer: tile.n, aligned: plan.alignedB, repeatLast: true },
    { ...byK, name: 'c', outer: MMA_ROWS, aligned: plan.alignedC },
  ];
}

/**
 * The float32 kernel on tensor cores. c is the first operand of `mma.sync.m16n8k8`, 16 rows at a time;
 * the factors a phi(delta) are made in the registers of the second one, each by the lane that needs it.
 * Both are split in two parts of 11 bits; the products of the large parts and those of a large with a
 * small part go to sums of their own, 32 steps of k long, which are then added to float32 registers.
 */
export function mmaKernel(plan: MmaPlan): CudaKernel {
  const { mma: config } = plan;
  const tile = mmaTile(config);
  const threads = 32 * config.warpsN * config.warpsM;
  return stagedKernel(plan, {
    ...config,
    entry: 'cdist_grad_mma',
    tile,
    threads,
    tileK: MMA_TILE_K,
    operands: mmaOperands(plan),
    functions: FUNCTIONS,
    setup: ({
      sharedMemBytes,
    }) => `  // d behind the stages: the loop has no registers to spare for it. It comes with the first of them.
  for (int e = (int)thread; e < ${tile.n * tile.m}; e += ${threads}) {
    const int i = e / ${tile.m}, j = e % ${tile.m};
    copy4(shared + ${sharedMemBytes} + 4 * e, d + place.layer * batchStrideD + (place.nStart + i) * ldd + place.mStart + j, i < n - place.nStart && j < m - place.mStart ? 4 : 0);
  }
  float sum[${config.perWarpN}][${config.perWarpM}][4] = {};`,
    compute: (pipeline) => computeText(plan, pipeline),
    placeAgain: placeText(config, 'threadAgain'),
    store: storeText(plan),
    bytesBehind: 4 * tile.n * tile.m,
    multiplySlots: (rows) => MMA_SLOTS * Math.ceil(rows / MMA_ROWS),
  });
}

/** A lane's place in the block. */
function placeText({ perWarpN, perWarpM, warpsM }: MmaConfig, thread: string): string {
  return `  // lane 4 g + q: row g of c, column g of the factors, eight steps of k from 8 q
  const int g = ${thread} % 32 / 4, q = ${thread} % 4;
  const int mPlace = ${thread} / 32 % ${warpsM} * ${8 * perWarpM}, nPlace = ${thread} / ${32 * warpsM} * ${perWarpN};`;
}

/**
 * Instructions of one factor beside its value: two to split it, 12 products for eight of them, and
 * four additions of their sum.
 */
export const MMA_SLOTS = 2 + 12 / 8 + 4 / 8;

const FUNCTIONS = `// the part of x that a tensor core takes, 11 bits: rounded, or cut at one instruction less
__device__ __forceinline__ float high_part(float x) {
  return __int_as_float((__float_as_int(x) + 0x1000) & 0xffffe000);
}
__device__ __forceinline__ float first_bits(float x) {
  return __int_as_float(__float_as_int(x) & 0xffffe000);
}
__device__ __forceinline__ void multiply(float* s, const float* c, float t0, float t1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3])
      : "r"(__float_as_uint(c[0])), "r"(__float_as_uint(c[1])), "r"(__float_as_uint(c[2])), "r"(__float_as_uint(c[3])), "r"(__float_as_uint(t0)), "r"(__float_as_uint(t1)));
}
// eight neighbours in shared memory
__device__ __forceinline__ void read8(float* r, const float* s) {
  const float4 v = *reinterpret_cast<const float4*>(s), w = *reinterpret_cast<const float4*>(s + 4);
  r[0] = v.x; r[1] = v.y; r[2] = v.z; r[3] = v.w;
  r[4] = w.x; r[5] = w.y; r[6] = w.z; r[7] = w.w;
}`;

/** All products of one stage: c once, a once, then for each n its b and for each group of m four products of 8 steps. */
function computeText(plan: MmaPlan, { places, sharedMemBytes }: Pipeline): string {
  const { perWarpN, perWarpM } = plan.mma;
  const [a] = mmaOperands(plan);
  const stage = 'reinterpret_cast<const float*>(memory) + stage * STAGE';
  const { term } = termStep(plan);
  return `${placeText(plan.mma, 'own')}
float high[4][4], low[4][4];
#pragma unroll
for (int half = 0; half < 2; ++half) {
  float r[8];
  read8(r, ${stage} + ${places.get('c') ?? 0} + (g + 8 * half) * ${STRIDE_K} + 8 * q);
  #pragma unroll
  for (int e = 0; e < 8; ++e) {
    high[e / 2][e % 2 * 2 + half] = high_part(r[e]);
    low[e / 2][e % 2 * 2 + half] = r[e] - high_part(r[e]);
  }
}
float w[${perWarpM}][8];
const float* const as = ${stage} + ${places.get('a') ?? 0} + q * ${a?.stride ?? 0} + mPlace + g;
#pragma unroll
for (int j = 0; j < ${perWarpM}; ++j)
  #pragma unroll
  for (int e = 0; e < 8; ++e) w[j][e] = as[4 * e * ${a?.stride ?? 0} + 8 * j];
const float* const bs = ${stage} + ${places.get('b') ?? 0} + nPlace * ${STRIDE_K} + 8 * q;
const float* const z = reinterpret_cast<const float*>(memory + ${sharedMemBytes}) + nPlace * ${mmaTile(plan.mma).m} + mPlace + g;
#pragma unroll
for (int i = 0; i < ${perWarpN}; ++i) {
  float x[8];
  read8(x, bs + i * ${STRIDE_K});
  // first what only small parts give, then the rest on top of it: a small sum loses nothing to a large one
  float part[${perWarpM}][4] = {}, first[${perWarpM}][8];
  #pragma unroll
  for (int e = 0; e < 4; ++e)
    #pragma unroll
    for (int j = 0; j < ${perWarpM}; ++j) {
      const float y = z[i * ${mmaTile(plan.mma).m} + 8 * j];
      const float t0 = ${term('y - x[2 * e]', 'w[j][2 * e]')}, t1 = ${term('y - x[2 * e + 1]', 'w[j][2 * e + 1]')};
      first[j][2 * e] = first_bits(t0);
      first[j][2 * e + 1] = first_bits(t1);
      multiply(part[j], low[e], first[j][2 * e], first[j][2 * e + 1]);
      multiply(part[j], high[e], t0 - first[j][2 * e], t1 - first[j][2 * e + 1]);
    }
  #pragma unroll
  for (int e = 0; e < 4; ++e)
    #pragma unroll
    for (int j = 0; j < ${perWarpM}; ++j) multiply(part[j], high[e], first[j][2 * e], first[j][2 * e + 1]);
  #pragma unroll
  for (int j = 0; j < ${perWarpM}; ++j)
    #pragma unroll
    for (int e = 0; e < 4; ++e) sum[i][j][e] += part[j][e];
}`;
}

function storeText(plan: MmaPlan): string {
  const { mma: config, splitK } = plan;
  const pair = plan.alignedOut && splitK === 1;
  const write = pair
    ? `if (column + 1 < mHere - mPlace) *reinterpret_cast<float2*>(to) = make_float2(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
          else if (column < mHere - mPlace) to[0] = sum[i][j][2 * half];`
    : `if (column < mHere - mPlace) to[0] = sum[i][j][2 * half];
          if (column + 1 < mHere - mPlace) to[1] = sum[i][j][2 * half + 1];`;
  return `  const int nHere = (int)min(n - end.nStart, ${mmaTile(config).n}ll), mHere = (int)min(m - end.mStart, ${mmaTile(config).m}ll);
  ${storeTarget(plan)}
  #pragma unroll
  for (int half = 0; half < 2; ++half)
    if (g + 8 * half < o - end.oStart)
      #pragma unroll
      for (int i = 0; i < ${config.perWarpN}; ++i)
        #pragma unroll
        for (int j = 0; j < ${config.perWarpM}; ++j) {
          const int column = 8 * j + 2 * q;
          if (nPlace + i >= nHere) continue;
          float* const to = target + (g + 8 * half) * strideR + i * strideN + column;
${indent(write, 10)}
        }`;
}
