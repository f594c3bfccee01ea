import type { CpuKernel } from '../emitted-kernel.js';
import { emitCpuStatements } from '../emit/cpu-expression.js';
import { cpuLiteral } from '../emit/cpu-literal.js';
import { cpuHelpers, type CpuHelper } from '../emit/cpu-math.js';
import { lanesOf, vectorPrelude } from '../emit/cpu-vector.js';
import { indent, lines } from '../emit/indent.js';
import { mapReduceProgram } from '../interpret/map-reduce-program.js';
import type { PairwiseProgram } from '../pairwise/program.js';
import { fromList } from './expression-list.js';
import {
  batchStrideName,
  inputName,
  mapReduceCost,
  mapReduceParams,
  rowsOf,
  strideName,
} from './params.js';
import type { CpuMapReducePlan } from './plan.js';
import { reducerOf } from './reducers/reducer-of.js';
import type { Reducer, ReducerDialect } from './reducers/reducer.js';
import { stateText } from './reducers/state-text.js';
import { usedComponents, type UsedComponents } from './used-components.js';

const ENTRY = 'mercer_map_reduce';

/** The host kernel of a map-reduce: vectors of kept rows, tiles of reduced rows; no workspace. */
export function emitCpuMapReduce(plan: CpuMapReducePlan): PairwiseProgram {
  const helpers = new Set<CpuHelper>();
  const reducer = reducerOf({ ...plan, kind: plan.reduction, dialect: dialectOf(plan, helpers) });
  const taskRows = plan.groups * lanesOf(plan.level, plan.dtype);
  const kernel: CpuKernel = {
    dialect: 'cpu',
    name: plan.summary,
    entry: ENTRY,
    source: sourceText(plan, reducer, helpers),
    program: mapReduceProgram(plan),
    params: mapReduceParams(plan, reducer),
    options: [],
    geometry: ({ batch = 0, ...rows }) => ({
      tasks: Math.ceil(rowsOf(plan, rows).kept / taskRows) * batch,
      chunk: 1,
      scratchBytes: 0,
    }),
    cost: (scalars) => mapReduceCost(plan, reducer, scalars),
  };
  return { steps: [{ kernel }], workspaceBytes: () => 0 };
}

function dialectOf({ dtype }: CpuMapReducePlan, helpers: Set<CpuHelper>): ReducerDialect {
  const call =
    (helper: CpuHelper, name: string) =>
    (x: string): string => {
      helpers.add(helper);
      return `${name}(${x})`;
    };
  return {
    lit: (value) => `splat(${cpuLiteral(value, dtype)})`,
    exp: call('exp', 'exp_v'),
    log: call('log', 'log_v'),
    abs: call('abs', 'abs_v'),
  };
}

function sourceText(
  plan: CpuMapReducePlan,
  reducer: Reducer,
  helpers: ReadonlySet<CpuHelper>,
): string {
  const { dtype, level, inputs } = plan;
  const values = fromList(plan.values);
  const used = usedComponents(plan, values);
  const body = emitCpuStatements(values, { dtype, name: 'formula', parameters: used.names });
  const members = [
    ...inputs.map(({ position }) => `const T* ${inputName(position)};`),
    ...(reducer.value.length > 0 ? ['T* out;'] : []),
    ...(reducer.index.length > 0 ? ['int32_t* index;'] : []),
    'int64_t rowsI, rowsJ, batch;',
    ...inputs.map(({ position: p }) => `int64_t ${strideName(p)}, ${batchStrideName(p)};`),
  ];
  return `${vectorPrelude(level, dtype)}
typedef ${dtype === 'float32' ? 'int' : 'long long'} L;
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
${cpuHelpers([...helpers, ...body.helpers], dtype, level)}
${stateText(reducer)}
struct Args { ${members.join(' ')} };
constexpr int64_t GROUPS = ${String(plan.groups)}, ROWS = GROUPS * LANES, TILE = ${String(plan.tile)};

extern "C" void ${ENTRY}(const void* args, int64_t begin, int64_t end, void*) {
  const Args& g = *(const Args*)args;
  const int64_t kept = g.${plan.axis === 1 ? 'rowsI' : 'rowsJ'}, reduced = g.${plan.axis === 1 ? 'rowsJ' : 'rowsI'};
  const int64_t blocks = (kept + ROWS - 1) / ROWS;
  for (int64_t task = begin; task < end; task++) {
    const int64_t layer = task / blocks, first = task % blocks * ROWS;
    const int64_t left = (kept - first + LANES - 1) / LANES, groups = left < GROUPS ? left : GROUPS;
${indent(taskText(plan, reducer, used, body), 4)}
  }
}
`;
}

