import { isNonNegative, type RealExpr } from '@mercer/formula/plan';
import { dtypeBytes } from '../../dtype.js';
import {
  type CpuKernel,
  type LaunchableKernel,
  programOf,
  type KernelProgram,
} from '../../emitted-kernel.js';
import { emitCpuExpression } from '../../emit/cpu-expression.js';
import { cpuLiteral } from '../../emit/literals.js';
import { cpuHelpers, type CpuHelper } from '../../emit/cpu-math.js';
import { vectorPrelude } from '../../emit/cpu-vector.js';
import { pairwiseProgram } from '../../interpret/family-programs.js';
import { cpuDiagonalKernel } from './diagonal.js';
import { cpuPairwiseCost, cpuPairwiseGeometry, TRIANGLE_TEXT } from './geometry.js';
import { microKernelText, type CpuReduction } from './micro-kernel.js';
import { packingText } from './packing.js';
import type { CpuPairwisePlan } from './plan.js';
import { storeText } from './store.js';
import { argumentsText, launchText, setUniforms, uniformNames } from './uniforms.js';
import { pairwiseParams } from '../params.js';

const ENTRY = 'mercer_pairwise';

/** The host kernel of a plan, and that of its diagonal; no workspace. */
export function emitCpuPairwise(plan: CpuPairwisePlan): KernelProgram<LaunchableKernel> {
  const kernel: CpuKernel = {
    dialect: 'cpu',
    name: kernelName(plan),
    entry: ENTRY,
    source: sourceText(plan),
    program: pairwiseProgram(plan),
    params: pairwiseParams(plan.dtype, plan.parameters),
    options: [],
    geometry: cpuPairwiseGeometry(plan),
    cost: (scalars) => cpuPairwiseCost(plan, scalars),
  };
  return programOf<LaunchableKernel>(
    kernel,
    ...(plan.diagonal === undefined ? [] : [cpuDiagonalKernel(plan)]),
  );
}

function kernelName(plan: CpuPairwisePlan): string {
  const layouts = [plan.layoutA, plan.layoutB, plan.layoutOut].map((l) => l[0]).join('');
  const tile = `${plan.tileRows}x${plan.tileVectors}`;
  const symmetric = plan.symmetric === true ? ' symmetric' : '';
  return `pairwise ${plan.dtype} ${layouts} ${plan.reduce} ${tile} ${plan.level}${symmetric}`;
}

function sourceText(plan: CpuPairwisePlan): string {
  const common = { dtype: plan.dtype, uniforms: uniformNames(plan) };
  const innerExpr = plan.inner;
  const inner = emitCpuExpression(innerExpr, { ...common, name: 'inner', parameters: ['a', 'b'] });
  const outer = emitCpuExpression(plan.outer, {
    ...common,
    name: 'outer',
    parameters: ['s'],
    nonNegative: isNonNegative(innerExpr) ? ['s'] : [],
  });
  const helpers = new Set<CpuHelper>([...inner.helpers, ...outer.helpers]);
  const reduction = reductionOf(plan, innerExpr, helpers);
  return `${vectorPrelude(plan.level, plan.dtype)}
${cpuHelpers(helpers, plan.dtype, plan.level)}

${inner.text}
${outer.text}

${launchText(plan, [inner, outer])}

${packingText(plan)}

${microKernelText(plan, inner, reduction)}

${storeText(plan, outer)}
${plan.symmetric === true ? `\n${TRIANGLE_TEXT}\n` : ''}
${entryText(plan)}
`;
}

/** Sums start at 0; a maximum at -inf, or at 0 where no value is below it. */
function reductionOf(
  plan: CpuPairwisePlan,
  inner: RealExpr,
  helpers: Set<CpuHelper>,
): CpuReduction {
  if (plan.reduce === 'sum') return { start: '0', combine: (sum, value) => `${sum} + ${value}` };
  // The result of abs has no sign bit, not even NaN's, so it can be compared by its bits.
  if (inner.op === 'abs') {
    helpers.add('maxBits');
    return {
      start: '0',
      combine: (sum, value) => `max_bits(${sum}, ${value})`,
    };
  }
  helpers.add('max');
  return {
    start: cpuLiteral(-Infinity, plan.dtype),
    combine: (sum, value) => `max_v(${sum}, ${value})`,
  };
}

