import { elementInfo } from '../elementwise/element-type.js';
import type { SumDType } from '../elementwise/emit-sum.js';
import { cudaKernel } from '../emit/cuda-kernel.js';
import { type CudaKernel, type Scalars, withWorkspace } from '../emitted-kernel.js';
import { int64, pointer } from '../kernel-param.js';
import { sortWords, ROOM_TEXT } from './cuda-sort.js';
import { cudaHead, THREADS } from './cuda-text.js';
import { scatterAddCost, scatterSpelling } from './scatter-params.js';
import type { ScatterAddPlan } from './scatter-plan-types.js';

/** Most sorted entries of a block. */
export const LARGEST_TILE = 4096;
/** Chunks of a run that one thread adds up by itself, and of which it waits for some at a time. */
const SHORT_RUN = 32;
const CHUNKS_AT_ONCE = 8;
/** Entries that a thread waits for at a time. */
const ENTRIES_AT_ONCE = 8;

/** Sorted entries that one thread adds up for its column: `tile` entries over the groups of `lanes` threads. */
const chunkOf = (tile: number, lanes: number): number => (tile * lanes) / THREADS;

/** Bytes of the workspace: the sort's, and two numbers for each chunk and column. */
export function runsWorkspaceBytes({
  count = 0,
  columns = 0,
  tile = 1,
  lanes = 1,
}: Scalars): number {
  const chunks = Math.ceil(count / chunkOf(tile, lanes));
  return 4 * sortWords(count) + 16 * chunks * columns;
}

const RUNS_TEXT = `struct Runs {
  const u32 *keys, *places;
  // what a chunk adds to a run that began before it, and to one that goes on behind it
  double *heads, *tails;
  i64 count, chunk;
  // one past the end of a chunk
  MEMBER i64 end(i64 q) const { return (q + 1) * chunk < count ? (q + 1) * chunk : count; }
  MEMBER bool same(i64 n, u32 key) const { return n >= 0 && n < count && keys[n] == key; }
};
FN Runs runs_of(u32* workspace, i64 count, i64 columns, i64 sorted, i64 chunk) {
  const Room room = {workspace, count};
  // an even number of words from the start
  double* const heads = (double*)room.end();
  const i64 chunks = (count + chunk - 1) / chunk;
  return {room.keys(sorted), room.places(sorted), heads, heads + chunks * columns, count, chunk};
}
`;

const params = (types: CudaKernel['params'], strided: boolean): CudaKernel['params'] =>
  withWorkspace(
    [
      ...types,
      ...['count', 'rows', 'columns', ...(strided ? ['valueStride'] : [])].map(int64),
      ...['sorted', 'tile', 'lanes'].map(int64),
    ],
    'write',
  );

const grid = ({ count = 0, columns = 0, tile = 1, lanes = 1 }: Scalars): number =>
  Math.ceil(count / tile) * Math.ceil(columns / lanes);

/**
 * Sums of the sorted entries. A thread adds up a chunk of them in one column: runs that lie in the chunk go to the result,
 * the ends of runs that do not go to the workspace.
 */
export function cudaRunsKernel(plan: ScatterAddPlan): CudaKernel {
  const [S = '', D = ''] = [plan.from, plan.to].map((dtype) => elementInfo(dtype).storage);
  return cudaKernel({
    name: `scatter runs ${plan.from} to ${plan.to}`,
    entry: 'scatter_runs',
    params: params([pointer('values', plan.from, 'read'), pointer('out', plan.to, 'write')], true),
    list: scatterSpelling({ values: S, out: D }),
    before: `${cudaHead}${ROOM_TEXT}${RUNS_TEXT}
// one word of room in 32, so that threads a chunk apart meet different banks
FN int spread(i64 i) { return (int)i + ((int)i >> 5); }

`,
    threads: THREADS,
    body: `  __shared__ u32 keys[${LARGEST_TILE + LARGEST_TILE / 32}], places[${LARGEST_TILE + LARGEST_TILE / 32}];
  const i64 chunk = tile * lanes / ${THREADS};
  const Runs runs = runs_of(workspace, count, columns, sorted, chunk);
  const i64 strips = (columns + lanes - 1) / lanes, block = blockIdx.x / strips;
  const i64 first = block * tile, entries = count - first < tile ? count - first : tile;
  for (i64 i = threadIdx.x; i < entries; i += ${THREADS}) {
    keys[spread(i)] = runs.keys[first + i];
    places[spread(i)] = runs.places[first + i];
  }
  __syncthreads();
  const i64 group = threadIdx.x / (u32)lanes, begin = group * chunk;
  const i64 c = (blockIdx.x - block * strips) * lanes + threadIdx.x % (u32)lanes;
  if (begin >= entries || c >= columns) return;
  const i64 end = begin + chunk < entries ? begin + chunk : entries;
  const i64 part = (first + begin) / chunk * columns + c;
  u32 key = keys[spread(begin)];
  bool began = runs.same(first + begin - 1, key);
  double sum = 0.0;
  const auto add = [&](u32 next, double value) {
    if (next != key) {
      if (began) runs.heads[part] = sum;
      else out[key * columns + c] = (${D})sum;
      began = false;
      key = next;
      sum = 0.0;
    }
    sum += value;
  };
  // indices outside come last, and add nothing
  const auto value = [&](i64 i) {
    return keys[spread(i)] < rows ? (double)values[places[spread(i)] * valueStride + c] : 0.0;
  };
  i64 i = begin;
  for (; i + ${ENTRIES_AT_ONCE} <= end; i += ${ENTRIES_AT_ONCE}) {
    double v[${ENTRIES_AT_ONCE}];
    #pragma unroll
    for (int j = 0; j < ${ENTRIES_AT_ONCE}; ++j) v[j] = value(i + j);
    #pragma unroll
    for (int j = 0; j < ${ENTRIES_AT_ONCE}; ++j) add(keys[spread(i + j)], v[j]);
  }
  for (; i < end; ++i) add(keys[spread(i)], value(i));
  if (began) runs.heads[part] = sum;
  else if (runs.same(first + end, key)) runs.tails[part] = sum;
  else if (key < rows) out[key * columns + c] = (${D})sum;`,
    grid,
    cost: (scalars) => scatterAddCost(plan, scalars),
  });
}

