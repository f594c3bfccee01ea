import type { Steps } from '@mercer/formula/plan';
import { cpuLiteral } from '../../../emit/literals.js';
import type { CpuHelper } from '../../../emit/cpu-math.js';
import { lanesOf, vectorUnit } from '../../../emit/cpu-vector.js';
import { indent, lines } from '../../../emit/text.js';
import { type CpuKernel, programOf, type KernelProgram } from '../../../emitted-kernel.js';
import { withMergeKernel } from '../../cpu/merge-kernel.js';
import {
  cpuReducerDialect,
  cpuRowCounts,
  cpuRowsDialect,
  cpuKernel,
  type CpuKernelParts,
} from '../../cpu/text.js';
import { elementType, loaded } from '../../half-storage.js';
import { batchStrideName, inputName, launchTasks, sidesOf, strideName } from '../../params.js';
import { rowInputs } from '../../plan-inputs.js';
import { runningResult, type RunningResult } from '../../reducers/running-result.js';
import { wordsOf } from '../../reducers/reducer.js';
import { blockReducer, columnBlocks } from '../column-blocks.js';
import { cpuColumnsText } from './columns-text.js';
import { packedInputs, takenName, takenOnceName } from './dialect.js';
import { cpuOneColumnText } from './one-column-text.js';
import { pairTileCost } from '../shape.js';
import type { CpuPairTilePlan } from '../plan-types.js';

/** The host kernels of a map-reduce over long vectors: loops over components, tiles of pairs in registers. */
export function* emitCpuPairTile(plan: CpuPairTilePlan): Steps<KernelProgram> {
  const helpers = new Set<CpuHelper>();
  const hasOneColumn = plan.formula.columns === 1;
  const isSingle = plan.columns.length === 1;
  const dialect = (hasOneColumn && isSingle ? cpuRowsDialect : cpuReducerDialect)(plan, helpers);
  const reducers = plan.columns.map((one) => blockReducer(one, dialect));
  const running = runningResult(reducers);
  const body = hasOneColumn
    ? yield* cpuOneColumnText(plan, running, helpers)
    : yield* cpuColumnsText(plan, running, helpers);
  yield;
  const parts = wordsOf(
    reducers.flatMap((one) => (one.rounds ? (one.block ?? one).accumulators : [])),
    plan.dtype,
  );
  const compute = tileKernel(plan, running, helpers, { body, parts });
  if (plan.splits === 1) return programOf(compute);
  return withMergeKernel(plan, running, { compute, helpers });
}

/** What a kernel over tiles is made from. */
interface TileBody extends Pick<CpuKernelParts, 'params'> {
  readonly body: string;
  /** Words of the running results that parts are summed in. */
  readonly parts: number;
}

/** The kernel that computes a formula over tiles of pairs. */
export function tileKernel(
  plan: CpuPairTilePlan,
  running: RunningResult,
  helpers: Set<CpuHelper>,
  { body, parts, ...rest }: TileBody,
): CpuKernel {
  const rows = plan.keptVectors * lanesOf(plan.level, plan.dtype);
  const shares = plan.splits > 1 ? plan.splits : Math.ceil(columnBlocks(plan) / plan.blocks);
  return cpuKernel(plan, running, {
    ...rest,
    role: 'compute',
    helpers,
    functions: lines('typedef int64_t Step;', functionsText(plan)),
    scratch: 'UNUSED void* scratch',
    scratchBytes: scratchOf(plan, wordsOf(running.accumulators, plan.dtype), parts),
    text: () => tasksText(plan, shares, body),
    tasks: (scalars) => launchTasks(plan, scalars, rows) * shares * (scalars['batch'] ?? 0),
    cost: (scalars) => pairTileCost(plan, scalars),
  });
}

/** The copied rows, and the running results of a task: in parts and in all where there are columns. */
function scratchOf(plan: CpuPairTilePlan, words: number, parts: number): number {
  const states = plan.formula.columns === 1 ? words : plan.blocks * (words + parts);
  return (packedInputs(plan).count + states) * plan.keptVectors * vectorUnit(plan.level).bytes;
}

