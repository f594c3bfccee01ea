import { cudaKernel } from '../emit/cuda-kernel.js';
import { type CudaKernel, type Scalars, withWorkspace } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';
import { cudaHead, indexType, THREADS } from './cuda-text.js';
import { scatterSpelling } from './scatter-params.js';
import type { IndexDType } from './scatter-plan-types.js';

/** Entries of one block in a pass of the sort. */
export const SORT_TILE = 2048;
const DIGITS = 256;
const ITEMS = SORT_TILE / THREADS;

const tilesOf = (count: number): number => Math.ceil(count / SORT_TILE);

/** 32-bit words of the workspace that the sort needs, an even number. */
export function sortWords(count: number): number {
  return 4 * count + DIGITS * (tilesOf(count) + 1);
}

/** Passes over bits of the keys 0 to `rows`, of which the last stands for indices outside: as many as 8 bits each need. */
export function sortPasses(rows: number): number {
  return Math.max(1, Math.ceil(keyBits(rows) / MOST_BITS));
}

/** Bits of a pass: in shares as equal as can be, since fewer digits leave longer stretches to write. */
export function passBits(rows: number): number {
  return Math.max(1, Math.ceil(keyBits(rows) / sortPasses(rows)));
}

const MOST_BITS = 8;
const keyBits = (rows: number): number => Math.ceil(Math.log2(rows + 1));

/**
 * Where the workspace has what: keys and places of an entry, twice, since each pass writes to the other side; how often each tile
 * has each digit, by digit; how often all have it. Then whole words up to an even number.
 */
export const ROOM_TEXT = `#define MEMBER __device__ __forceinline__
struct Room {
  u32* words;
  i64 count;
  MEMBER u32* keys(i64 side) const { return words + 2 * side * count; }
  MEMBER u32* places(i64 side) const { return words + (2 * side + 1) * count; }
  MEMBER i64 tiles() const { return (count + ${SORT_TILE - 1}) / ${SORT_TILE}; }
  MEMBER u32* counters() const { return words + 4 * count; }
  MEMBER u32* totals() const { return counters() + ${DIGITS} * tiles(); }
  MEMBER u32* end() const { return totals() + ${DIGITS}; }
};
`;

/** The first pass reads the index itself. */
const keyText = (
  index: IndexDType,
): string => `FN u32 key_at(const ${indexType(index)}* index, const Room& room, i64 rows, i64 pass, i64 n) {
  if (pass > 0) return room.keys((pass - 1) & 1)[n];
  const i64 r = (i64)index[n];
  return (u64)r < (u64)rows ? (u32)r : (u32)rows;
}
`;

/** The kernels of one pass of a stable sort by rows: the least significant digit first. */
export function cudaSortKernels(index: IndexDType): readonly [CudaKernel, CudaKernel, CudaKernel] {
  return [digitsKernel(index), scanKernel(), placeKernel(index)];
}

const passParams = (index: IndexDType): CudaKernel['params'] =>
  withWorkspace(
    [pointer('index', index, 'read'), ...['count', 'rows', 'pass', 'bits'].map(int64)],
    'write',
  );

/** How often each tile has each digit. */
function digitsKernel(index: IndexDType): CudaKernel {
  return cudaKernel({
    name: `scatter digits by ${index}`,
    entry: 'scatter_digits',
    params: passParams(index),
    list: scatterSpelling(),
    before: `${cudaHead}${ROOM_TEXT}${keyText(index)}\n`,
    threads: THREADS,
    body: `  __shared__ u32 counts[${DIGITS}];
  const Room room = {workspace, count};
  counts[threadIdx.x] = 0u;
  __syncthreads();
  const u32 shift = (u32)(bits * pass), mask = (1u << (u32)bits) - 1u;
  const i64 first = (i64)blockIdx.x * ${SORT_TILE} + threadIdx.x;
  #pragma unroll
  for (int i = 0; i < ${ITEMS}; ++i) {
    const i64 n = first + i * ${THREADS};
    if (n < count) atomicAdd(&counts[key_at(index, room, rows, pass, n) >> shift & mask], 1u);
  }
  __syncthreads();
  room.counters()[threadIdx.x * room.tiles() + blockIdx.x] = counts[threadIdx.x];`,
    grid: ({ count = 0 }) => tilesOf(count),
    cost: (scalars) => sortCost(scalars, 4),
  });
}

/** Of each digit, how often the tiles before have it; a block has one digit. */
function scanKernel(): CudaKernel {
  return cudaKernel({
    name: 'scatter scan',
    entry: 'scatter_scan',
    params: withWorkspace([int64('count')], 'write'),
    list: scatterSpelling(),
    before: `${cudaHead}${ROOM_TEXT}${SCAN_TEXT}\n`,
    threads: THREADS,
    body: `  __shared__ u32 sums[8];
  const Room room = {workspace, count};
  const i64 tiles = room.tiles();
  u32* const counters = room.counters() + blockIdx.x * tiles;
  u32 before = 0u;
  for (i64 from = 0; from < tiles; from += ${THREADS}) {
    const i64 at = from + threadIdx.x;
    const u32 mine = at < tiles ? counters[at] : 0u;
    u32 total;
    const u32 upto = scan_block(mine, sums, total);
    if (at < tiles) counters[at] = before + upto - mine;
    before += total;
  }
  if (threadIdx.x == 0) room.totals()[blockIdx.x] = before;`,
    grid: ({ count = 0 }) => (count === 0 ? 0 : DIGITS),
    cost: ({ count = 0 }) => ({ bytes: 8 * DIGITS * tilesOf(count), flops: 0 }),
  });
}

