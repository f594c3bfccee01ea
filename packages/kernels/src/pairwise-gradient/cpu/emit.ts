import { dtypeBytes } from '../../dtype.js';
import type { CpuExpression } from '../../emit/cpu-expression.js';
import { cpuHelpers, type CpuHelper } from '../../emit/cpu-math.js';
import { uniformStruct } from '../../emit/cpu-uniform-struct.js';
import { vectorPrelude } from '../../emit/cpu-vector.js';
import { argumentsStruct, snakeCase, STANDARD_INTEGERS } from '../../emit/parameter-text.js';
import type { CpuGeometry, CpuKernel, Scalars } from '../../emitted-kernel.js';
import { gradientProgram } from '../../interpret/gradient-program.js';
import { allFunctions, cpuFunctions } from './functions.js';
import { gradientCost } from '../gradient-cost.js';
import { gradientParams, thetaName } from '../gradient-params.js';
import type { CpuGradientPlan } from '../gradient-plan.js';
import { cpuPackingText } from './packing.js';
import { cpuPairsText, cpuSumsText } from './first-phase.js';
import { cpuParametersText, cpuRowsText } from './second-phase.js';
import { CPU_MOST_ROWS, CPU_TILE_ROWS } from './sizes.js';
import { planExpressions, type PlanExpressions } from '../plan-expressions.js';

const ENTRY = 'mercer_pairwise_gradient';

/** The host kernel of a gradient plan. */
export function emitCpuGradient(plan: CpuGradientPlan): CpuKernel {
  return {
    dialect: 'cpu',
    name: plan.summary,
    entry: ENTRY,
    source: sourceText(plan),
    program: gradientProgram(plan),
    params: gradientParams(plan),
    options: [],
    geometry: (scalars) => geometry(plan, scalars),
    cost: (scalars) => gradientCost(plan, scalars),
  };
}

function geometry(plan: CpuGradientPlan, scalars: Scalars): CpuGeometry {
  const { m = 0, batch = 0 } = scalars;
  const tasks = Math.ceil(m / plan.blockRows) * plan.parts * batch;
  const tiles = tileCount(plan) * CPU_MOST_ROWS * plan.blockColumns;
  const packed = plan.blockDepth * plan.blockColumns + CPU_MOST_ROWS * (plan.blockDepth + 16);
  return { tasks, chunk: 1, scratchBytes: (tiles + packed) * dtypeBytes(plan.dtype) };
}

/** Tiles of one value per pair: s and the upstream gradient at first, and the index of a maximum. */
function tileCount(plan: CpuGradientPlan): number {
  return Math.max(2, plan.pairs.length) + (plan.reduce === 'max' ? 1 : 0);
}

function sourceText(plan: CpuGradientPlan): string {
  const expressions = planExpressions(plan);
  const functions = cpuFunctions(plan, expressions);
  const all = allFunctions(functions);
  const helpers = new Set<CpuHelper>(all.flatMap((each) => [...each.helpers]));
  const rows = plan.target === 'rows';
  return `${vectorPrelude(plan.level, plan.dtype)}
constexpr int64_t TILE_ROWS = ${CPU_TILE_ROWS}, MOST_ROWS = ${CPU_MOST_ROWS};
constexpr int64_t BLOCK_COLUMNS = ${plan.blockColumns}, BLOCK_DEPTH = ${plan.blockDepth};
constexpr int64_t ROW_STRIDE = BLOCK_DEPTH + 16, TILE = MOST_ROWS * BLOCK_COLUMNS;
typedef ${plan.dtype === 'float32' ? 'int' : 'long long'} index_t;
INLINE int64_t at_most(int64_t x, int64_t limit) { return x < limit ? x : limit; }
${cpuHelpers(helpers, plan.dtype, plan.level)}

${all.map(({ text }) => text).join('\n')}

${uniformsText(plan, all, expressions.uniform)}

${argsText(plan)}

${cpuPackingText(plan)}

${plan.readsSum ? cpuSumsText(plan, functions.inner) : ''}

${cpuPairsText(plan, functions)}

${expressions.readsTerms ? (rows ? cpuRowsText(plan, functions) : cpuParametersText(plan, functions)) : ''}

${entryText(plan, expressions)}
`;
}

function uniformsText(
  plan: CpuGradientPlan,
  functions: readonly CpuExpression[],
  names: readonly string[],
): string {
  const { members, values } = uniformStruct(functions);
  const parameters = names.map((name) => `UNUSED double ${name}`).join(', ');
  return `// values that depend on parameters alone
struct Uniforms {
${members}};
INLINE void set_uniforms(UNUSED Uniforms& u, ${parameters}) {
${values}}`;
}

