import { own } from '@mercer/options';
import { cpuLiteral } from '../../emit/literals.js';
import { cpuHelpers, type CpuHelper } from '../../emit/cpu-math.js';
import { anyLane, fusesProducts, vectorPrelude, vectorUnit } from '../../emit/cpu-vector.js';
import { cpp, lines } from '../../emit/text.js';
import { argumentsStruct, STANDARD_INTEGERS } from '../../emit/parameter-text.js';
import { withWorkspace, type CpuKernel, type Scalars } from '../../emitted-kernel.js';
import type { KernelParam } from '../../kernel-param.js';
import { halfLoads, elementType, loaded } from '../half-storage.js';
import type { LaunchedPlan } from '../launched-plan.js';
import {
  columnStrides,
  rowNames,
  strideName,
  tableRows,
  TASK_COUNT,
  inputName,
  mapReduceParams,
} from '../params.js';
import type { CpuMapReducePlan } from '../plan-types.js';
import { type ReducerDialect, wordsOf } from '../reducers/reducer.js';
import type { RunningOutput, RunningResult } from '../reducers/running-result.js';
import { rowInputs } from '../plan-inputs.js';

/** What both texts of a CPU's plan share. */
export type CpuLaunchedPlan = LaunchedPlan &
  Pick<CpuMapReducePlan, 'level' | 'keptVectors' | 'tile' | 'splits'> & {
    readonly interpreted?: true | undefined;
  };

/** How host C++ writes vectors `V`; what it calls goes into `helpers`. */
export function cpuReducerDialect(
  { dtype }: Pick<LaunchedPlan, 'dtype'>,
  helpers: Set<CpuHelper>,
): ReducerDialect {
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
    larger: undefined,
    scalar: undefined,
    vector: undefined,
  };
}

/** The same where rows of a single reduction are added several at a time. */
export function cpuRowsDialect(
  plan: Pick<CpuLaunchedPlan, 'dtype' | 'level'>,
  helpers: Set<CpuHelper>,
): ReducerDialect {
  const call = (helper: CpuHelper, name: string, args: readonly string[]): string => {
    helpers.add(helper);
    return `${name}(${args.join(', ')})`;
  };
  const base2 = {
    fma: (x: string, y: string, z: string) => `(${x} * ${y} + ${z})`,
    exp2: (x: string) => call('exp2', 'exp2_v', [x]),
    round: (x: string) => call('round', 'round_v', [x]),
    either: (condition: string, other: string) => `((I)(${condition}) | (I)(${other}))`,
    always: (condition: string) => `!any(~(I)(${condition}))`,
  };
  return {
    ...cpuReducerDialect(plan, helpers),
    vector: {
      smaller: (x, y) => call('clamp', 'no_more_than', [x, y]),
      larger: (x, y) => call('clamp', 'at_least', [x, y]),
      ...(fusesProducts(plan.level) && { base2 }),
    },
  };
}

/** What both steps begin with: vectors, the running result, the arguments. */
export function cpuPrelude(
  plan: CpuLaunchedPlan,
  running: RunningResult,
  {
    helpers,
    params,
  }: { readonly helpers: ReadonlySet<CpuHelper>; readonly params: readonly KernelParam[] },
): string {
  const { dtype, level } = plan;
  return `${vectorPrelude(level, dtype)}
typedef ${dtype === 'float32' ? 'int' : 'long long'} L;
INLINE I number(L x) { return (I){} + x; }
INLINE V real(I x) {
  V r = splat(0);
  for (int lane = 0; lane < LANES; lane++) r[lane] = (T)x[lane];
  return r;
}
${anyLane(level, dtype)}
${plan.sums?.inFloat64 ? `${float64Text(plan)}\n` : ''}${cpuHelpers(helpers, dtype, level)}
${halfLoads(plan.inputs, 'cpu')}${withEnd(pairsFunctions(plan))}${running.text}
${argumentsText(plan, params)}
constexpr int64_t VECTORS = ${plan.keptVectors}, ROWS = VECTORS * LANES, TILE = ${plan.tile};
`;
}

const withEnd = (text: string): string => (text === '' ? '' : `${text}\n`);

/** Vectors of float64 for every lane, in as many registers as they take; nothing of them is passed in any. `?:` would be lane by lane. */
function float64Text({ level }: Pick<CpuLaunchedPlan, 'level'>): string {
  const { bytes } = vectorUnit(level);
  const attributes = `__attribute__((vector_size(${2 * bytes}), aligned(${bytes}), may_alias))`;
  return `#pragma GCC diagnostic ignored "-Wpsabi"
typedef double W ${attributes};
typedef long long M ${attributes};
INLINE W wide(V x) { return __builtin_convertvector(x, W); }
INLINE V narrow(W x) { return __builtin_convertvector(x, V); }
INLINE W choose(I which, W a, W b) {
  const M mask = __builtin_convertvector(which, M);
  return (W)(((M)a & mask) | ((M)b & ~mask));
}`;
}

/** The arguments; sizes of one input stand together. */
function argumentsText(plan: CpuLaunchedPlan, params: readonly KernelParam[]): string {
  const first = [TASK_COUNT, ...plan.inputs.map(({ position }) => strideName(position))];
  const begins = new Set([...first, ...tableRows(plan), ...columnStrides(plan)]);
  return argumentsStruct(params, {
    integers: STANDARD_INTEGERS,
    dtypeOfT: plan.dtype,
    elements: { workspace: 'char' },
    apart: ({ kind, name }) => kind === 'pointer' || begins.has(name),
  });
}

