import { expect, it } from 'vitest';
import { CPU, emittedText } from '../testing/emitted-text.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { emitCdistGrad, normDerivative, planCdistGrad, type CdistGradProblem } from './index.js';

const problem: CdistGradProblem = {
  phi: normDerivative(1),
  dtype: 'float32',
  m: 100,
  n: 100,
  o: 100,
  k: 30,
  batch: 1,
  alignedA: true,
  alignedB: true,
  alignedC: true,
  alignedOut: true,
};

it('the text of weighted sums of signs for a GPU', () => {
  const program = emitCdistGrad(planCdistGrad(problem, H200, { strategy: 'fma' }));
  expect(emittedText(program, 'kernel')).toMatchInlineSnapshot(`
    "extern "C" __global__ void __launch_bounds__(128, 6)
    cdist_grad_fma(const float* __restrict__ a, const float* __restrict__ b, const float* __restrict__ c, const float* __restrict__ d, float* __restrict__ out,
        long long m, long long n, long long o, long long k, long long batch, long long lda, long long ldb, long long ldc,
        long long ldd, long long ldo, long long strideO, long long batchStrideA, long long batchStrideB, long long batchStrideC, long long batchStrideD, long long batchStrideOut,
        const float* __restrict__ pAt, long long pStride, double pValue) {
      extern __shared__ __align__(16) unsigned char memory[];
      const Place place = locate(blockIdx.x, o, n, m);
      
      const unsigned thread = threadIdx.x;
      const int mPlace = thread % 16 * 2, nPlace = thread / 16 * 1;
      const int nHere = (int)min(n - place.nStart, 8ll), mHere = (int)min(m - place.mStart, 32ll);
      constexpr int STAGE = 2048;
      // which steps of k
      const long long kStart = 0, kSteps = k;
      const unsigned shared = (unsigned)__cvta_generic_to_shared(memory);
      Kept* const kept = reinterpret_cast<Kept*>(memory + 24576);
      if (thread == 0) *kept = {place, {a + place.layer * batchStrideA + kStart * lda + place.mStart, b + place.layer * batchStrideB + place.nStart * ldb + kStart, c + place.layer * batchStrideC + place.oStart * ldc + kStart}, {(int)min(m - place.mStart, 32ll), (int)min(n - place.nStart, 8ll), (int)min(o - place.oStart, 16ll)}, (int)((kSteps + 31) / 32), (int)(kSteps - (kSteps - 1) / 32 * 32)};
      __syncthreads();
      const auto load = [&](int turn, int stage, unsigned own) {
        if (turn < kept->turns) {
          const unsigned place = stage * 8192;
          const int steps = turn == kept->turns - 1 ? kept->last : 32;
          const int aInner = own % 8 * 4, aOuter = own / 8, aLeft = kept->counts[0] - aInner;
          const float* aSource = kept->sources[0] + (long long)turn * 32 * lda + aOuter * lda + aInner;
          const unsigned aTarget = shared + 0 + (aOuter * 32 + aInner) * 4;
          const int bInner = own % 8, bOuter = own / 8, bLeft = kept->counts[1] - bOuter;
          const float* bSource = kept->sources[1] + (long long)turn * 32 + bOuter * ldb + bInner;
          const unsigned bTarget = shared + 4096 + (bInner * 12 + bOuter) * 4;
          const int cInner = own % 8, cOuter = own / 8, cLeft = kept->counts[2] - cOuter;
          const float* cSource = kept->sources[2] + (long long)turn * 32 + cOuter * ldc + cInner;
          const unsigned cTarget = shared + 5632 + (cInner * 20 + cOuter) * 4;
          load_a(aTarget + place, aSource, lda, aInner, aOuter, aLeft, steps);
          load_b(bTarget + place, bSource, ldb, bInner, bOuter, bLeft, steps);
          load_c(cTarget + place, cSource, ldc, cInner, cOuter, cLeft, steps);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
      };

      float z[1][2];
      const float* const zs = d + place.layer * batchStrideD + (place.nStart + nPlace) * ldd + place.mStart + mPlace;
      #pragma unroll
      for (int i = 0; i < 1; ++i)
        #pragma unroll
        for (int j = 0; j < 2; ++j)
          z[i][j] = nPlace + i < nHere && mPlace + j < mHere ? zs[i * ldd + j] : (float)0;
      float sum[16][1][2] = {};

      // the first 2 turns only load
      #pragma unroll 1
      for (int turn = -2; turn < kept->turns; ++turn) {
        if (turn >= 0) {
          asm volatile("cp.async.wait_group 1;" ::: "memory");
          __syncthreads();
        }
        unsigned own;
        asm volatile("mov.u32 %0, %%tid.x;" : "=r"(own));
        load(turn + 2, (turn + 2) % 3, own);
        if (turn >= 0) {
          const int stage = turn % 3;
          const int mPlace = own % 16 * 2, nPlace = own / 16 * 1;
          const float* const as = reinterpret_cast<const float*>(memory) + stage * STAGE + 0 + mPlace;
          const float* const bs = reinterpret_cast<const float*>(memory) + stage * STAGE + 1024 + nPlace;
          const float* const cs = reinterpret_cast<const float*>(memory) + stage * STAGE + 1408;
          #pragma unroll 1
          for (int kk = 0; kk < 32; ++kk) {
            float x[1], w[2], t[1][2], q[16];
            #pragma unroll
            for (int h = 0; h < 1; ++h) x[h] = *(bs + kk * 12 + h);
            #pragma unroll
            for (int h = 0; h < 1; ++h) read2(w + h * 2, as + kk * 32 + h * 2);
            #pragma unroll
            for (int h = 0; h < 4; ++h) read4(q + h * 4, cs + kk * 20 + h * 4);
            #pragma unroll
            for (int i = 0; i < 1; ++i)
              #pragma unroll
              for (int j = 0; j < 2; ++j) t[i][j] = term(z[i][j] - x[i], w[j]);
            #pragma unroll
            for (int r = 0; r < 16; ++r)
              #pragma unroll
              for (int i = 0; i < 1; ++i)
                #pragma unroll
                for (int j = 0; j < 2; ++j) sum[r][i][j] = fmaf(q[r], t[i][j], sum[r][i][j]);
          }
        }
      }
      asm volatile("cp.async.wait_group 0;" ::: "memory");

      {
        unsigned threadAgain;
        asm volatile("mov.u32 %0, %%tid.x;" : "=r"(threadAgain));
        const Place end = kept->place;
          const int mPlace = threadAgain % 16 * 2, nPlace = threadAgain / 16 * 1;
          const int nHere = (int)min(n - end.nStart, 8ll), mHere = (int)min(m - end.mStart, 32ll);
          const int oHere = (int)min(o - end.oStart, 16ll);
          const long long strideN = ldo, strideR = strideO;
          float* const target = out + end.layer * batchStrideOut + end.oStart * strideO + (end.nStart + nPlace) * ldo + end.mStart + mPlace;
          #pragma unroll
          for (int r = 0; r < 16; ++r)
            if (r < oHere)
              #pragma unroll
              for (int i = 0; i < 1; ++i)
                if (nPlace + i < nHere) {
                  float* const to = target + r * strideR + i * strideN;
                  #pragma unroll
                  for (int j = 0; j < 2; ++j)
                    if (j < mHere - mPlace) to[j] = sum[r][i][j];
                }
      }
    }
    "
  `);
});