function argsText(plan: CpuGradientPlan): string {
  const nameOf = (name: string): string =>
    snakeCase(/^theta/.test(name) ? name : name.replace('Stride', ''));
  return argumentsStruct(gradientParams(plan, plan.parameters.map(thetaName)), {
    integers: STANDARD_INTEGERS,
    inLines: true,
    dtypeOfT: plan.dtype,
    nameOf,
    elements: plan.target === 'rows' ? {} : { out: 'double' },
    apart: ({ name }) => name === 'parts',
  });
}

function entryText(plan: CpuGradientPlan, { readsTerms }: PlanExpressions): string {
  const rows = plan.target === 'rows';
  const thetas = plan.parameters.map((_, i) => {
    const name = `theta${i}`;
    return `g.${name}_at ? (double)g.${name}_at[l * g.${name}_stride] : g.${name}_value`;
  });
  const sums = plan.sums.length;
  const pack = `pack_columns(packed_columns, g.b + l * g.batch_b, g.row_b, g.step_b, n0, columns, k0, depth);
        pack_rows(packed_rows, g.a + l * g.batch_a, g.row_a, g.step_a, r0, rows, k0, depth);`;
  const first = `      for (int64_t k0 = 0; k0 < g.k; k0 += BLOCK_DEPTH) {
        const int64_t depth = at_most(g.k - k0, BLOCK_DEPTH);
        ${pack}
        sums(packed_rows, packed_columns, tiles, k0, depth, rows, columns, u);
      }
      if (g.k == 0) empty_sums(tiles);
`;
  const second = `      for (int64_t k0 = 0; k0 < g.k; k0 += BLOCK_DEPTH) {
        const int64_t depth = at_most(g.k - k0, BLOCK_DEPTH);
        ${
          plan.readsSum
            ? `// what the first phase packed is still there where k fits one block
        if (g.k > BLOCK_DEPTH) {
          ${pack.replace(/\n/, '\n  ')}
        }`
            : pack
        }
        ${
          rows
            ? 'add_rows(packed_rows, packed_columns, tiles, out + k0, g.k, k0, depth, rows, columns, u);'
            : 'add_parameters(packed_rows, packed_columns, tiles, total, k0, depth, rows, columns, u);'
        }
      }
`;
  return `extern "C" void ${ENTRY}(const void* args, int64_t begin, int64_t end, void* scratch) {
  const Args& g = *(const Args*)args;
  T* tiles = (T*)scratch;
  T* packed_columns = tiles + ${tileCount(plan)} * TILE;
  T* packed_rows = packed_columns + BLOCK_COLUMNS * BLOCK_DEPTH;
  const int64_t row_blocks = (g.m + g.block_rows - 1) / g.block_rows;
  const int64_t column_blocks = (g.n + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
  const int64_t per_part = (column_blocks + g.parts - 1) / g.parts;
  for (int64_t task = begin; task < end; task++) {
    const int64_t r0 = task % row_blocks * g.block_rows, rows = at_most(g.m - r0, g.block_rows);
    const int64_t part = task / row_blocks % g.parts, l = task / row_blocks / g.parts;
    const int64_t first = at_most(part * per_part, column_blocks), last = at_most(first + per_part, column_blocks);
    Uniforms u;
    set_uniforms(u, ${['g.p', ...thetas].join(', ')});
${
  rows
    ? `    T* out = g.out + ((part * g.batch + l) * g.m + r0) * g.k;
    for (int64_t i = 0; i < rows * g.k; i++) out[i] = 0;
`
    : `    double total[${sums}] = {};
`
}    for (int64_t block = first; block < last; block++) {
      const int64_t n0 = block * BLOCK_COLUMNS, columns = at_most(g.n - n0, BLOCK_COLUMNS);
${plan.readsSum ? first : ''}      pack_gradient(tiles + TILE, g, l, r0, rows, n0, columns);
      pairs(tiles, ${rows ? '' : 'total, '}rows, columns, u);
${readsTerms ? second : ''}    }
${
  rows
    ? ''
    : `    const int64_t blocks = row_blocks * g.parts, place = part * row_blocks + task % row_blocks;
    for (int64_t j = 0; j < ${sums}; j++) g.out[(j * g.batch + l) * blocks + place] = total[j];
`
}  }
}`;
}
