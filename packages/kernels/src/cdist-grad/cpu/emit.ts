import { dtypeBytes } from '../../dtype.js';
import { emitCpuExpression, type CpuExpression } from '../../emit/cpu-expression.js';
import { cpuHelpers } from '../../emit/cpu-math.js';
import { vectorPrelude } from '../../emit/cpu-vector.js';
import { argumentsStruct, STANDARD_INTEGERS } from '../../emit/parameter-text.js';
import {
  type CpuGeometry,
  type CpuKernel,
  type Scalars,
  programOf,
  type KernelProgram,
} from '../../emitted-kernel.js';
import { cdistGradProgram } from '../../interpret/family-programs.js';
import { countOps } from '../../pairwise/cpu/plan.js';
import type { CpuCdistGradPlan } from '../plan-types.js';
import { cdistGradCost, cdistGradParams, sizesOf } from '../program.js';
import { blockText } from './block-text.js';

const ENTRY = 'mercer_cdist_grad';
/** A chunk should be worth at least this many operations: fetching one costs under a microsecond. */
const CHUNK_OPS = 2e6;
const CHUNKS_PER_CORE = 4;

/** The host kernel of a plan: one step, no workspace. */
export function emitCpuCdistGrad(plan: CpuCdistGradPlan): KernelProgram {
  const phi = emitCpuExpression(plan.phi, {
    dtype: plan.dtype,
    name: 'phi',
    parameters: ['delta'],
    uniforms: { p: 'p' },
  });
  const ops = countOps(plan.phi) + 2;
  const kernel: CpuKernel = {
    dialect: 'cpu',
    name: plan.summary,
    entry: ENTRY,
    source: sourceText(plan, phi),
    program: cdistGradProgram(plan),
    params: cdistGradParams(plan.dtype),
    options: [],
    geometry: (scalars) => geometry(plan, ops, scalars),
    cost: (scalars) => cdistGradCost(plan, { issueSlots: ops, special: 0 }, scalars),
  };
  return programOf(kernel);
}

function geometry(plan: CpuCdistGradPlan, opsPerFactor: number, scalars: Scalars): CpuGeometry {
  const { m, n, o, k, batch } = sizesOf(scalars);
  const { blockM, blockN, blockO, blockK } = plan;
  const tasks = Math.ceil(m / blockM) * Math.ceil(n / blockN) * Math.ceil(o / blockO) * batch;
  const work = batch * m * n * Math.max(k, 1) * (Math.ceil(o / blockO) * opsPerFactor + o);
  const worthwhile = Math.ceil(CHUNK_OPS / Math.max(work / Math.max(tasks, 1), 1));
  const fair = Math.max(1, Math.floor(tasks / (CHUNKS_PER_CORE * plan.cores)));
  const values = blockN * blockO * blockM + blockN * blockM + 2 * blockK * blockM + blockO * blockK;
  return {
    tasks,
    chunk: Math.min(worthwhile, fair),
    scratchBytes: values * dtypeBytes(plan.dtype),
  };
}

function sourceText(plan: CpuCdistGradPlan, phi: CpuExpression): string {
  const usesP = phi.uniforms.length > 0;
  return `${vectorPrelude(plan.level, plan.dtype)}
${cpuHelpers(phi.helpers, plan.dtype, plan.level)}

${phi.text}

${blockText(plan, phi)}

${argumentsStruct(cdistGradParams(plan.dtype), {
  integers: STANDARD_INTEGERS,
  inLines: true,
  dtypeOfT: plan.dtype,
})}

extern "C" void ${ENTRY}(const void* args, int64_t begin, int64_t end, void* scratch) {
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
${usesP ? '    const double p = g.pAt ? (double)g.pAt[l * g.pStride] : g.pValue;\n    Uniforms u;\n    set_uniforms(u, p);\n' : ''}    pack(lines, g.d + l * g.batchStrideD + n0 * g.ldd + m0, g.ldd, count, columns);
    const int64_t used = (heights + TILE_O - 1) / TILE_O * TILE_O * BLOCK_M;
    for (int64_t i = 0; i < count; i++) {
      for (int64_t j = 0; j < used; j++) sums[i * BLOCK_O * BLOCK_M + j] = 0;
    }
    for (int64_t k0 = 0; k0 < g.k; k0 += BLOCK_K) {
      const int64_t depth = at_most(g.k - k0, BLOCK_K);
      pack(weights, g.a + l * g.batchStrideA + k0 * g.lda + m0, g.lda, depth, columns);
      turn(rows, g.c + l * g.batchStrideC + o0 * g.ldc + k0, g.ldc, heights, depth);
      for (int64_t i = 0; i < count; i++) {
        fill(factors, weights, lines + i * BLOCK_M, g.b + l * g.batchStrideB + (n0 + i) * g.ldb + k0, depth${usesP ? ', u' : ''});
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
`;
}
