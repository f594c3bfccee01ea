import type { CpuHelper } from '../../emit/cpu-math.js';
import { lanesOf, vectorUnit } from '../../emit/cpu-vector.js';
import { indent, lines } from '../../emit/indent.js';
import type { CpuKernel } from '../../emitted-kernel.js';
import { withWorkspace, type PairwiseProgram } from '../../pairwise/program.js';
import { withMergeKernel } from '../cpu-merge-kernel.js';
import { cpuPrelude, cpuReducerDialect, cpuRowCounts } from '../cpu-text.js';
import { elementType, loaded } from '../half-storage.js';
import { batchStrideName, inputName, launchTasks, mapReduceParams, strideName } from '../params.js';
import type { Reducer } from '../reducers/reducer.js';
import { runningResult } from '../reducers/running-result.js';
import { blockReducer } from './column-blocks.js';
import { columnBlocks, cpuColumnsText } from './cpu-columns-text.js';
import { packedInputs } from './cpu-dialect.js';
import { cpuNarrowText } from './cpu-narrow-text.js';
import { keptSide } from './kept-side.js';
import { wideCost } from './wide-cost.js';
import type { CpuWidePlan } from './wide-plan-types.js';

const ENTRY = 'mercer_map_reduce';

/** The host kernels of a map-reduce over long vectors: loops over components, tiles of pairs in registers. */
export function emitCpuWide(plan: CpuWidePlan): PairwiseProgram {
  const helpers = new Set<CpuHelper>();
  const reducer = blockReducer(plan, cpuReducerDialect(plan, helpers));
  const running = runningResult([reducer]);
  const isNarrow = plan.formula.columns === 1;
  const body = isNarrow
    ? cpuNarrowText(plan, running, helpers)
    : cpuColumnsText(plan, reducer, helpers);
  const params = mapReduceParams(plan, reducer);
  const lanes = lanesOf(plan.level, plan.dtype);
  const split = plan.splits > 1;
  const parts = split ? plan.splits : Math.ceil(columnBlocks(plan) / plan.blocks);
  const source = (entry: string, text: string): string =>
    lines(
      cpuPrelude(plan, running, helpers),
      'typedef int64_t Step;',
      functionsText(plan),
      `extern "C" void ${entry}(const void* args, int64_t begin, int64_t end, UNUSED void* scratch) {`,
      '  const Args& g = *(const Args*)args;',
      indent(text),
      '}',
      '',
    ).concat('\n');
  const compute: CpuKernel = {
    dialect: 'cpu',
    name: plan.summary,
    entry: ENTRY,
    source: source(ENTRY, tasksText(plan, parts, body)),
    params: split ? withWorkspace(params, 'write') : params,
    options: [],
    geometry: (scalars) => ({
      tasks: launchTasks(plan, scalars, plan.groups * lanes) * parts * (scalars['batch'] ?? 0),
      chunk: 1,
      scratchBytes: scratchOf(plan, reducer),
    }),
    cost: (scalars) => wideCost(plan, scalars),
  };
  if (!split) return { steps: [{ kernel: compute }], workspaceBytes: () => 0 };
  return withMergeKernel(plan, running, { compute, params, helpers });
}

/** The copied rows, and the running results of a task: in parts and in all where there are columns. */
function scratchOf(plan: CpuWidePlan, { slots }: Reducer): number {
  const states = (plan.formula.columns === 1 ? 1 : 2 * plan.blocks) * slots.length;
  return (packedInputs(plan).count + states) * plan.groups * vectorUnit(plan.level).bytes;
}

/** Functions of the numbers `places` of a task's kept rows. */
function functionsText(plan: CpuWidePlan): string {
  const inputs = plan.packed
    ? []
    : plan.inputs.filter(({ category }) => category === keptSide(plan));
  const perLane = (value: string): string =>
    `V r = splat(0); for (int lane = 0; lane < LANES; lane++) r[lane] = ${value}; return r;`;
  return lines(
    ...inputs.map(
      (input) =>
        `INLINE V gathered${inputName(input.position)}(const ${elementType(input, 'T')}* x, int64_t stride, const int64_t* places, int64_t group) { ${perLane(loaded(input, 'x[places[group * LANES + lane] * stride]'))} }`,
    ),
    `INLINE V rowNumbers(const int64_t* places, int64_t group) { ${perLane('(T)places[group * LANES + lane]')} }`,
  );
}

/** Tasks `begin` to `end`: the rows of each, and `body`. */
function tasksText(plan: CpuWidePlan, parts: number, body: string): string {
  const { ranges } = plan;
  const count = String(parts);
  return lines(
    cpuRowCounts(plan),
    !ranges && 'const int64_t rowBlocks = (kept + ROWS - 1) / ROWS;',
    'UNUSED V* const own = (V*)scratch;',
    'for (int64_t task = begin; task < end; task++) {',
    `  UNUSED const int64_t part = task % ${count};`,
    indent(
      ranges
        ? lines(
            `const int64_t layer = task / ${count} / g.taskCount;`,
            `const int64_t* const here = g.tasks + task / ${count} % g.taskCount * 4;`,
            'const int64_t first = here[0], limit = first + here[1];',
          )
        : lines(
            `const int64_t layer = task / ${count} / rowBlocks, first = task / ${count} % rowBlocks * ROWS;`,
            'const int64_t limit = kept;',
          ),
    ),
    '  // rows past the end compute what the last row does, and nothing of it is written',
    '  UNUSED int64_t places[ROWS];',
    '  for (int64_t row = 0; row < ROWS; row++) places[row] = first + row < limit ? first + row : limit - 1;',
    indent(inputsText(plan)),
    indent(body),
    '}',
  );
}

/** The inputs of a batch entry, and the copy of the kept rows with lanes side by side. */
function inputsText(plan: CpuWidePlan): string {
  const { offsets } = packedInputs(plan);
  const copies = plan.inputs.flatMap((input) => {
    const { position: p, dim } = input;
    const offset = offsets.get(p);
    if (offset === undefined) return [];
    const to = `((T*)own)[(${String(offset)} + c) * ROWS + row]`;
    const from = loaded(input, `${inputName(p)}[places[row] * g.${strideName(p)} + c]`);
    return [`  for (int64_t c = 0; c < ${String(dim)}; c++) ${to} = ${from};`];
  });
  return lines(
    ...plan.inputs.map(
      (input) =>
        `UNUSED const ${elementType(input, 'T')}* const ${inputName(input.position)} = g.${inputName(input.position)} + layer * g.${batchStrideName(input.position)};`,
    ),
    copies.length > 0 && lines('for (int64_t row = 0; row < ROWS; row++) {', ...copies, '}'),
  );
}
