import { ops, reduction, vi, vij, vj } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { CPU, emittedText } from '../testing/emitted-text.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { emitMapReduce, planMapReduce, type MapReduceProblem } from './index.js';

const sum = (rowsI: number, rowsJ: number): MapReduceProblem => ({
  reduction: reduction('Sum', ops.mul(vi(0, 1), vj(1, 1))),
  dtype: 'float32',
  rowsI,
  rowsJ,
  batch: 1,
});

describe('the text of sum_j x_i y_j', () => {
  it('for a GPU has rows of a thread in registers and tiles of the others in shared memory', () => {
    const program = emitMapReduce(planMapReduce(sum(1_000_000, 100), H200));
    expect(program.steps).toHaveLength(1);
    expect(emittedText(program)).toMatchInlineSnapshot(`
      "#define INLINE __device__ __forceinline__
      #define UNUSED
      typedef float V;
      typedef int I;
      INLINE I number(I x) { return x; }
      INLINE V real(I x) { return (V)x; }
      INLINE bool any(I x) { return x != 0; }
      struct State { V total0; };
      INLINE State empty() {
        State s;
        s.total0 = 0.0f;
        return s;
      }
      INLINE void add(State& s, UNUSED V f0, UNUSED I row) {
        s.total0 = s.total0 + f0;
      }
      INLINE void merge(State& s, const State& t) {
        s.total0 = s.total0 + t.total0;
      }
      extern "C" __global__ void __launch_bounds__(128, 4)
      map_reduce(const float* __restrict__ x0, const float* __restrict__ x1, float* __restrict__ out, long long rowsI, long long rowsJ, long long batch, long long ld0, long long batchStride0, long long ld1, long long batchStride1) {
        const long long kept = rowsI, reduced = rowsJ;
        const long long first = (long long)blockIdx.x * 512;
        const long long from = 0, end = reduced;
        __shared__ __align__(16) V staged[128];
        for (long long layer = blockIdx.z; layer < batch; layer += gridDim.z) {
          V own[4][1];
          State total[4];
          #pragma unroll
          for (int r = 0; r < 4; ++r) {
            total[r] = empty();
            // a row past the end computes what the last one does, and nothing of it is written
            const long long wanted = first + threadIdx.x + r * 128;
            const long long row = wanted < kept ? wanted : kept - 1;
            own[r][0] = x0[layer * batchStride0 + row * ld0 + 0];
          }
          for (long long start = from; start < end; start += 128) {
            const int count = end - start < 128 ? (int)(end - start) : 128;
            __syncthreads();
            #pragma unroll 1
            for (int e = threadIdx.x; e < count * 1; e += 128)
              staged[e / 1 * 1 + 0 + e % 1] = x1[layer * batchStride1 + (start + e / 1) * ld1 + e % 1];
            __syncthreads();
            State s[4];
            #pragma unroll
            for (int r = 0; r < 4; ++r) {
              s[r] = empty();
            }
            #pragma unroll 4
            for (int q = 0; q < count; ++q) {
              const V staged0 = staged[q];
              #pragma unroll
              for (int r = 0; r < 4; ++r) {
                const V i0_0 = own[r][0];
                const V j1_0 = staged0;
                const float t0 = i0_0 * j1_0;
                add(s[r], t0, (I)(start + q));
              }
            }
            #pragma unroll
            for (int r = 0; r < 4; ++r) {
              merge(total[r], s[r]);
            }
          }
          #pragma unroll
          for (int r = 0; r < 4; ++r) {
            const long long row = first + threadIdx.x + r * 128;
            if (row < kept) {
              UNUSED const State& s = total[r];
              out[(layer * kept + row) * 1 + 0] = (V)(s.total0);
            }
          }
        }
      }
      "
    `);
  });

  it('for a GPU and few rows leaves running results of parts, and merges them in order', () => {
    const program = emitMapReduce(planMapReduce(sum(3, 100_000), H200));
    expect(emittedText(program, 'kernel')).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(128, 4)
      map_reduce(const float* __restrict__ x0, const float* __restrict__ x1, float* __restrict__ out, long long rowsI, long long rowsJ, long long batch, long long ld0, long long batchStride0, long long ld1, long long batchStride1, float* __restrict__ workspace) {
        const long long kept = rowsI, reduced = rowsJ;
        const long long first = (long long)blockIdx.x * 128;
        const int part = blockIdx.y;
        const long long units = (reduced + 16 - 1) / 16;
        const long long length = (units + 64 - 1) / 64 * 16;
        const long long from = part * length < reduced ? part * length : reduced;
        const long long end = from + length < reduced ? from + length : reduced;
        __shared__ __align__(16) V staged[128];
        for (long long layer = blockIdx.z; layer < batch; layer += gridDim.z) {
          V own[1][1];
          State total[1];
          #pragma unroll
          for (int r = 0; r < 1; ++r) {
            total[r] = empty();
            // a row past the end computes what the last one does, and nothing of it is written
            const long long wanted = first + threadIdx.x + r * 128;
            const long long row = wanted < kept ? wanted : kept - 1;
            own[r][0] = x0[layer * batchStride0 + row * ld0 + 0];
          }
          for (long long start = from; start < end; start += 128) {
            const int count = end - start < 128 ? (int)(end - start) : 128;
            __syncthreads();
            #pragma unroll 1
            for (int e = threadIdx.x; e < count * 1; e += 128)
              staged[e / 1 * 1 + 0 + e % 1] = x1[layer * batchStride1 + (start + e / 1) * ld1 + e % 1];
            __syncthreads();
            State s[1];
            #pragma unroll
            for (int r = 0; r < 1; ++r) {
              s[r] = empty();
            }
            #pragma unroll 4
            for (int q = 0; q < count; ++q) {
              const V staged0 = staged[q];
              #pragma unroll
              for (int r = 0; r < 1; ++r) {
                const V i0_0 = own[r][0];
                const V j1_0 = staged0;
                const float t0 = i0_0 * j1_0;
                add(s[r], t0, (I)(start + q));
              }
            }
            #pragma unroll
            for (int r = 0; r < 1; ++r) {
              merge(total[r], s[r]);
            }
          }
          #pragma unroll
          for (int r = 0; r < 1; ++r) {
            const long long row = first + threadIdx.x + r * 128;
            if (row < kept) {
              workspace[((layer * 64 + part) * 1 + 0) * kept + row] = total[r].total0;
            }
          }
        }
      }
      "
    `);
    expect(emittedText(program, 'kernel', 1)).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(128)
      map_reduce_merge(const float* __restrict__ x0, const float* __restrict__ x1, float* __restrict__ out, long long rowsI, long long rowsJ, long long batch, long long ld0, long long batchStride0, long long ld1, long long batchStride1, const float* __restrict__ workspace) {
        const long long kept = rowsI;
        const long long place = (long long)blockIdx.x * 128 + threadIdx.x;
        if (place >= kept * batch) return;
        const long long layer = place / kept, row = place - layer * kept;
        State total = empty();
        #pragma unroll 16
        for (int part = 0; part < 64; ++part) {
          State t;
          t.total0 = workspace[((layer * 64 + part) * 1 + 0) * kept + row];
          merge(total, t);
        }
        UNUSED const State& s = total;
        out[(layer * kept + row) * 1 + 0] = (V)(s.total0);
      }
      "
    `);
  });

  it('for a CPU has vectors of rows', () => {
    const program = emitMapReduce(planMapReduce(sum(100_000, 100_000), CPU));
    expect(program.steps).toHaveLength(1);
    expect(emittedText(program, 'arguments')).toMatchInlineSnapshot(`
      "struct Args { const T* x0; const T* x1; T* out; int64_t rowsI, rowsJ, batch; int64_t ld0, batchStride0; int64_t ld1, batchStride1; };
      constexpr int64_t VECTORS = 4, ROWS = VECTORS * LANES, TILE = 256;

      extern "C" void mercer_map_reduce(const void* args, int64_t begin, int64_t end, void*) {
        const Args& g = *(const Args*)args;
        const int64_t kept = g.rowsI, reduced = g.rowsJ;
        const int64_t blocks = (kept + ROWS - 1) / ROWS;
        for (int64_t task = begin; task < end; task++) {
          const int64_t layer = task / blocks, first = task % blocks * ROWS;
          const int64_t left = (kept - first + LANES - 1) / LANES, vectorCount = left < VECTORS ? left : VECTORS;
          UNUSED const T* const x0 = g.x0 + layer * g.batchStride0;
          UNUSED const T* const x1 = g.x1 + layer * g.batchStride1;
          V own[VECTORS][1] = {};
          for (int64_t vector = 0; vector < vectorCount; vector++) {
            for (int64_t lane = 0; lane < LANES; lane++) {
              const int64_t wanted = first + vector * LANES + lane, row = wanted < kept ? wanted : kept - 1;
              own[vector][0][lane] = x0[row * g.ld0 + 0];
            }
          }
          State total[VECTORS];
          for (int64_t vector = 0; vector < VECTORS; vector++) total[vector] = empty();
          for (int64_t start = 0; start < reduced; start += TILE) {
            const int64_t stop = reduced - start < TILE ? reduced : start + TILE;
            for (int64_t vector = 0; vector < vectorCount; vector++) {
              State s = empty();
              int64_t row = start;
              for (; row < stop; row++) {
                const V i0_0 = own[vector][0];
                const V j1_0 = splat(x1[row * g.ld1 + 0]);
                const V t0 = i0_0 * j1_0;
                add(s, t0, number((L)row));
              }
              merge(total[vector], s);
            }
          }
          UNUSED const V count = splat((T)reduced);
          for (int64_t vector = 0; vector < vectorCount; vector++) {
            UNUSED const State& s = total[vector];
            const V value[] = {s.total0};
            for (int64_t lane = 0; lane < LANES; lane++) {
              const int64_t row = first + vector * LANES + lane;
              if (row >= kept) break;
              for (int c = 0; c < 1; c++) g.out[(layer * kept + row) * 1 + c] = (T)value[c][lane];
            }
          }
        }
      }
      "
    `);
  });

  it('for a CPU and few rows merges parts', () => {
    const program = emitMapReduce(planMapReduce(sum(3, 100_000), CPU));
    expect(emittedText(program, 'arguments', 1)).toMatchInlineSnapshot(`
      "struct Args { const T* x0; const T* x1; T* out; int64_t rowsI, rowsJ, batch; int64_t ld0, batchStride0; int64_t ld1, batchStride1; const char* workspace; };
      constexpr int64_t VECTORS = 1, ROWS = VECTORS * LANES, TILE = 256;

      extern "C" void mercer_map_reduce_merge(const void* args, int64_t begin, int64_t end, void*) {
        const Args& g = *(const Args*)args;
        const int64_t kept = g.rowsI, reduced = g.rowsJ;
        const int64_t vectors = (kept + LANES - 1) / LANES;
        UNUSED const V count = splat((T)reduced);
        for (int64_t task = begin; task < end; task++) {
          const int64_t layer = task / vectors, first = task % vectors * LANES;
          State total = empty();
          for (int64_t part = 0; part < 32; part++) {
            State t;
            const int64_t place = (layer * 32 + part) * vectors + first / LANES;
            __builtin_memcpy(&t, g.workspace + place * sizeof(State), sizeof(State));
            merge(total, t);
          }
          UNUSED const State& s = total;
          const V value[] = {s.total0};
          for (int64_t lane = 0; lane < LANES; lane++) {
            const int64_t row = first + lane;
            if (row >= kept) break;
            for (int c = 0; c < 1; c++) g.out[(layer * kept + row) * 1 + c] = (T)value[c][lane];
          }
        }
      }
      "
    `);
  });
});

