import { cpuHelpers, type CpuHelper } from '../../emit/cpu-math.js';
import { lanesOf, vectorPrelude, vectorUnit } from '../../emit/cpu-vector.js';
import { indent, lines } from '../../emit/indent.js';
import type { CpuKernel } from '../../emitted-kernel.js';
import type { PairwiseProgram } from '../../pairwise/program.js';
import { batchStrideName, inputName, mapReduceParams, rowsOf, strideName } from '../params.js';
import type { Reducer } from '../reducers/reducer.js';
import { stateText } from '../reducers/state-text.js';
import { blockReducer } from './column-blocks.js';
import { columnBlocks, cpuColumnsText } from './cpu-columns-text.js';
import { cpuReducerDialect, packedInputs } from './cpu-dialect.js';
import { cpuNarrowText } from './cpu-narrow-text.js';
import { wideCost } from './wide-cost.js';
import type { CpuWidePlan } from './wide-plan-types.js';

const ENTRY = 'mercer_map_reduce';

/** The host kernel of a map-reduce over long vectors: loops over components, tiles of pairs in registers. */
export function emitCpuWide(plan: CpuWidePlan): PairwiseProgram {
  const helpers = new Set<CpuHelper>();
  const reducer = blockReducer(plan, cpuReducerDialect(plan, helpers));
  const taskRows = plan.groups * lanesOf(plan.level, plan.dtype);
  const kernel: CpuKernel = {
    dialect: 'cpu',
    name: plan.summary,
    entry: ENTRY,
    source: sourceText(plan, reducer, helpers),
    params: mapReduceParams(plan, reducer),
    options: [],
    geometry: ({ batch = 0, ...rows }) => ({
      tasks: Math.ceil(rowsOf(plan, rows).kept / taskRows) * batch * partsOf(plan),
      chunk: 1,
      scratchBytes: scratchOf(plan, reducer),
    }),
    cost: (scalars) => wideCost(plan, scalars),
  };
  return { steps: [{ kernel }], workspaceBytes: () => 0 };
}

/** Tasks that share the columns of a block of rows. */
const partsOf = (plan: CpuWidePlan): number => Math.ceil(columnBlocks(plan) / plan.blocks);

function scratchOf(plan: CpuWidePlan, { slots }: Reducer): number {
  const states = (plan.formula.columns === 1 ? 1 : 2 * plan.blocks) * slots.length;
  return (packedInputs(plan).count + states) * plan.groups * vectorUnit(plan.level).bytes;
}

function sourceText(plan: CpuWidePlan, reducer: Reducer, helpers: Set<CpuHelper>): string {
  const { dtype, level, inputs, axis } = plan;
  const text = plan.formula.columns === 1 ? cpuNarrowText : cpuColumnsText;
  const body = text(plan, reducer, helpers);
  const members = [
    ...inputs.map(({ position }) => `const T* ${inputName(position)};`),
    ...(reducer.value.length > 0 ? ['T* out;'] : []),
    ...(reducer.index.length > 0 ? ['int32_t* index;'] : []),
    'int64_t rowsI, rowsJ, batch;',
    ...inputs.map(({ position: p }) => `int64_t ${strideName(p)}, ${batchStrideName(p)};`),
  ];
  const [kept, reduced] =
    axis === 1 ? (['rowsI', 'rowsJ'] as const) : (['rowsJ', 'rowsI'] as const);
  return `${vectorPrelude(level, dtype)}
typedef ${dtype === 'float32' ? 'int' : 'long long'} L;
typedef int64_t Step;
INLINE I number(L x) { return (I){} + x; }
INLINE V real(I x) {
  V r = splat(0);
  for (int lane = 0; lane < LANES; lane++) r[lane] = (T)x[lane];
  return r;
}
INLINE bool any(I x) {
  L bits = 0;
  for (int lane = 0; lane < LANES; lane++) bits |= x[lane];
  return bits != 0;
}
INLINE V gathered(const T* x, int64_t stride, const int64_t* places, int64_t group) {
  V r = splat(0);
  for (int lane = 0; lane < LANES; lane++) r[lane] = x[places[group * LANES + lane] * stride];
  return r;
}
INLINE V rowNumbers(const int64_t* places, int64_t group) {
  V r = splat(0);
  for (int lane = 0; lane < LANES; lane++) r[lane] = (T)places[group * LANES + lane];
  return r;
}
${cpuHelpers(helpers, dtype, level)}
${stateText(reducer)}
struct Args { ${members.join(' ')} };
constexpr int64_t GROUPS = ${String(plan.groups)}, ROWS = GROUPS * LANES, PARTS = ${String(partsOf(plan))};

extern "C" void ${ENTRY}(const void* args, int64_t begin, int64_t end, void* scratch) {
  const Args& g = *(const Args*)args;
  const int64_t kept = g.${kept}, reduced = g.${reduced};
  const int64_t rowBlocks = (kept + ROWS - 1) / ROWS;
  UNUSED V* const own = (V*)scratch;
  for (int64_t task = begin; task < end; task++) {
    UNUSED const int64_t part = task % PARTS;
    const int64_t layer = task / PARTS / rowBlocks, first = task / PARTS % rowBlocks * ROWS;
    // rows past the end compute what the last row does, and nothing of it is written
    UNUSED int64_t places[ROWS];
    for (int64_t row = 0; row < ROWS; row++) places[row] = first + row < kept ? first + row : kept - 1;
${indent(lines(inputsText(plan), 'UNUSED const V count = splat((T)reduced);', body), 4)}
  }
}
`;
}

/** The inputs of a batch entry, and the copy of the kept rows with lanes side by side. */
function inputsText(plan: CpuWidePlan): string {
  const { offsets } = packedInputs(plan);
  const copies = plan.inputs.flatMap(({ position: p, dim }) => {
    const offset = offsets.get(p);
    if (offset === undefined) return [];
    const to = `((T*)own)[(${String(offset)} + c) * ROWS + row]`;
    const from = `${inputName(p)}[places[row] * g.${strideName(p)} + c]`;
    return [`  for (int64_t c = 0; c < ${String(dim)}; c++) ${to} = ${from};`];
  });
  return lines(
    ...plan.inputs.map(
      ({ position: p }) =>
        `UNUSED const T* const ${inputName(p)} = g.${inputName(p)} + layer * g.${batchStrideName(p)};`,
    ),
    copies.length > 0 && lines('for (int64_t row = 0; row < ROWS; row++) {', ...copies, '}'),
  );
}
