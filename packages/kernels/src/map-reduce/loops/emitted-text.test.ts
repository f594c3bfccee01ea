import { ops, reduction, vi, vj, type VectorExpr } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { CPU, emittedText } from '../../testing/emitted-text.test-support.js';
import { H200 } from '../../testing/h200.test-support.js';
import { emitMapReduce, planMapReduce, type MapReduceProblem } from '../index.js';

const sum = (formula: VectorExpr): MapReduceProblem => ({
  reduction: reduction('Sum', formula),
  dtype: 'float32',
  rowsI: 100_000,
  rowsJ: 100_000,
  batch: 1,
});

describe('the text of a sum of long vectors', () => {
  it('for a GPU loops over blocks of columns', () => {
    const program = emitMapReduce(planMapReduce(sum(ops.mul(vi(0, 300), vj(1, 300))), H200));
    expect(emittedText(program)).toMatchInlineSnapshot(`
      "#define INLINE __device__ __forceinline__
      #define UNUSED
      typedef float V;
      typedef int I;
      INLINE I number(I x) { return x; }
      INLINE V real(I x) { return (V)x; }
      INLINE bool any(I x) { return x != 0; }
      struct State { V total0; V total1; V total2; V total3; };
      INLINE State empty() {
        State s;
        s.total0 = 0.0f;
        s.total1 = 0.0f;
        s.total2 = 0.0f;
        s.total3 = 0.0f;
        return s;
      }
      INLINE void add(State& s, UNUSED V f0, UNUSED V f1, UNUSED V f2, UNUSED V f3, UNUSED I row) {
        s.total0 = s.total0 + f0;
        s.total1 = s.total1 + f1;
        s.total2 = s.total2 + f2;
        s.total3 = s.total3 + f3;
      }
      INLINE void merge(State& s, const State& t) {
        s.total0 = s.total0 + t.total0;
        s.total1 = s.total1 + t.total1;
        s.total2 = s.total2 + t.total2;
        s.total3 = s.total3 + t.total3;
      }
      typedef int Step;
      extern "C" __global__ void __launch_bounds__(256, 2)
      map_reduce(const float* __restrict__ x0, const float* __restrict__ x1, float* __restrict__ out, long long rowsI, long long rowsJ, long long batch, long long ld0, long long batchStride0, long long ld1, long long batchStride1) {
        const long long kept = rowsI, reduced = rowsJ, limit = kept;
        const long long blockFirst = (long long)blockIdx.x * 64;
        const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
        const int columnThread = blockIdx.y * 16 + tx;
        const int firstColumn = columnThread / 16 * 64 + columnThread % 16;
        long long place[4];
        #pragma unroll
        for (int g = 0; g < 4; ++g) {
          // a row past the end computes what the last one does, and nothing of it is written
          const long long wanted = blockFirst + ty * 4 + g;
          place[g] = wanted < limit ? wanted : limit - 1;
        }
        for (long long layer = blockIdx.z; layer < batch; layer += gridDim.z) {
          const float* __restrict__ const inx0 = x0 + layer * batchStride0;
          const float* __restrict__ const inx1 = x1 + layer * batchStride1;
          State total[4];
          State s[4];
          int fresh = 0;
          #pragma unroll
          for (int g = 0; g < 4; ++g) {
            total[g] = empty();
            s[g] = empty();
          }
          const long long spanFrom = 0, spanEnd = reduced;
          #pragma unroll 1
          for (long long start = spanFrom; start < spanEnd; start += 16) {
            const int count = spanEnd - start < 16 ? (int)(spanEnd - start) : 16;
            #pragma unroll 4
            for (int q = 0; q < count; ++q) {
              V f[4][4];
              #pragma unroll
              for (int b = 0; b < 4; ++b) {
                const int wanted = firstColumn + b * 16;
                const Step column = wanted < 299 ? wanted : 299;
                #pragma unroll
                for (int g = 0; g < 4; ++g) {
                  const V L0 = inx0[place[g] * ld0 + column];
                  const V L1 = inx1[(start + q) * ld1 + column];
                  const float t0 = L0 * L1;
                  f[b][g] = t0;
                }
              }
              #pragma unroll
              for (int g = 0; g < 4; ++g) {
                add(s[g], f[0][g], f[1][g], f[2][g], f[3][g], (I)(start + q));
              }
            }
            fresh += count;
            if (fresh >= 256) {
              fresh = 0;
              #pragma unroll
              for (int g = 0; g < 4; ++g) {
                merge(total[g], s[g]);
                s[g] = empty();
              }
            }
          }
          #pragma unroll
          for (int g = 0; g < 4; ++g) {
            merge(total[g], s[g]);
            s[g] = empty();
          }
          #pragma unroll
          for (int g = 0; g < 4; ++g) {
            const long long row = blockFirst + ty * 4 + g;
            if (row < limit) {
              const State& s = total[g];
              if (firstColumn + 0 < 300) out[(layer * kept + row) * 300 + firstColumn + 0 + 0] = (V)(s.total0);
              if (firstColumn + 16 < 300) out[(layer * kept + row) * 300 + firstColumn + 16 + 0] = (V)(s.total1);
              if (firstColumn + 32 < 300) out[(layer * kept + row) * 300 + firstColumn + 32 + 0] = (V)(s.total2);
              if (firstColumn + 48 < 300) out[(layer * kept + row) * 300 + firstColumn + 48 + 0] = (V)(s.total3);
            }
          }
        }
      }
      "
    `);
  });

  it('for a CPU loops over the terms of an inner product', () => {
    const program = emitMapReduce(planMapReduce(sum(ops.dot(vi(0, 300), vj(1, 300))), CPU));
    expect(emittedText(program, 'arguments')).toMatchInlineSnapshot(`
      "struct Args { const T* x0; const T* x1; T* out; int64_t rowsI, rowsJ, batch; int64_t ld0, batchStride0; int64_t ld1, batchStride1; };
      constexpr int64_t VECTORS = 2, ROWS = VECTORS * LANES, TILE = 64;

      typedef int64_t Step;
      INLINE V rowNumbers(const int64_t* places, int64_t vector) { V r = splat(0); for (int lane = 0; lane < LANES; lane++) r[lane] = (T)places[vector * LANES + lane]; return r; }
      extern "C" void mercer_map_reduce(const void* args, int64_t begin, int64_t end, UNUSED void* scratch) {
        const Args& g = *(const Args*)args;
        const int64_t kept = g.rowsI, reduced = g.rowsJ;
        const int64_t rowBlocks = (kept + ROWS - 1) / ROWS;
        UNUSED V* const own = (V*)scratch;
        for (int64_t task = begin; task < end; task++) {
          UNUSED const int64_t part = task % 1;
          const int64_t layer = task / 1 / rowBlocks, first = task / 1 % rowBlocks * ROWS;
          const int64_t limit = kept;
          // rows past the end compute what the last row does, and nothing of it is written
          UNUSED int64_t places[ROWS];
          for (int64_t row = 0; row < ROWS; row++) places[row] = first + row < limit ? first + row : limit - 1;
          UNUSED const T* const x0 = g.x0 + layer * g.batchStride0;
          UNUSED const T* const x1 = g.x1 + layer * g.batchStride1;
          for (int64_t row = 0; row < ROWS; row++) {
            for (int64_t c = 0; c < 300; c++) ((T*)own)[(0 + c) * ROWS + row] = x0[places[row] * g.ld0 + c];
          }
          State* const total = (State*)(own + 300 * VECTORS);
          for (int64_t v = 0; v < VECTORS; v++) {
            total[v] = empty();
          }
          State s[VECTORS];
          for (int64_t v = 0; v < VECTORS; v++) {
            s[v] = empty();
          }
          int64_t fresh = 0;
          const int64_t from = 0, until = reduced;
          for (int64_t start = from; start < until; start += 256) {
            const int64_t stop = until - start < 256 ? until : start + 256;
            for (int64_t q = start; q < stop; q += 4) {
              UNUSED const int64_t places_q[4] = {q + 0 < stop ? q + 0 : stop - 1, q + 1 < stop ? q + 1 : stop - 1, q + 2 < stop ? q + 2 : stop - 1, q + 3 < stop ? q + 3 : stop - 1};
              V A0_0_0 = splat(0.0f), A0_0_1 = splat(0.0f), A0_1_0 = splat(0.0f), A0_1_1 = splat(0.0f), A0_2_0 = splat(0.0f), A0_2_1 = splat(0.0f), A0_3_0 = splat(0.0f), A0_3_1 = splat(0.0f);
              for (Step k0_run = 0; k0_run < 300; k0_run += 128) {
                const Step k0_stop = k0_run + 128 < 300 ? k0_run + 128 : 300;
                V A0part_0_0 = splat(0.0f), A0part_0_1 = splat(0.0f), A0part_1_0 = splat(0.0f), A0part_1_1 = splat(0.0f), A0part_2_0 = splat(0.0f), A0part_2_1 = splat(0.0f), A0part_3_0 = splat(0.0f), A0part_3_1 = splat(0.0f);
                for (Step k0 = k0_run; k0 < k0_stop; k0++) {
                  {
                    const V L0 = own[(0 + k0) * VECTORS + 0];
                    const V L1 = splat(x1[places_q[0] * g.ld1 + k0]);
                    const V t0 = L0 * L1;
                    A0part_0_0 = A0part_0_0 + t0;
                  }
                  {
                    const V L0 = own[(0 + k0) * VECTORS + 1];
                    const V L1 = splat(x1[places_q[0] * g.ld1 + k0]);
                    const V t0 = L0 * L1;
                    A0part_0_1 = A0part_0_1 + t0;
                  }
                  {
                    const V L0 = own[(0 + k0) * VECTORS + 0];
                    const V L1 = splat(x1[places_q[1] * g.ld1 + k0]);
                    const V t0 = L0 * L1;
                    A0part_1_0 = A0part_1_0 + t0;
                  }
                  {
                    const V L0 = own[(0 + k0) * VECTORS + 1];
                    const V L1 = splat(x1[places_q[1] * g.ld1 + k0]);
                    const V t0 = L0 * L1;
                    A0part_1_1 = A0part_1_1 + t0;
                  }
                  {
                    const V L0 = own[(0 + k0) * VECTORS + 0];
                    const V L1 = splat(x1[places_q[2] * g.ld1 + k0]);
                    const V t0 = L0 * L1;
                    A0part_2_0 = A0part_2_0 + t0;
                  }
                  {
                    const V L0 = own[(0 + k0) * VECTORS + 1];
                    const V L1 = splat(x1[places_q[2] * g.ld1 + k0]);
                    const V t0 = L0 * L1;
                    A0part_2_1 = A0part_2_1 + t0;
                  }
                  {
                    const V L0 = own[(0 + k0) * VECTORS + 0];
                    const V L1 = splat(x1[places_q[3] * g.ld1 + k0]);
                    const V t0 = L0 * L1;
                    A0part_3_0 = A0part_3_0 + t0;
                  }
                  {
                    const V L0 = own[(0 + k0) * VECTORS + 1];
                    const V L1 = splat(x1[places_q[3] * g.ld1 + k0]);
                    const V t0 = L0 * L1;
                    A0part_3_1 = A0part_3_1 + t0;
                  }
                }
                {
                  A0_0_0 = A0_0_0 + A0part_0_0;
                }
                {
                  A0_0_1 = A0_0_1 + A0part_0_1;
                }
                {
                  A0_1_0 = A0_1_0 + A0part_1_0;
                }
                {
                  A0_1_1 = A0_1_1 + A0part_1_1;
                }
                {
                  A0_2_0 = A0_2_0 + A0part_2_0;
                }
                {
                  A0_2_1 = A0_2_1 + A0part_2_1;
                }
                {
                  A0_3_0 = A0_3_0 + A0part_3_0;
                }
                {
                  A0_3_1 = A0_3_1 + A0part_3_1;
                }
              }
              const V A0_all[] = {A0_0_0, A0_0_1, A0_1_0, A0_1_1, A0_2_0, A0_2_1, A0_3_0, A0_3_1};
              const int64_t rows = stop - q < 4 ? stop - q : 4;
              for (int64_t r = 0; r < rows; r++) {
                for (int64_t v = 0; v < VECTORS; v++) {
                  const V A0 = A0_all[r * VECTORS + v];
                  add(s[v], A0, number((L)(q + r)));
                }
              }
            }
            fresh += stop - start;
            if (fresh < 256) continue;
            fresh = 0;
            for (int64_t v = 0; v < VECTORS; v++) {
              merge(total[v], s[v]);
              s[v] = empty();
            }
          }
          for (int64_t v = 0; v < VECTORS; v++) {
            merge(total[v], s[v]);
            s[v] = empty();
          }
          UNUSED const V count = splat((T)reduced);
          for (int64_t v = 0; v < VECTORS; v++) {
            UNUSED const State& s = total[v];
            const V value[] = {s.total0};
            for (int64_t lane = 0; lane < LANES; lane++) {
              const int64_t row = first + v * LANES + lane;
              if (row >= limit) break;
              for (int c = 0; c < 1; c++) g.out[(layer * kept + row) * 1 + c] = (T)value[c][lane];
            }
          }
        }
      }
      "
    `);
  });
});
