import { elementInfo } from '../elementwise/element-type.js';
import { prelude } from '../elementwise/conversion-text.js';
import { argumentsStruct, SHORT_INTEGERS, snakeCase } from '../emit/parameter-text.js';
import type { CpuKernel } from '../emitted-kernel.js';
import { textProgram } from '../interpret/text-program.js';
import type { KernelParam } from '../kernel-param.js';
import { withWorkspace } from '../kernel-program.js';
import { scatterAddCost, scatterAddParams } from './scatter-params.js';
import type { ScatterAddPlan } from './scatter-plan-types.js';

/** Columns of one pass over the entries of a row. */
const STRIP = 64;

/** The kernel of a sum by index on a CPU: each row in the order of the entries, in double precision. */
export function cpuScatterKernel(plan: ScatterAddPlan): CpuKernel {
  const direct = plan.mode === 'direct';
  const own = scatterAddParams(plan);
  const params = direct ? own : withWorkspace(own, 'write');
  const source = `${head(plan, params)}${direct ? DIRECT : SORTED}`;
  return {
    dialect: 'cpu',
    name: plan.summary,
    entry: `mercer_scatter_${plan.mode}`,
    source,
    program: textProgram(source),
    params,
    options: [],
    geometry: ({ rows = 0, columns = 0, rowsPerTask = 1, columnsPerTask = 1 }) => ({
      tasks: Math.ceil(rows / rowsPerTask) * Math.ceil(columns / Math.max(1, columnsPerTask)),
      chunk: 1,
      scratchBytes: direct ? rowsPerTask * columnsPerTask * 8 : 0,
    }),
    cost: (scalars) => scatterAddCost(plan, scalars),
  };
}

function head({ from, to }: ScatterAddPlan, params: readonly KernelParam[]): string {
  const [S, D] = [from, to].map((dtype) => elementInfo(dtype).storage);
  return `${prelude('cpu')}
typedef ${S} S;
typedef ${D} D;
${argumentsStruct(params, {
  integers: SHORT_INTEGERS,
  nameOf: snakeCase,
  inLines: true,
  elements: { values: 'S', out: 'D', workspace: 'i32' },
})}
FN i64 least(i64 x, i64 y) { return x < y ? x : y; }
// the row counted from another; one that is below it or below 0 is a huge number
FN u64 row_from(const Args& g, i64 n, i64 first) { return (u64)(i64)g.index[n] - (u64)first; }
`;
}

const DIRECT = `
extern "C" void mercer_scatter_direct(const void* args, int64_t begin, int64_t end, void* scratch) {
  const Args& g = *(const Args*)args;
  double* const sums = (double*)scratch;
  const i64 strips = (g.columns + g.columns_per_task - 1) / g.columns_per_task;
  for (i64 task = begin; task < end; task++) {
    const i64 r0 = task / strips * g.rows_per_task, rows = least(g.rows_per_task, g.rows - r0);
    const i64 c0 = task % strips * g.columns_per_task, columns = least(g.columns_per_task, g.columns - c0);
    for (i64 i = 0; i < rows * columns; i++) sums[i] = 0;
    for (i64 n = 0; n < g.count; n++) {
      const u64 r = row_from(g, n, r0);
      if (r >= (u64)rows) continue;
      const S* const from = g.values + n * g.value_stride + c0;
      double* const to = sums + r * columns;
      for (i64 c = 0; c < columns; c++) to[c] += (double)from[c];
    }
    for (i64 r = 0; r < rows; r++)
      for (i64 c = 0; c < columns; c++) g.out[(r0 + r) * g.columns + c0 + c] = (D)sums[r * columns + c];
  }
}
`;

/** Every task sorts the entries of its own rows into its own part of the workspace, by counting. */
const SORTED = `
extern "C" void mercer_scatter_sorted(const void* args, int64_t begin, int64_t end, void*) {
  const Args& g = *(const Args*)args;
  i32* const order = g.workspace;
  for (i64 task = begin; task < end; task++) {
    const i64 r0 = task * g.rows_per_task, rows = least(g.rows_per_task, g.rows - r0);
    i32* const ends = g.workspace + g.count + r0;
    for (i64 r = 0; r < rows; r++) ends[r] = 0;
    i64 before = 0;
    for (i64 n = 0; n < g.count; n++) {
      before += row_from(g, n, 0) < (u64)r0;
      const u64 r = row_from(g, n, r0);
      if (r < (u64)rows) ends[r]++;
    }
    i64 at = before;
    for (i64 r = 0; r < rows; r++) { const i64 entries = ends[r]; ends[r] = (i32)at; at += entries; }
    for (i64 n = 0; n < g.count; n++) {
      const u64 r = row_from(g, n, r0);
      if (r < (u64)rows) order[ends[r]++] = (i32)n;
    }
    for (i64 r = 0; r < rows; r++) {
      const i64 first = r == 0 ? before : ends[r - 1];
      for (i64 c0 = 0; c0 < g.columns; c0 += ${STRIP}) {
        const i64 columns = least(${STRIP}, g.columns - c0);
        double sums[${STRIP}] = {};
        for (i64 k = first; k < ends[r]; k++) {
          const S* const from = g.values + order[k] * g.value_stride + c0;
          for (i64 c = 0; c < columns; c++) sums[c] += (double)from[c];
        }
        for (i64 c = 0; c < columns; c++) g.out[(r0 + r) * g.columns + c0 + c] = (D)sums[c];
      }
    }
  }
}
`;