/** Finds the task's block, as text: tasks of a batch entry lie side by side. */
function blockText(plan: CpuPairwisePlan): { counts: string; place: string } {
  const [rows, columns] = plan.swapped ? ['n', 'm'] : ['m', 'n'];
  if (plan.symmetric === true) {
    return {
      counts: '  const int64_t blocks = triangle_blocks(g.m);\n',
      place: `    const int64_t l = task / blocks;
    int64_t r0, c0;
    triangle_block(task % blocks, g.m, r0, c0);
`,
    };
  }
  return {
    counts: `  const int64_t row_blocks = (g.${rows} + BLOCK_ROWS - 1) / BLOCK_ROWS;
  const int64_t column_blocks = (g.${columns} + BLOCK_COLUMNS - 1) / BLOCK_COLUMNS;
  const int stream = g.m * g.n * g.batch >= ${Math.ceil(plan.streamBytes / dtypeBytes(plan.dtype))};
`,
    place: `    const int64_t block = task / row_blocks, l = block / column_blocks;
    const int64_t r0 = task % row_blocks * BLOCK_ROWS, c0 = block % column_blocks * BLOCK_COLUMNS;
`,
  };
}

function entryText(plan: CpuPairwisePlan): string {
  const [row, column] = plan.swapped ? ['b', 'a'] : ['a', 'b'];
  const [rows, columns] = plan.swapped ? ['n', 'm'] : ['m', 'n'];
  const offset = (layout: 'row' | 'column', point: string, k: string, ld: string): string =>
    layout === 'row' ? `${point} * ${ld} + ${k}` : `${k} * ${ld} + ${point}`;
  const layoutOf = (name: string): 'row' | 'column' => (name === 'a' ? plan.layoutA : plan.layoutB);
  const [m, n] = plan.swapped ? ['c0', 'r0'] : ['r0', 'c0'];
  const { counts, place } = blockText(plan);
  const symmetric = plan.symmetric === true;
  const perLayer = plan.parameters !== undefined;
  return `${argumentsText(plan)}

extern "C" void ${ENTRY}(const void* args, int64_t begin, int64_t end, void* scratch) {
  const Args& g = *(const Args*)args;
  Uniforms u;
${perLayer ? '' : `  ${setUniforms(plan)}\n`}  T* tile = (T*)scratch;
  T* packed_columns = tile + BLOCK_ROWS * BLOCK_COLUMNS;
  T* packed_rows = packed_columns + BLOCK_COLUMNS * BLOCK_DEPTH;
${counts}  for (int64_t task = begin; task < end; task++) {
${place}${perLayer ? `    ${setUniforms(plan)}\n` : ''}    const int64_t rows = at_most(g.${rows} - r0, BLOCK_ROWS);
    const int64_t columns = at_most(g.${columns} - c0, BLOCK_COLUMNS);
    for (int64_t i = 0; g.k == 0 && i < BLOCK_ROWS * BLOCK_COLUMNS; i++) tile[i] = 0;
    for (int64_t k0 = 0; k0 < g.k; k0 += BLOCK_DEPTH) {
      const int64_t depth = at_most(g.k - k0, BLOCK_DEPTH);
      const T* row_data = g.${row} + l * g.batch_${row} + ${offset(layoutOf(row), 'r0', 'k0', `g.ld${row}`)};
      const T* column_data = g.${column} + l * g.batch_${column} + ${offset(layoutOf(column), 'c0', 'k0', `g.ld${column}`)};
      pack_columns(packed_columns, column_data, g.ld${column}, columns, depth);
      pack_rows(packed_rows, row_data, g.ld${row}, rows, depth);
      for (int64_t c = 0; c < columns; c += TILE_COLUMNS) {
        for (int64_t r = 0; r < rows; r += TILE_ROWS) {
${symmetric ? '          if (r0 + r + TILE_ROWS <= c0 + c) continue;\n' : ''}          micro_kernel(packed_rows + r * ROW_STRIDE, packed_columns + c * BLOCK_DEPTH,
                       tile + r * BLOCK_COLUMNS + c, depth, k0 == 0, u);
        }
      }
    }
${
  symmetric
    ? '    store(g.out + l * g.batch_out, g.ldo, tile, r0, c0, rows, columns, u);'
    : `    T* out = g.out + l * g.batch_out + ${offset(plan.layoutOut, m, n, 'g.ldo')};
    store(out, g.ldo, tile, rows, columns, stream, u);`
}
  }
}`;
}