function taskText(
  plan: CpuMapReducePlan,
  reducer: Reducer,
  used: UsedComponents,
  {
    statements,
    results,
  }: { readonly statements: readonly string[]; readonly results: readonly string[] },
): string {
  const [kept, reduced] = plan.axis === 1 ? (['i', 'j'] as const) : (['j', 'i'] as const);
  const own = used.of(kept);
  const ownRow = used.rowNumber(kept);
  const otherRow = used.rowNumber(reduced);
  const at = (
    { position, component }: { position: number; component: number },
    row: string,
  ): string => `${inputName(position)}[${row} * g.${strideName(position)} + ${String(component)}]`;
  // rows past the end compute what the last row does, and nothing of it is written
  const ownLoads = [
    ...own.map((one, q) => `own[group][${String(q)}][lane] = ${at(one, 'row')};`),
    ...(ownRow === undefined ? [] : [`own[group][${String(own.length)}][lane] = (T)row;`]),
  ];
  const ownNames = [...own.map(({ name }) => name), ...(ownRow === undefined ? [] : [ownRow])];
  const add = `add(${reducer.rounds ? 's' : 'total[group]'}, ${[...results, 'number((L)row)'].join(', ')});`;
  const store = (from: string, to: string, type: string, count: number): string =>
    count === 0
      ? ''
      : `for (int c = 0; c < ${String(count)}; c++) g.${to}[(layer * kept + row) * ${String(count)} + c] = (${type})${from}[c][lane];`;
  const numbers = reducer.index.length;
  return lines(
    ...plan.inputs.map(
      ({ position: p }) =>
        `UNUSED const T* const ${inputName(p)} = g.${inputName(p)} + layer * g.${batchStrideName(p)};`,
    ),
    ...used
      .of('parameter')
      .map(
        ({ name, position, component }) =>
          `const V ${name} = splat(${inputName(position)}[${String(component)}]);`,
      ),
    ownLoads.length > 0 &&
      lines(
        `V own[GROUPS][${String(ownLoads.length)}] = {};`,
        'for (int64_t group = 0; group < groups; group++) {',
        '  for (int64_t lane = 0; lane < LANES; lane++) {',
        '    const int64_t wanted = first + group * LANES + lane, row = wanted < kept ? wanted : kept - 1;',
        ...ownLoads.map((line) => `    ${line}`),
        '  }',
        '}',
      ),
    'State total[GROUPS];',
    'for (int64_t group = 0; group < groups; group++) total[group] = empty();',
    'for (int64_t start = 0; start < reduced; start += TILE) {',
    '  const int64_t stop = reduced - start < TILE ? reduced : start + TILE;',
    '  for (int64_t group = 0; group < groups; group++) {',
    reducer.rounds && '    State s = empty();',
    '    for (int64_t row = start; row < stop; row++) {',
    ...ownNames.map((name, q) => `      const V ${name} = own[group][${String(q)}];`),
    ...used.of(reduced).map((one) => `      const V ${one.name} = splat(${at(one, 'row')});`),
    otherRow !== undefined && `      const V ${otherRow} = splat((T)row);`,
    indent(statements.join('\n'), 4),
    `      ${add}`,
    '    }',
    reducer.rounds && '    merge(total[group], s);',
    '  }',
    '}',
    'UNUSED const V count = splat((T)reduced);',
    'for (int64_t group = 0; group < groups; group++) {',
    '  UNUSED const State& s = total[group];',
    reducer.value.length > 0 && `  const V value[] = {${reducer.value.join(', ')}};`,
    numbers > 0 && `  const I found[] = {${reducer.index.join(', ')}};`,
    '  for (int64_t lane = 0; lane < LANES; lane++) {',
    '    const int64_t row = first + group * LANES + lane;',
    '    if (row >= kept) break;',
    `    ${store('value', 'out', 'T', reducer.value.length)}`.trimEnd(),
    `    ${store('found', 'index', 'int32_t', numbers)}`.trimEnd(),
    '  }',
    '}',
  );
}