describe('the text of sum_j m_ij y_j', () => {
  it('for a GPU has a tile of the matrix in shared memory, copied along whichever side lies closer together', () => {
    const product = reduction('Sum', ops.mul(vij(0, 1), vj(1, 1)));
    const problem = { ...sum(1_000_000, 100), reduction: product };
    const text = emittedText(emitMapReduce(planMapReduce(problem, H200)));
    expect(text.slice(text.indexOf('map_reduce('))).toMatchInlineSnapshot(`
      "map_reduce(const float* __restrict__ x0, const float* __restrict__ x1, float* __restrict__ out, long long rowsI, long long rowsJ, long long batch, long long ld0, long long batchStride0, long long ld1, long long batchStride1, long long columnStride0) {
        const long long kept = rowsI, reduced = rowsJ;
        const long long first = (long long)blockIdx.x * 128;
        const long long from = 0, end = reduced;
        __shared__ __align__(16) V staged[32];
        __shared__ V pairs0[4224];
        for (long long layer = blockIdx.z; layer < batch; layer += gridDim.z) {
          State total[1];
          #pragma unroll
          for (int r = 0; r < 1; ++r) {
            total[r] = empty();
          }
          for (long long start = from; start < end; start += 32) {
            const int count = end - start < 32 ? (int)(end - start) : 32;
            __syncthreads();
            #pragma unroll 1
            for (int e = threadIdx.x; e < count * 1; e += 128)
              staged[e / 1 * 1 + 0 + e % 1] = x1[layer * batchStride1 + (start + e / 1) * ld1 + e % 1];
            {
              const auto* const matrix = x0 + layer * batchStride0;
              if (columnStride0 <= ld0) {
                #pragma unroll 4
                for (int e = threadIdx.x; e < 4096; e += 128) {
                  const int r = e / 32, c = e % 32;
                  const long long row = first + r < kept ? first + r : kept - 1;
                  if (c < count * 1)
                    pairs0[r * 33 + c] = matrix[row * ld0 + (start + c / 1) * columnStride0 + c % 1];
                }
              } else {
                #pragma unroll 4
                for (int e = threadIdx.x; e < 4096; e += 128) {
                  const int r = e / 1 % 128, c = e / 128 * 1 + e % 1;
                  const long long row = first + r < kept ? first + r : kept - 1;
                  if (c < count * 1)
                    pairs0[r * 33 + c] = matrix[row * ld0 + (start + c / 1) * columnStride0 + c % 1];
                }
              }
            }
            __syncthreads();
            State s[1];
            #pragma unroll
            for (int r = 0; r < 1; ++r) {
              s[r] = empty();
            }
            #pragma unroll 4
            for (int q = 0; q < count; ++q) {
              const V staged0 = staged[q];
              #pragma unroll
              for (int r = 0; r < 1; ++r) {
                const V j1_0 = staged0;
                const V m0_0 = pairs0[(threadIdx.x + r * 128) * 33 + (q) * 1 + 0];
                const float t0 = j1_0 * m0_0;
                add(s[r], t0, (I)(start + q));
              }
            }
            #pragma unroll
            for (int r = 0; r < 1; ++r) {
              merge(total[r], s[r]);
            }
          }
          #pragma unroll
          for (int r = 0; r < 1; ++r) {
            const long long row = first + threadIdx.x + r * 128;
            if (row < kept) {
              UNUSED const State& s = total[r];
              out[(layer * kept + row) * 1 + 0] = (V)(s.total0);
            }
          }
        }
      }
      "
    `);
  });
});