/** The sums of runs that lie in several chunks, in their order: short ones by a thread, long ones by a block. */
export function cudaMergeKernel(to: SumDType): CudaKernel {
  const D = elementInfo(to).storage;
  return cudaKernel({
    name: `scatter merge ${to}`,
    entry: 'scatter_merge',
    params: params([pointer('out', to, 'write')], false),
    list: scatterSpelling({ out: D }),
    before: `${cudaHead}${ROOM_TEXT}${RUNS_TEXT}
// the last chunk that has entries of a row, from one that has
FN i64 last_chunk(const Runs& runs, i64 q, u32 key) {
  i64 low = runs.end(q) - 1, high = runs.count;
  while (high - low > 1) {
    const i64 middle = (low + high) / 2;
    if (runs.keys[middle] == key) low = middle;
    else high = middle;
  }
  return low / runs.chunk;
}

`,
    threads: THREADS,
    body: `  __shared__ double sums[${THREADS}];
  __shared__ int waits[${THREADS}];
  const Runs runs = runs_of(workspace, count, columns, sorted, tile * lanes / ${THREADS});
  const int group = threadIdx.x / (u32)lanes, groups = ${THREADS} / (u32)lanes;
  const i64 strips = (columns + lanes - 1) / lanes, block = blockIdx.x / strips;
  const i64 c = (blockIdx.x - block * strips) * lanes + threadIdx.x % (u32)lanes, firstChunk = block * groups;
  const i64 mine = firstChunk + group, begin = mine * runs.chunk;
  // whether a run begins in this chunk and goes on behind it
  bool begins = begin < count && c < columns;
  u32 key = 0u;
  if (begins) {
    key = runs.keys[runs.end(mine) - 1];
    const bool before = runs.keys[begin] == key && runs.same(begin - 1, key);
    begins = key < rows && !before && runs.same(runs.end(mine), key);
  }
  bool done = !begins;
  if (begins) {
    double sum = runs.tails[mine * columns + c];
    const i64 chunks = (count + runs.chunk - 1) / runs.chunk;
    for (i64 q = mine + 1; q <= mine + ${SHORT_RUN} && !done; q += ${CHUNKS_AT_ONCE}) {
      double head[${CHUNKS_AT_ONCE}];
      bool more[${CHUNKS_AT_ONCE}];
      #pragma unroll
      for (int j = 0; j < ${CHUNKS_AT_ONCE}; ++j) {
        head[j] = q + j < chunks ? runs.heads[(q + j) * columns + c] : 0.0;
        more[j] = runs.same(runs.end(q + j), key);
      }
      #pragma unroll
      for (int j = 0; j < ${CHUNKS_AT_ONCE}; ++j) {
        if (done) continue;
        sum += head[j];
        done = !more[j];
      }
    }
    if (done) out[key * columns + c] = (${D})sum;
  }
  if (threadIdx.x % (u32)lanes == 0) waits[group] = !done;
  if (!__syncthreads_or(!done)) return;
  for (int g = 0; g < groups; ++g) {
    if (!waits[g]) continue;
    const i64 q = firstChunk + g;
    const u32 row = runs.keys[runs.end(q) - 1];
    const i64 last = last_chunk(runs, q, row);
    double sum = 0.0;
    if (c < columns) {
      #pragma unroll 4
      for (i64 j = q + 1 + group; j <= last; j += groups) sum += runs.heads[j * columns + c];
    }
    sums[threadIdx.x] = sum;
    for (int half = groups / 2; half > 0; half /= 2) {
      __syncthreads();
      if (group < half) sums[threadIdx.x] += sums[threadIdx.x + half * (int)lanes];
    }
    if (group == 0 && c < columns) out[row * columns + c] = (${D})(runs.tails[q * columns + c] + sums[threadIdx.x]);
    __syncthreads();
  }`,
    grid,
    cost: ({ count = 0, columns = 0, tile = 1, lanes = 1 }) => ({
      bytes: 8 * Math.ceil(count / chunkOf(tile, lanes)) * columns,
      flops: 0,
    }),
  });
}
