import { ops, vi, vj } from '@mercer/formula';
import { expect, it } from 'vitest';
import { CPU, emittedText } from '../../testing/emitted-text.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import { emitSelection, planSelection, type SelectionProblem } from '../index.js';

const below: SelectionProblem = {
  mask: ops.lessThan(vi(0, 1), vj(1, 1)),
  dtype: 'float32',
  rowsI: 10,
  rowsJ: 10,
  batch: 1,
};

it('the text of a selection for a GPU', () => {
  const program = emitSelection(planSelection(below, H200));
  expect(emittedText(program)).toMatchInlineSnapshot(`
    "#define INLINE __device__ __forceinline__
    #define UNUSED
    typedef float V;
    typedef int I;
    INLINE I number(I x) { return x; }
    INLINE V real(I x) { return (V)x; }
    INLINE bool any(I x) { return x != 0; }
    struct State { I seen; };
    INLINE State empty() {
      State s;
      s.seen = number(0);
      return s;
    }
    extern "C" __global__ void __launch_bounds__(128, 4)
    map_reduce(const float* __restrict__ x0, const float* __restrict__ x1, const long long* __restrict__ offsets, int* __restrict__ rows, long long rowsI, long long rowsJ, long long batch, long long ld0, long long batchStride0, long long ld1, long long batchStride1) {
      const long long kept = rowsI, reduced = rowsJ;
      const long long first = (long long)blockIdx.x * 128;
      const long long from = 0, end = reduced;
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
          #pragma unroll 4
          for (int q = 0; q < count; ++q) {
            const V staged0 = staged[q];
            #pragma unroll
            for (int r = 0; r < 1; ++r) {
              const V i0_0 = own[r][0];
              const V j1_0 = staged0;
              const float t0 = (i0_0 < j1_0) ? 1.0f : 0.0f;
              const long long mine = first + threadIdx.x + r * 128;
              if (t0 != 0.0f && mine < kept) {
                const long long* const room = offsets + layer * kept + mine;
                const long long at = room[0] + total[r].seen++;
                if (at < room[1]) {
                  rows[at] = (int)(I)(start + q);
                }
              }
            }
          }
        }
        #pragma unroll
        for (int r = 0; r < 1; ++r) {
          const long long row = first + threadIdx.x + r * 128;
          if (row < kept) {
          }
        }
      }
    }
    "
  `);
});

it('the text of a selection for a CPU', () => {
  const program = emitSelection(planSelection(below, CPU));
  expect(emittedText(program, 'arguments')).toMatchInlineSnapshot(`
    "struct Args { const T* x0; const T* x1; const int64_t* offsets; int32_t* rows; int64_t rowsI, rowsJ, batch; int64_t ld0, batchStride0; int64_t ld1, batchStride1; };
    constexpr int64_t VECTORS = 1, ROWS = VECTORS * LANES, TILE = 256;

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
            int64_t row = start;
            for (; row < stop; row++) {
              const V i0_0 = own[vector][0];
              const V j1_0 = splat(x1[row * g.ld1 + 0]);
              const I t0 = i0_0 < j1_0;
              const V t1 = blend_v(t0, splat(1.0f), splat(0.0f));
              const I wanted = t1 != splat(0.0f);
              if (any(wanted)) {
                for (int64_t lane = 0; lane < LANES; lane++) {
                  const int64_t mine = first + vector * LANES + lane;
                  if (!wanted[lane] || mine >= kept) continue;
                  const int64_t* const room = g.offsets + layer * kept + mine;
                  const int64_t at = room[0] + total[vector].seen[lane]++;
                  if (at >= room[1]) continue;
                  g.rows[at] = (int32_t)row;
                }
              }
            }
          }
        }
        UNUSED const V count = splat((T)reduced);
        for (int64_t vector = 0; vector < vectorCount; vector++) {
        }
      }
    }
    "
  `);
});