/** Sums of the threads up to each of a block. */
const SCAN_TEXT = `FN u32 scan_block(u32 mine, u32* sums, u32& total) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32 upto = mine;
  #pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const u32 other = __shfl_up_sync(0xffffffffu, upto, step);
    if (lane >= step) upto += other;
  }
  __syncthreads();
  if (lane == 31) sums[warp] = upto;
  __syncthreads();
  total = 0u;
  #pragma unroll
  for (int w = 0; w < 8; ++w) {
    if (w == warp) upto += total;
    total += sums[w];
  }
  return upto;
}
`;

/** Entries to their places: behind the smaller digits, the tiles before, the warps before and the lanes before. */
function placeKernel(index: IndexDType): CudaKernel {
  return cudaKernel({
    name: `scatter place by ${index}`,
    entry: 'scatter_place',
    params: passParams(index),
    list: scatterSpelling(),
    before: `${cudaHead}${ROOM_TEXT}${SCAN_TEXT}${keyText(index)}\n`,
    threads: THREADS,
    body: `  __shared__ u32 counts[8][${DIGITS}], shifts[${DIGITS}];
  __shared__ u32 keysHere[${SORT_TILE}], placesHere[${SORT_TILE}];
  __shared__ u32 sums[8];
  const Room room = {workspace, count};
  const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const u32 shift = (u32)(bits * pass), mask = (1u << (u32)bits) - 1u;
  for (u32 d = lane; d < ${DIGITS}u; d += 32) counts[warp][d] = 0u;
  __syncwarp();
  const i64 first = (i64)blockIdx.x * ${SORT_TILE} + warp * ${SORT_TILE / 8} + lane;
  u32 key[${ITEMS}], rank[${ITEMS}];
  #pragma unroll
  for (int i = 0; i < ${ITEMS}; ++i) {
    const i64 n = first + i * 32;
    key[i] = n < count ? key_at(index, room, rows, pass, n) : 0u;
  }
  #pragma unroll
  for (int i = 0; i < ${ITEMS}; ++i) {
    const bool live = first + i * 32 < count;
    const u32 digit = key[i] >> shift & mask;
    // the lanes with the same digit
    u32 peers = __ballot_sync(0xffffffffu, live);
    #pragma unroll
    for (int b = 0; b < 8; ++b) {
      const u32 ones = __ballot_sync(0xffffffffu, digit >> b & 1u);
      peers &= (digit >> b & 1u) != 0u ? ones : ~ones;
    }
    const u32 below = __popc(peers & ((1u << lane) - 1u)), before = counts[warp][digit];
    rank[i] = before + below;
    __syncwarp();
    if (live && below == 0u) counts[warp][digit] = before + __popc(peers);
    __syncwarp();
  }
  // a thread has one digit
  __syncthreads();
  u32 own = 0u;
  #pragma unroll
  for (int w = 0; w < 8; ++w) own += counts[w][threadIdx.x];
  u32 total;
  u32 here = scan_block(own, sums, total) - own;
  const u32 all = room.totals()[threadIdx.x];
  const u32 at = scan_block(all, sums, total) - all + room.counters()[threadIdx.x * room.tiles() + blockIdx.x];
  shifts[threadIdx.x] = at - here;
  #pragma unroll
  for (int w = 0; w < 8; ++w) {
    const u32 of = counts[w][threadIdx.x];
    counts[w][threadIdx.x] = here;
    here += of;
  }
  __syncthreads();
  // sorted within the tile first, so that neighbours are written side by side
  #pragma unroll
  for (int i = 0; i < ${ITEMS}; ++i) {
    const i64 n = first + i * 32;
    if (n >= count) continue;
    const u32 to = counts[warp][key[i] >> shift & mask] + rank[i];
    keysHere[to] = key[i];
    placesHere[to] = pass > 0 ? room.places((pass - 1) & 1)[n] : (u32)n;
  }
  __syncthreads();
  u32* const keys = room.keys(pass & 1);
  u32* const places = room.places(pass & 1);
  const i64 left = count - (i64)blockIdx.x * ${SORT_TILE};
  #pragma unroll
  for (int i = 0; i < ${ITEMS}; ++i) {
    const u32 n = threadIdx.x + i * ${THREADS};
    if (n >= left) continue;
    const u32 one = keysHere[n], to = shifts[one >> shift & mask] + n;
    keys[to] = one;
    places[to] = placesHere[n];
  }`,
    grid: ({ count = 0 }) => tilesOf(count),
    cost: (scalars) => sortCost(scalars, 16),
  });
}

const sortCost = ({ count = 0 }: Scalars, bytes: number): { bytes: number; flops: number } => ({
  bytes: count * bytes,
  flops: 0,
});