/** Functions of the numbers `places` of a task's kept rows, and of rows by index. */
function functionsText(plan: CpuPairTilePlan): string {
  const inputs = plan.packed ? [] : rowInputs(plan.inputs, sidesOf(plan).kept);
  const perLane = (value: string): string =>
    `V r = splat(0); for (int lane = 0; lane < LANES; lane++) r[lane] = ${value}; return r;`;
  return lines(
    ...inputs.map(
      (input) =>
        `INLINE V gathered${inputName(input.position)}(const ${elementType(input, 'T')}* x, int64_t stride, const int64_t* places, int64_t vector) { ${perLane(loaded(input, 'x[places[vector * LANES + lane] * stride]'))} }`,
    ),
    `INLINE V rowNumbers(const int64_t* places, int64_t vector) { ${perLane('(T)places[vector * LANES + lane]')} }`,
    plan.formula.gathers && tablesText(plan),
  );
}

/** Reading rows by index, whose numbers are values of the data type, -1 where the table has no such row. */
function tablesText({ inputs, dtype }: CpuPairTilePlan): string {
  const none = cpuLiteral(NaN, dtype);
  const tables = inputs.filter(({ table }) => table !== undefined);
  const parameters = (input: (typeof tables)[number]): string =>
    `(const ${elementType(input, 'T')}* x, int64_t stride, V rows)`;
  const element = (input: (typeof tables)[number], lane: string): string =>
    `rows[${lane}] < 0 ? ${none} : ${loaded(input, `x[(int64_t)rows[${lane}] * stride]`)}`;
  return lines(
    'INLINE V row_of_table(V index, int64_t rows) {',
    '  V r = splat(-1);',
    '  for (int lane = 0; lane < LANES; lane++) {',
    '    const double place = (double)index[lane] + 0.5;',
    '    if (place >= 0.0 && place < (double)rows) r[lane] = (T)(int64_t)place;',
    '  }',
    '  return r;',
    '}',
    ...tables.flatMap((input) => [
      `INLINE V ${takenName(input.position)}${parameters(input)} { V r = splat(0); for (int lane = 0; lane < LANES; lane++) r[lane] = ${element(input, 'lane')}; return r; }`,
      `INLINE V ${takenOnceName(input.position)}${parameters(input)} { return splat(${element(input, '0')}); }`,
    ]),
  );
}

/** Tasks `begin` to `end`: the rows of each, and `body`. */
function tasksText(plan: CpuPairTilePlan, parts: number, body: string): string {
  const { ranges } = plan;
  return lines(
    cpuRowCounts(plan),
    !ranges && 'const int64_t rowBlocks = (kept + ROWS - 1) / ROWS;',
    'UNUSED V* const own = (V*)scratch;',
    'for (int64_t task = begin; task < end; task++) {',
    `  UNUSED const int64_t part = task % ${parts};`,
    indent(
      ranges
        ? lines(
            `const int64_t layer = task / ${parts} / g.taskCount;`,
            `const int64_t* const here = g.tasks + task / ${parts} % g.taskCount * 4;`,
            'const int64_t first = here[0], limit = first + here[1];',
          )
        : lines(
            `const int64_t layer = task / ${parts} / rowBlocks, first = task / ${parts} % rowBlocks * ROWS;`,
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
function inputsText(plan: CpuPairTilePlan): string {
  const { offsets } = packedInputs(plan);
  const copies = plan.inputs.flatMap((input) => {
    const { position: p, dim } = input;
    const offset = offsets.get(p);
    if (offset === undefined) return [];
    const to = `((T*)own)[(${offset} + c) * ROWS + row]`;
    const from = loaded(input, `${inputName(p)}[places[row] * g.${strideName(p)} + c]`);
    return [`  for (int64_t c = 0; c < ${dim}; c++) ${to} = ${from};`];
  });
  return lines(
    ...plan.inputs.map(
      (input) =>
        `UNUSED const ${elementType(input, 'T')}* const ${inputName(input.position)} = g.${inputName(input.position)} + layer * g.${batchStrideName(input.position)};`,
    ),
    copies.length > 0 && lines('for (int64_t row = 0; row < ROWS; row++) {', ...copies, '}'),
  );
}