/** Bytes of a `State`: vectors side by side. */
export function stateBytes(
  { level, dtype }: Pick<CpuLaunchedPlan, 'level' | 'dtype'>,
  { accumulators }: RunningResult,
): number {
  return wordsOf(accumulators, dtype) * vectorUnit(level).bytes;
}

/** Puts the running results of a task into the workspace, by batch entry, part and vector of rows; `each` says what is done for each `vector`. */
export const storeParts = (
  splits: number,
  vector: string,
  each: (body: string) => string,
  guard?: string,
): string =>
  lines(
    'const int64_t vectors = (kept + LANES - 1) / LANES;',
    each(
      lines(
        guard,
        `const int64_t place = (layer * ${splits} + part) * vectors + first / LANES + ${vector};`,
        `__builtin_memcpy(g.workspace + place * sizeof(State), &total[${vector}], sizeof(State));`,
      ),
    ),
  );

/** Declarations of the numbers of rows. */
export function cpuRowCounts({ axis, ranges }: Pick<LaunchedPlan, 'axis' | 'ranges'>): string {
  const { kept, reduced } = rowNames(axis);
  return `const int64_t kept = g.${kept}${ranges ? '' : `, reduced = g.${reduced}`};`;
}

/**
 * Statements that write the results of `state` for the rows from `row0` on; `layer`, `count` and `kept`
 * are in scope, and rows from `limit` on are not written.
 */
export function cpuOutputText(
  { outputs }: RunningResult,
  state: string,
  row0: string,
  limit: string,
): string {
  const texts = outputs.map((output) => oneOutput(output, state, row0, limit));
  return texts.length === 1 ? lines(...texts) : lines(...texts.map((text) => `{\n${text}\n}`));
}

function oneOutput(
  { names, bind, value, index }: RunningOutput,
  state: string,
  row0: string,
  limit: string,
): string {
  const store = (from: string, to: string, type: string, count: number): string | false =>
    count > 0 &&
    `  for (int c = 0; c < ${count}; c++) g.${to}[(layer * kept + row) * ${count} + c] = (${type})${from}[c][lane];`;
  return lines(
    bind(state),
    value.length > 0 && `const V value[] = {${value.join(', ')}};`,
    index.length > 0 && `const I found[] = {${index.join(', ')}};`,
    'for (int64_t lane = 0; lane < LANES; lane++) {',
    `  const int64_t row = ${row0} + lane;`,
    `  if (row >= ${limit}) break;`,
    store('value', names.value, 'T', value.length),
    store('found', names.index, 'int32_t', index.length),
    '}',
  );
}

/** What a host kernel of a plan is made from; texts are C++. */
export interface CpuKernelParts extends Pick<CpuKernel, 'cost'> {
  /** It computes the formula, or merges what its parts have left. */
  readonly role: 'compute' | 'merge';
  /** Its parameters but for the workspace. Default: those of a map-reduce. */
  readonly params?: CpuKernel['params'];
  /** What its text and that of the running result call, once it is written. */
  readonly helpers: ReadonlySet<CpuHelper>;
  /** Functions in front of it. */
  readonly functions?: string;
  /** Declares the task's scratch memory, where it is used. */
  readonly scratch?: string;
  readonly scratchBytes?: number;
  readonly text: () => string;
  readonly tasks: (scalars: Scalars) => number;
}

const OPTIONAL = ['params', 'functions', 'scratch', 'scratchBytes', 'cost'] as const;

/** A host kernel of a plan; without text where the plan is interpreted. */
export function cpuKernel(
  plan: CpuLaunchedPlan,
  running: RunningResult,
  parts: CpuKernelParts,
): CpuKernel {
  const { role, helpers, text, tasks } = parts;
  const given = own(parts, ...OPTIONAL);
  const { params = mapReduceParams(plan), scratch = 'void*', scratchBytes = 0, cost } = given;
  const access = role === 'merge' ? 'read' : 'write';
  const all = plan.splits > 1 ? withWorkspace(params, access) : params;
  const entry = role === 'merge' ? 'mercer_map_reduce_merge' : 'mercer_map_reduce';
  const source = (body: string): string =>
    cpp`
      ${cpuPrelude(plan, running, { helpers, params: all })}
      ${given.functions}
      extern "C" void ${entry}(const void* args, int64_t begin, int64_t end, ${scratch}) {
        const Args& g = *(const Args*)args;
        ${body}
      }
    `.concat('\n');
  return {
    dialect: 'cpu',
    name: role === 'merge' ? `${plan.summary}, merge` : plan.summary,
    entry,
    source: plan.interpreted === true ? '' : source(text()),
    params: all,
    options: [],
    geometry: (scalars) => ({ tasks: tasks(scalars), chunk: 1, scratchBytes }),
    ...(cost && { cost }),
  };
}

/** The function that reads values of pairs of an input. */
export const pairsName = (position: number): string => `pairs_${inputName(position)}`;

/** Of every input with values of pairs a function that reads those of a vector of kept rows with one reduced row. */
function pairsFunctions({ inputs }: Pick<LaunchedPlan, 'inputs'>): string {
  return lines(
    ...rowInputs(inputs, 'pair').map((input) =>
      lines(
        `INLINE V ${pairsName(input.position)}(const ${elementType(input, 'T')}* x, int64_t stride, const int64_t* places) {`,
        '  V r = splat(0);',
        `  for (int lane = 0; lane < LANES; lane++) r[lane] = ${loaded(input, 'x[places[lane] * stride]')};`,
        '  return r;',
        '}',
      ),
    ),
  );
}
