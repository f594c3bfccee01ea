import { div, exp, lt, mul, neg, select, variable } from '@mercer/formula';
import { expect, test } from 'vitest';
import { H200, pairwiseProblem } from '../../testing/h200.test-support.js';
import { emitPairwise } from '../emit.js';
import { textsOf } from '../../testing/emitted-text.test-support.js';
import { normExpressions } from '../norm-expressions.js';
import { planPairwise } from '../plan.js';
import type { PairwiseProblem } from '../problem.js';

const sources = (changes: Partial<PairwiseProblem>): string[] =>
  textsOf(emitPairwise(planPairwise(pairwiseProblem(changes), H200)));
const part = (text: string, from: string, to: string): string =>
  text.slice(text.indexOf(from), text.indexOf(to, text.indexOf(from)));

const [s, h, e] = [variable('s'), variable('h'), variable('e')];
const clamped = {
  ...normExpressions(2, { skipEpilogue: true }),
  outer: exp(mul(select(lt(s, e), 0, s), neg(div(0.5, mul(h, h))))),
  parameters: ['h', 'e'],
};

test('what depends on parameters alone is computed once, in double precision', () => {
  const [source = ''] = sources(clamped);
  expect(part(source, '// what depends', '__device__ __forceinline__ float finish'))
    .toMatchInlineSnapshot(`
    "// what depends on the launch and the batch entry alone
    struct FinishUniforms { double u0, u1; };
    __device__ __forceinline__ FinishUniforms finish_uniforms_of(double p, double parameter0, double parameter1) {
      const double v1u0_wide = (-(0.5 / (parameter0 * parameter0)));
      const double v1u0 = (double)v1u0_wide;
      return {parameter1, v1u0};
    }
    "
  `);
  expect(
    part(source, '__device__ __forceinline__ float finish', '__device__ __forceinline__ void copy'),
  ).toMatchInlineSnapshot(`
    "__device__ __forceinline__ float finish(float s, const FinishUniforms& uniforms) {
      const double u0 = uniforms.u0;
      const double u1 = uniforms.u1;
      const double tu0_wide = u0;
      const float tu0 = (float)tu0_wide;
      const double tu2_wide = u1;
      const float tu2 = (float)tu2_wide;
      const float t1 = (s < tu0) ? 0.0f : s;
      const float t3 = t1 * tu2;
      const float t4 = expf(t3);
      return t4;
    }
    struct Place { long long rowStart, columnStart; unsigned layer, part; };
    __device__ __forceinline__ Place locate(unsigned index, long long rowCount, long long columnCount) {
      const unsigned rowTiles = (unsigned)((rowCount + 127) / 128);
      const unsigned columnTiles = (unsigned)((columnCount + 127) / 128);
      const unsigned perBatch = rowTiles * columnTiles * 1u, layer = index / perBatch;
      index -= layer * perBatch;
      const unsigned part = index % 1u;
      index /= 1u;
      // 16 rows of tiles together, column by column, so that operands stay in the L2 cache
      const unsigned perGroup = 16u * columnTiles, firstRow = index / perGroup * 16u;
      const unsigned groupRows = min(rowTiles - firstRow, 16u);
      index %= perGroup;
      return {(long long)(firstRow + index % groupRows) * 128, (long long)(index / groupRows) * 128, layer, part};
    }
    "
  `);
  expect(source.match(/finish_uniforms_of\(p.*;/g)).toMatchInlineSnapshot(`
    [
      "finish_uniforms_of(p, parameter_value(parameter0At, parameter0Stride, parameter0Value, end.layer), parameter_value(parameter1At, parameter1Stride, parameter1Value, end.layer));",
    ]
  `);
});

test('an exponent in memory is read for the batch entry of the block', () => {
  const [source = ''] = sources({ ...normExpressions('runtime'), parameters: ['p'] });
  expect(part(source, '  const Place place', '  // which steps of k')).toMatchInlineSnapshot(`
    "  const Place place = locate(blockIdx.x, rowCount, columnCount);
      const unsigned layer = place.layer;
      const Power power = power_of(parameter_value(parameter0At, parameter0Stride, parameter0Value, layer));
      const int thread = threadIdx.x;
      constexpr int STAGE = 2176;
    "
  `);
});

test('an exponent in memory decides once a stage which loop runs', () => {
  const [source = ''] = sources({ ...normExpressions('runtime'), parameters: ['p'] });
  expect(
    part(
      source,
      '__device__ __forceinline__ Power power_of',
      '__device__ __forceinline__ float finish',
    ),
  ).toMatchInlineSnapshot(`
    "__device__ __forceinline__ Power power_of(double p) {
      if (p == 1.0 || p == 2.0) return {(float)p, 0.0f, 0.0f, 0.0f, (int)p};
      if (!(p >= 1e-30 && p < 2.0)) {
        Power power = {(float)p, (float)(p - (double)(float)p)};
        power.path = 3;
        return power;
      }
      const double exponent = p * 1.0000000447034836;
      float high = (float)exponent;
      if ((double)high >= exponent) high = __int_as_float(__float_as_int(high) - 1);
      return {high, (float)(exponent - (double)high), (float)p / 255.0f, -256.0f / (float)p};
    }
    // what depends on the launch and the batch entry alone
    struct FinishUniforms { double u0; };
    __device__ __forceinline__ FinishUniforms finish_uniforms_of(double p, double parameter0) {
      const double v0u0_wide = (1.0 / parameter0);
      const double v0u0 = (double)v0u0_wide;
      return {v0u0};
    }
    "
  `);
  expect(part(source, '    if (power.path == 1)', '    stage = stage ==')).toMatchInlineSnapshot(`
    "    if (power.path == 1) {
            #pragma unroll 1
            for (int kk = 0; kk < 16; kk += 1) {
              float x[4], y[4];
              #pragma unroll
              for (int h = 0; h < 1; ++h) read4(x + h * 4, rowTile + kk * 68 + h * 64);
              #pragma unroll
              for (int h = 0; h < 1; ++h) read4(y + h * 4, columnTile + kk * 68 + h * 64);
              #pragma unroll
              for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j)
                  sum[i][j] = add_absolute(sum[i][j], x[i], y[j], power.p);
            }
          } else if (power.path == 2) {
            #pragma unroll 1
            for (int kk = 0; kk < 16; kk += 1) {
              float x[4], y[4];
              #pragma unroll
              for (int h = 0; h < 1; ++h) read4(x + h * 4, rowTile + kk * 68 + h * 64);
              #pragma unroll
              for (int h = 0; h < 1; ++h) read4(y + h * 4, columnTile + kk * 68 + h * 64);
              #pragma unroll
              for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j)
                  sum[i][j] = add_square(sum[i][j], x[i], y[j]);
            }
          } else if (power.path == 3) {
            #pragma unroll 1
            for (int part = 0; part < 2; ++part) {
              const float* const partTile = rowTile + part / 2 * 64 + part % 2 * 2;
              #pragma unroll 1
              for (int kk = 0; kk < 16; kk += 1) {
                float x[2], y[4];
                #pragma unroll
                for (int h = 0; h < 1; ++h) read2(x + h * 2, partTile + kk * 68 + h * 32);
                #pragma unroll
                for (int h = 0; h < 1; ++h) read4(y + h * 4, columnTile + kk * 68 + h * 64);
                #pragma unroll
                for (int i = 0; i < 2; ++i)
                  #pragma unroll
                  for (int j = 0; j < 4; ++j)
                    sum[i][j] = add_accurate(sum[i][j], x[i], y[j], power);
              }
              #pragma unroll
              for (int i = 0; i < 2; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j) {
                  const float done = sum[i][j];
                  #pragma unroll
                  for (int next = i + 2; next < 4; next += 2) sum[next - 2][j] = sum[next][j];
                  sum[2 + i][j] = done;
                }
            }
          } else {
            #pragma unroll 1
            for (int kk = 0; kk < 16; kk += 1) {
              float x[4], y[4];
              #pragma unroll
              for (int h = 0; h < 1; ++h) read4(x + h * 4, rowTile + kk * 68 + h * 64);
              #pragma unroll
              for (int h = 0; h < 1; ++h) read4(y + h * 4, columnTile + kk * 68 + h * 64);
              #pragma unroll
              for (int i = 0; i < 4; ++i)
                #pragma unroll
                for (int j = 0; j < 4; ++j)
                  sum[i][j] = (i * 4 + j) * 4 % 8 < 4 ? add_polynomial(sum[i][j], x[i], y[j], power) : add_special(sum[i][j], x[i], y[j], power);
            }
          }
        }
      }
      asm volatile("cp.async.wait_group 0;" ::: "memory");

      {
        unsigned threadAgain;
        asm volatile("mov.u32 %0, %%tid.x;" : "=r"(threadAgain));
        unsigned block;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
        const Place end = locate(block, rowCount, columnCount);
        const int thread = threadAgain, lane = thread % 32, warp = thread / 32;
        const int threadRow = warp / 2 * 4 + lane / 8;
        const int threadColumn = warp % 2 * 8 + lane % 8;
        const int rowsHere = (int)min(rowCount - end.rowStart, 64ll);
        const int columnsHere = (int)min(columnCount - end.columnStart, 64ll);
        const long long targetStride = ldo;
        float* const target = out + end.layer * batchStrideOut + end.rowStart * targetStride + end.columnStart;
        const FinishUniforms finishUniforms = finish_uniforms_of(p, parameter_value(parameter0At, parameter0Stride, parameter0Value, end.layer));
        float* const staged = reinterpret_cast<float*>(memory);
        #pragma unroll
        for (int phase = 0; phase < 1; ++phase) {
          __syncthreads();
          #pragma unroll
          for (int i = 0; i < 4; ++i)
            #pragma unroll
            for (int j = 0; j < 4; ++j) {
              float& place = staged[(threadRow * 4 + i / 4 * 64 + i % 4) * 72 + threadColumn * 4 + j / 4 * 64 + j % 4];
              place = sum[phase * 4 + i][j];
            }
          __syncthreads();
          #pragma unroll 1
          for (int e = thread; e < 1024; e += 256) {
            const int line = e / 16, row = phase * 64 + line, column = e % 16 * 4;
            if (row < rowsHere) {
              const float* const from = staged + line * 72 + column;
              float* const to = target + row * targetStride + column;
              if (column + 4 <= columnsHere) {
                float4 v = *reinterpret_cast<const float4*>(from);
                v.x = finish(v.x, finishUniforms); v.y = finish(v.y, finishUniforms); v.z = finish(v.z, finishUniforms); v.w = finish(v.w, finishUniforms);
                *reinterpret_cast<float4*>(to) = v;
              } else {
                #pragma unroll 1
                for (int c = 0; column + c < columnsHere; ++c) to[c] = finish(from[c], finishUniforms);
              }
            }
          }
        }
      }
    }"
  `);
});

test('the diagonal, whole', () => {
  expect(sources({ diagonal: 'add', layoutOut: 'column' }).at(-1)).toMatchInlineSnapshot(`
    "// a value of the launch: a number, or one per batch entry in memory
    __device__ __forceinline__ double parameter_value(const float* at, long long stride, double value, long long layer) {
      return at == nullptr ? value : (double)at[layer * stride];
    }

    // elements with n = m + diagonalOffset
    extern "C" __global__ void __launch_bounds__(256)
    pairwise_diagonal(float* __restrict__ out, long long m, long long n, long long batch, long long ldo,
        long long batchStrideOut, long long diagonalOffset,
        const float* __restrict__ regularizationAt, long long regularizationStride, double regularizationValue) {
      const long long row = max(-diagonalOffset, 0ll), column = max(diagonalOffset, 0ll);
      const long long count = max(min(m - row, n - column), 0ll);
      const long long first = (long long)blockIdx.x * 256 + threadIdx.x;
      for (long long e = first; e < count * batch; e += (long long)gridDim.x * 256) {
        const long long layer = e / count, i = e - layer * count;
        const double r = parameter_value(regularizationAt, regularizationStride, regularizationValue, layer);
        float& element = out[layer * batchStrideOut + (row + i) * 1 + (column + i) * ldo];
        element = (float)((double)element + r);
      }
    }
    "
  `);
});

test('the tiles of a symmetric output', () => {
  const [source = ''] = sources({ symmetric: true, ...normExpressions(2) });
  expect(part(source, '// tiles that reach', 'extern "C"')).toMatchInlineSnapshot(`
    "// tiles that reach the diagonal or what lies below it: in one row of tiles, and in all rows before it
    __device__ __forceinline__ unsigned long long tiles_in(unsigned long long row) {
      return (row * 128 + 127) / 128 + 1;
    }
    __device__ __forceinline__ unsigned long long tiles_before(unsigned long long row) {
      const unsigned long long whole = row / 1, rest = row % 1;
      return 1 * (1 * whole * (whole + 1) / 2 + rest * (whole + 1));
    }
    __device__ __forceinline__ unsigned long long tiles_of(unsigned long long count) {
      const unsigned long long last = (count - 1) / 128;
      return tiles_before(last) + min(tiles_in(last), (count + 127) / 128);
    }
    struct Tile { unsigned long long row, column; };
    __device__ __forceinline__ Tile tile_at(unsigned long long index, unsigned long long rowTiles) {
      unsigned long long group = 0, end = (rowTiles + 15) / 16;
      while (end - group > 1) {
        const unsigned long long middle = (group + end) / 2;
        if (tiles_before(middle * 16) <= index) group = middle; else end = middle;
      }
      unsigned long long row = group * 16;
      index -= tiles_before(row);
      // the number within a group is short: a grid has less than 2^31 blocks
      const unsigned groupRows = (unsigned)min(rowTiles - row, 16ull), whole = (unsigned)tiles_in(row);
      unsigned left = (unsigned)index;
      if (left < groupRows * whole) return {row + left % groupRows, left / groupRows};
      left -= groupRows * whole;
      for (++row; left >= (unsigned)tiles_in(row) - whole; ++row) left -= (unsigned)tiles_in(row) - whole;
      return {row, whole + left};
    }
    struct Place { long long rowStart, columnStart; unsigned layer, part; };
    __device__ __forceinline__ Place locate(unsigned index, long long rowCount, long long columnCount) {
      const unsigned perBatch = (unsigned)tiles_of(rowCount) * 1u, layer = index / perBatch;
      index -= layer * perBatch;
      const unsigned part = index % 1u;
      const Tile tile = tile_at(index / 1u, (rowCount + 127) / 128);
      return {(long long)tile.row * 128, (long long)tile.column * 128, layer, part};
    }
    __device__ __forceinline__ void copy4(unsigned target, const void* source, int valid) {
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(target), "l"(source), "r"(valid) : "memory");
    }
    __device__ __forceinline__ void load_rows(unsigned target, const float*& source, long long stride, int inner, int outer, int left, int steps) {
      if (steps >= 32) {
        #pragma unroll
        for (int pass = 0; pass < 4; ++pass)
          #pragma unroll
        for (int part = 0; part < 4; ++part)
          copy4(target + ((part * 8) * 132 + pass * 32) * 4, source + pass * 32 * stride + part * 8, pass * 32 < left ? 4 : 0);
      } else {
        #pragma unroll 1
        for (int pass = 0; pass < 4; ++pass)
          #pragma unroll 1
        for (int part = 0; part < 4; ++part)
          copy4(target + ((part * 8) * 132 + pass * 32) * 4, source + pass * 32 * stride + part * 8, pass * 32 < left ? min(max(steps - (inner + part * 8), 0), 1) * 4 : 0);
      }
      source += 32;
    }
    __device__ __forceinline__ void load_columns(unsigned target, const float*& source, long long stride, int inner, int outer, int left, int steps) {
      if (steps >= 32) {
        #pragma unroll
        for (int pass = 0; pass < 4; ++pass)
          #pragma unroll
        for (int part = 0; part < 4; ++part)
          copy4(target + ((part * 8) * 132 + pass * 32) * 4, source + pass * 32 * stride + part * 8, pass * 32 < left ? 4 : 0);
      } else {
        #pragma unroll 1
        for (int pass = 0; pass < 4; ++pass)
          #pragma unroll 1
        for (int part = 0; part < 4; ++part)
          copy4(target + ((part * 8) * 132 + pass * 32) * 4, source + pass * 32 * stride + part * 8, pass * 32 < left ? min(max(steps - (inner + part * 8), 0), 1) * 4 : 0);
      }
      source += 32;
    }

    "
  `);
  expect(part(source, '  // the mirrored half', '\n}\n')).toMatchInlineSnapshot(`
    "  // the mirrored half: a warp takes 4 of its rows at a time, 8 neighbouring elements of each
          #pragma unroll 1
          for (int e = thread; e < 8192; e += 256) {
            const int line = e / 32 % 8 * 8 + e % 8, row = phase * 64 + line;
            const int column = e / 32 / 8 * 4 + e / 8 % 4;
            if (row < rowsHere && column < min(columnsHere, lead + row))
              mirror[column * targetStride + row] = staged[line * 136 + column];
          }
        }
      }"
  `);
});

test('short sums of a symmetric problem take the point of the larger index first, by one path', () => {
  const [source = ''] = sources({ symmetric: true, k: 2, ...normExpressions('runtime'), p: 1.3 });
  expect(part(source, '// the point of', '#pragma unroll')).toMatchInlineSnapshot(`
    "// the point of the larger index first, by one path: both places of a pair get the same bits
            const bool below = lead + row >= column + j;
            sum[j] = (0) * 4 % 8 < 4 ? add_polynomial(sum[j], below ? x : y[j][c], below ? y[j][c] : x, power) : add_special(sum[j], below ? x : y[j][c], below ? y[j][c] : x, power);
          }
        }
        "
  `);
});