it('the text of weighted sums of signs for a CPU', () => {
  const program = emitCdistGrad(planCdistGrad(problem, CPU));
  expect(emittedText(program, 'arguments')).toMatchInlineSnapshot(`
    "struct Args {
      const T *a, *b, *c, *d;
      T* out;
      int64_t m, n, o, k, batch, lda, ldb, ldc, ldd, ldo, strideO, batchStrideA, batchStrideB, batchStrideC, batchStrideD, batchStrideOut;
      const T* pAt;
      int64_t pStride;
      double pValue;
    };

    extern "C" void mercer_cdist_grad(const void* args, int64_t begin, int64_t end, void* scratch) {
      const Args& g = *(const Args*)args;
      T* sums = (T*)scratch;
      T* lines = sums + BLOCK_N * BLOCK_O * BLOCK_M;
      T* weights = lines + BLOCK_N * BLOCK_M;
      T* factors = weights + BLOCK_K * BLOCK_M;
      T* rows = factors + BLOCK_K * BLOCK_M;
      const int64_t m_blocks = (g.m + BLOCK_M - 1) / BLOCK_M, n_blocks = (g.n + BLOCK_N - 1) / BLOCK_N;
      const int64_t o_blocks = (g.o + BLOCK_O - 1) / BLOCK_O;
      for (int64_t task = begin; task < end; task++) {
        const int64_t m0 = task % m_blocks * BLOCK_M, n_index = task / m_blocks;
        const int64_t n0 = n_index % n_blocks * BLOCK_N, o_index = n_index / n_blocks;
        const int64_t o0 = o_index % o_blocks * BLOCK_O, l = o_index / o_blocks;
        const int64_t columns = at_most(g.m - m0, BLOCK_M), count = at_most(g.n - n0, BLOCK_N);
        const int64_t heights = at_most(g.o - o0, BLOCK_O);
        pack(lines, g.d + l * g.batchStrideD + n0 * g.ldd + m0, g.ldd, count, columns);
        const int64_t used = (heights + TILE_O - 1) / TILE_O * TILE_O * BLOCK_M;
        for (int64_t i = 0; i < count; i++) {
          for (int64_t j = 0; j < used; j++) sums[i * BLOCK_O * BLOCK_M + j] = 0;
        }
        for (int64_t k0 = 0; k0 < g.k; k0 += BLOCK_K) {
          const int64_t depth = at_most(g.k - k0, BLOCK_K);
          pack(weights, g.a + l * g.batchStrideA + k0 * g.lda + m0, g.lda, depth, columns);
          turn(rows, g.c + l * g.batchStrideC + o0 * g.ldc + k0, g.ldc, heights, depth);
          for (int64_t i = 0; i < count; i++) {
            fill(factors, weights, lines + i * BLOCK_M, g.b + l * g.batchStrideB + (n0 + i) * g.ldb + k0, depth);
            multiply(sums + i * BLOCK_O * BLOCK_M, rows, factors, heights, depth);
          }
        }
        for (int64_t r = 0; r < heights; r++) {
          for (int64_t i = 0; i < count; i++) {
            const T* from = sums + (i * BLOCK_O + r) * BLOCK_M;
            T* to = g.out + l * g.batchStrideOut + (o0 + r) * g.strideO + (n0 + i) * g.ldo + m0;
            for (int64_t j = 0; j < columns; j++) to[j] = from[j];
          }
        }
      }
    }
    "
  `);
});
