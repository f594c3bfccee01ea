import { mul, variable } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { CPU, emittedText } from '../testing/emitted-text.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { emitCopy, emitMap, emitSum, planFill, planSum } from './index.js';
import { planOne, type OneResult } from './one-result.test-support.js';

const scaled: OneResult = {
  expr: mul(variable('scale'), variable('x')),
  shape: [3, 4],
  inputs: [{ name: 'x', dtype: 'float32', strides: [1, 3] }],
  out: { dtype: 'float32', strides: [4, 1] },
  parameters: { scale: 2 },
};
const fill = planFill({ dtype: 'float32', shape: [5], strides: [1] }).plan;
const sum = planSum({ from: 'float32', to: 'float64', outputs: 10_000, count: 10 });

describe('the text for a GPU', () => {
  it('of a map', () => {
    expect(emittedText(emitMap(planOne(scaled, H200).plan), 'kernel')).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(256)
      mercer_map(const float* x0, float* out, i64 n0, i64 n1, i64 d0, i64 d1, i64 s0_0, i64 s0_1, i64 span, double p0) {
        const double tu0_wide = p0;
        const float tu0 = (float)tu0_wide;
        const auto value = [&](float x0) {
          const float t1 = tu0 * x0;
          return store(t1);
        };
        const Index rows = (Index)n0, packs = ((Index)n1 + 3) / 4;
        const Index height = blockDim.y, rowBlock = blockIdx.y, y = threadIdx.y;
        const Index column = (Index)blockIdx.x * blockDim.x + threadIdx.x;
        const Index begin = rowBlock * (Index)span, end = begin + (Index)span < rows ? begin + (Index)span : rows;
        const bool whole = n1 % 4 == 0 && d1 == 1 && ((d0) & 3) == 0 && (u64)out % sizeof(Pack_f32) == 0;
        const bool whole_x0 = whole && s0_1 == 1 && ((s0_0) & 3) == 0 && (u64)x0 % sizeof(Pack_f32) == 0;
        Index x[4];
        #pragma unroll
        for (int j = 0; j < 4; ++j) {
          const Index place = whole ? 4 * column + j : column + j * packs;
          x[j] = place < (Index)n1 ? place : column;
        }
        if (column < packs) for (Index row = begin + y; row < end; row += 2 * height) {
          Index to[2], from0[2];
          #pragma unroll
          for (int r = 0; r < 2; ++r) {
            Index rest = row + r * height < end ? row + r * height : row;
            to[r] = (Index)0;
            from0[r] = (Index)0;
            { const Index i = rest; to[r] += i * (Index)d0; from0[r] += i * (Index)s0_0; }
          }
          Pack_f32 in_x0[2];
          if (whole_x0) {
            #pragma unroll
            for (int r = 0; r < 2; ++r) {
              in_x0[r] = *reinterpret_cast<const Pack_f32*>(x0 + (from0[r] + x[0]));
            }
          } else {
            #pragma unroll
            for (int r = 0; r < 2; ++r) {
              #pragma unroll
              for (int j = 0; j < 4; ++j) {
                in_x0[r].v[j] = x0[from0[r] + x[j] * (Index)s0_1];
              }
            }
          }
          #pragma unroll
          for (int r = 0; r < 2; ++r) {
            if (row + r * height >= end) break;
            Pack_f32 made;
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
              made.v[j] = value(load_f32(in_x0[r].v[j]));
            }
            if (whole) *reinterpret_cast<Pack_f32*>(out + (to[r] + x[0])) = made;
            else {
              #pragma unroll
              for (int j = 0; j < 4; ++j) {
                out[to[r] + x[j] * (Index)d1] = made.v[j];
              }
            }
          }
        }
      }
      "
    `);
  });

  it('of a fill', () => {
    expect(emittedText(emitCopy(fill, 'cuda'), 'kernel')).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(256)
      mercer_fill_b32_linear(u32* __restrict__ dst, i32 lo, i32 hi, i64 count) {
        const u32 value = (u32)(u32)lo;
        const i64 first = (i64)blockIdx.x * 256 + threadIdx.x;
        const i64 step = (i64)gridDim.x * 256;
        i64 done = 0;
        if ((u64)dst % 16 == 0) {
          const i64 packs = count / 4;
          Pack pack;
      #pragma unroll
          for (int j = 0; j < 4; ++j) pack.v[j] = value;
          for (i64 i = first; i < packs; i += step) reinterpret_cast<Pack*>(dst)[i] = pack;
          done = packs * 4;
        }
        for (i64 i = done + first; i < count; i += step) dst[i] = value;
      }
      "
    `);
  });

  it('of sums', () => {
    expect(emittedText(emitSum(sum, 'cuda'), 'kernel')).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(256)
      mercer_sum_each(const float* __restrict__ src, double* __restrict__ dst, i64 outer, i64 count, i64 inner, i64 strideOuter, i64 strideCount, i64 strideInner) {
        for (i64 index = (i64)blockIdx.x * 256 + threadIdx.x; index < outer * inner; index += (i64)gridDim.x * 256) {
          const i64 o = index / inner, i = index - o * inner;
          const float* const from = src + o * strideOuter + i * strideInner;
          double sum = 0.0;
          #pragma unroll 4
          for (i64 j = 0; j < count; ++j) sum += (double)from[j * strideCount];
          dst[index] = (double)sum;
        }
      }
      "
    `);
  });
});

describe('the text for a CPU', () => {
  it('of a map', () => {
    expect(emittedText(emitMap(planOne(scaled, CPU).plan), 'arguments')).toMatchInlineSnapshot(`
      "struct Args { const float* x0; float* out; i64 n[2]; i64 d[2]; i64 s0_[2]; double p0; };
      extern "C" void mercer_map(const void* args, int64_t begin, int64_t end, void*) {
        const Args& p = *(const Args*)args;
        const double value_u0_wide = p.p0;
        const V value_u0 = splat((T)value_u0_wide), value_u0_low = splat((T)(value_u0_wide - (double)(T)value_u0_wide));
        alignas(64) T results0[256] = {};
        alignas(64) T buffer0[256] = {};
        const i64 ds = p.d[1], dr = p.d[0];
        const i64 s0_s = p.s0_[1], s0_r = p.s0_[0];
        Held held[1] = {};
        const i64 inner = p.n[1], total = p.n[0] * p.n[1];
        const i64 stop = end * 32768 < total ? end * 32768 : total;
        for (i64 at = begin * 32768; at < stop;) {
          const i64 row = quotient(at, inner), x0 = at - row * inner;
          const i64 run = inner - x0 < stop - at ? inner - x0 : stop - at;
          i64 lines = 1;
          if (x0 == 0 && inner <= 128) {
            const i64 below = p.n[0] - row, whole = (stop - at) / inner;
            lines = 256 / inner < below ? 256 / inner : below;
            if (whole < lines) lines = whole > 1 ? whole : 1;
            if (lines > 16) lines -= lines % 16;
          }
          i64 rest = row, to = x0 * ds, from0 = x0 * s0_s;
          { const i64 i = rest; to += i * p.d[0]; from0 += i * p.s0_[0]; }
          {
            for (i64 x = 0; x < run; x += 256) {
              const i64 m = run - x < 256 ? run - x : 256, n = lines * m;
              const float* const source0 = p.x0 + from0 + x * s0_s;
              const bool in_place0 = s0_s == 1 && (lines == 1 || s0_r == m) && n % LANES == 0;
              const T* const values0 = in_place0 ? source0 : buffer0;
              if (!in_place0) {
                fill_f32(held[0], buffer0, source0, lines, m, s0_r, s0_s);
              }
              auto* const d0 = p.out + to + x * ds;
              const bool in_row0 = ds == 1 && (lines == 1 || dr == m);
              T* const r0 = in_row0 && n % LANES == 0 ? (T*)d0 : results0;
              for (i64 e = 0; e < n; e += LANES) {
                V v0;
                value(*(const VU*)&values0[e], v0, value_u0, value_u0_low);
                *(VU*)&r0[e] = v0;
              }
              if (r0 == results0) {
                if (in_row0) { for (i64 e = 0; e < n; ++e) d0[e] = store(r0[e]); }
                else { for (i64 y = 0; y < lines; ++y) for (i64 e = 0; e < m; ++e) d0[y * dr + e * ds] = store(r0[y * m + e]); }
              }
            }
          }
          at += run * lines;
        }
      }
      "
    `);
  });
});
