import { dtypeBytes } from '../dtype.js';
import { emitCudaExpression } from '../emit/cuda-expression.js';
import { cudaKernel } from '../emit/cuda-kernel.js';
import { cudaType } from '../emit/literals.js';
import { cudaHelpers } from '../emit/cuda-math.js';
import { indent, lines, upTo } from '../emit/text.js';
import { SHORT_INTEGERS, type ListSpelling } from '../emit/parameter-text.js';
import {
  type CudaKernel,
  type KernelCost,
  type Scalars,
  withWorkspace,
  type KernelProgram,
  scalar,
} from '../emitted-kernel.js';
import { conversionsText, prelude } from '../elementwise/conversion-text.js';
import { elementInfo } from '../elementwise/element-type.js';
import { loadName, mapFormula } from '../elementwise/map-formula.js';
import { mapVariables, shownFormula } from '../elementwise/map-params.js';
import { QUOTIENT } from '../elementwise/strided-text.js';
import { float64, int64, pointer, type KernelParam } from '../kernel-param.js';
import { ACCUMULATORS } from './accumulators.js';
import { isSpread, REDUCE_THREADS, type ReducePlan } from './plan-reduce.js';

const MERGE_THREADS = REDUCE_THREADS.shared;
const MAX_GRID_X = 2 ** 31 - 1;

/**
 * A reduction over axes in CUDA C++: one kernel, and a second one that merges parts. The order in which values are added depends on
 * the sizes and the device alone. Pointers: the plan's inputs as `x0`, ..., the output `out`.
 */
export function emitReduce(plan: ReducePlan): KernelProgram {
  const { bytes } = ACCUMULATORS[plan.kind](plan.dtype);
  const first = reduceKernel(plan);
  return {
    steps: plan.parts ? [{ kernel: first }, { kernel: mergeKernel(plan) }] : [{ kernel: first }],
    workspaceBytes: (scalars) =>
      plan.parts ? bytes * scalar(scalars, 'parts') * scalar(scalars, 'outputs') : 0,
  };
}

const sizes = ['outputs', 'count', 'parts', 'perPart'];
const divisor = float64('divisor');

function reduceParams(plan: ReducePlan): readonly KernelParam[] {
  const names = mapVariables(plan);
  const axes = (prefix: string, rank: number): KernelParam[] =>
    [`${prefix}n`, ...upTo(laidOut(plan)).map((k) => `${prefix}s${k}_`)].flatMap((name) =>
      upTo(rank).map((at) => int64(`${name}${at}`)),
    );
  const params: readonly KernelParam[] = [
    ...plan.inputs.map(({ dtype }, k) => pointer(names.inputs[k] ?? '', dtype, 'read')),
    ...(plan.parts ? [] : [output(plan)]),
    ...sizes.map(int64),
    divisor,
    ...axes('k', plan.keptRank),
    ...axes('r', plan.reducedRank),
    ...names.parameters.map(float64),
  ];
  return plan.parts ? withWorkspace(params, 'write') : params;
}

/** How many tensors have strides of their own: the inputs, and a result of each element behind them. */
const laidOut = ({ inputs, kind }: ReducePlan): number => inputs.length + (isSpread(kind) ? 1 : 0);

const output = ({ out }: ReducePlan): KernelParam => pointer('out', out, 'write');

/** The types, conversions and accumulator of both kernels. */
function beginning(plan: ReducePlan, writes: boolean): string {
  const accumulator = ACCUMULATORS[plan.kind](plan.dtype);
  const loads = new Map(plan.inputs.map((input) => [loadName(input), input.dtype]));
  return lines(
    prelude('cuda').trimEnd(),
    `typedef ${cudaType(plan.dtype)} T;`,
    conversionsText(
      [
        ...[...loads].map(([name, from]) => ({ name, from, to: plan.dtype })),
        ...(writes ? [{ name: 'store', from: accumulator.result, to: plan.out }] : []),
      ],
      'cuda',
    ).trimEnd(),
    accumulator.text.trimEnd(),
  );
}

function spelling({ inputs, out }: ReducePlan): ListSpelling {
  const read = inputs.map(({ dtype }, k) => [`x${k}`, elementInfo(dtype).storage] as const);
  const elements = {
    ...Object.fromEntries(read),
    out: elementInfo(out).storage,
    workspace: 'Accumulator',
  };
  return { integers: SHORT_INTEGERS, elements, restricts: () => false };
}

function reduceKernel(plan: ReducePlan): CudaKernel {
  const { results, threads, parts, inputs } = plan;
  const names = mapVariables(plan);
  const formula = emitCudaExpression(mapFormula(plan.expr, plan), {
    dtype: plan.dtype,
    bindings: Object.fromEntries(
      [...names.inputs, ...names.parameters].map((name) => [name, name]),
    ),
    uniform: names.parameters,
  });
  const accumulator = ACCUMULATORS[plan.kind](plan.dtype);
  const shared = threads / results;
  // The threads of one result stand beside each other where it alone has the block, else the results do.
  const [mine, member] =
    results === 1 ? ['0', 'threadIdx.x'] : [`threadIdx.x % ${results}`, `threadIdx.x / ${results}`];
  const laid = laidOut(plan);
  const offsets = (prefix: string): string =>
    upTo(laid)
      .map((k) => `${prefix}${k} = 0`)
      .join(', ');
  const values = inputs
    .map((input, k) => `${loadName(input)}(x${k}[kept${k} + reduced${k}])`)
    .join(', ');
  const writes = parts
    ? 'workspace[part * outputs + result] = own;'
    : 'out[result] = store(own.result(divisor));';
  const elements = (statement: string): string =>
    lines(
      // several of 16 bytes beside each other would not stay in registers
      `#pragma unroll ${accumulator.bytes > 8 ? 1 : 4}`,
      `      for (i64 at = begin + member; at < end; at += ${shared}) {`,
      laid > 0 && `        i64 ${offsets('reduced')};`,
      unravelAxes('at', 'r', 'reduced', plan.reducedRank, laid, 8),
      `        ${statement}`,
      '      }',
    );
  const before = lines(
    beginning(plan, !parts),
    cudaHelpers(formula.helpers, plan.dtype),
    plan.keptRank + plan.reducedRank > 2 && QUOTIENT.trimEnd(),
  );
  const body = lines(
    shared > 1 && `  __shared__ Accumulator shared[${threads}];`,
    indent(lines(...formula.uniformStatements)),
    `  const auto value = [&](${names.inputs.map((name) => `T ${name}`).join(', ')}) {`,
    indent(lines(...formula.statements, `return (T)(${formula.result});`), 4),
    '  };',
    `  const int mine = ${mine}, member = ${member};`,
    `  const i64 groups = (outputs + ${results - 1}) / ${results};`,
    '  for (i64 task = blockIdx.x; task < groups * parts; task += gridDim.x) {',
    `    const i64 part = task / groups, result = (task - part * groups) * ${results} + mine;`,
    '    const i64 begin = part * perPart, end = begin + perPart < count ? begin + perPart : count;',
    '    Accumulator own = Accumulator::none();',
    isSpread(plan.kind) && `    i64 ${offsets('kept')};`,
    '    if (result < outputs) {',
    laid > 0 && !isSpread(plan.kind) && `      i64 ${offsets('kept')};`,
    unravelAxes('result', 'k', 'kept', plan.keptRank, laid, 6),
    elements(`own.add(value(${values}), at);`),
    '    }',
    ...(shared > 1 ? blockReduction(threads, results) : []),
    ...(isSpread(plan.kind)
      ? [
          shared > 1 && '    __syncthreads();',
          `    const Accumulator all = ${shared > 1 ? 'shared[mine]' : 'own'}.finished();`,
          '    if (result < outputs) {',
          elements(
            `out[kept${inputs.length} + reduced${inputs.length}] = store(all.of(value(${values})));`,
          ),
          '    }',
        ]
      : [`    if (member == 0 && result < outputs) ${writes}`]),
    shared > 1 && '    __syncthreads();',
    '  }',
  );
  return cudaKernel({
    name: `${plan.kind} over axes, ${results} a block: ${shownFormula(plan.expr)}`,
    entry: 'mercer_reduce',
    params: reduceParams(plan),
    list: spelling(plan),
    before: `${before}\n`,
    threads,
    body,
    grid: (scalars) =>
      gridOf(Math.ceil(scalar(scalars, 'outputs') / results) * scalar(scalars, 'parts')),
    cost: (scalars) => {
      const terms = scalar(scalars, 'outputs') * scalar(scalars, 'count');
      return {
        ...cost(plan, scalars),
        issueSlots: terms * (formula.issueSlots + 1),
        specialOps: terms * formula.special,
      };
    },
  });
}

const gridOf = (blocks: number): number => Math.max(1, Math.min(blocks, MAX_GRID_X));

/** A tree over the members of each result, in shared memory. */
function blockReduction(threads: number, results: number): readonly string[] {
  return [
    '    shared[threadIdx.x] = own;',
    '#pragma unroll 1',
    `    for (int half = ${threads / results / 2}; half > 0; half /= 2) {`,
    '      __syncthreads();',
    `      if (member < half) shared[threadIdx.x].merge(shared[threadIdx.x + half * ${results}]);`,
    '    }',
    '    own = shared[threadIdx.x];',
  ];
}

/** Statements that add an index's coordinates times their strides to the offsets of all inputs. */
function unravelAxes(
  index: string,
  prefix: string,
  offset: string,
  rank: number,
  inputs: number,
  spaces: number,
): string | false {
  if (inputs === 0) return false;
  const adds = (coordinate: string, at: number): string =>
    upTo(inputs)
      .map((k) => `${offset}${k} += ${coordinate} * ${prefix}s${k}_${at};`)
      .join(' ');
  if (rank === 1) return indent(adds(index, 0), spaces);
  const steps = upTo(rank)
    .toReversed()
    .map((at) => {
      if (at === 0) return `  ${adds('rest', 0)}`;
      const n = `${prefix}n${at}`;
      return `  { const i64 q = quotient(rest, ${n}), i = rest - q * ${n}; rest = q; ${adds('i', at)} }`;
    });
  return indent(lines('{', `  i64 rest = ${index};`, ...steps, '}'), spaces);
}

function mergeKernel(plan: ReducePlan): CudaKernel {
  const body = lines(
    `  __shared__ Accumulator shared[${MERGE_THREADS}];`,
    '  const int member = threadIdx.x;',
    '  for (i64 result = blockIdx.x; result < outputs; result += gridDim.x) {',
    '    Accumulator own = Accumulator::none();',
    `    for (i64 part = member; part < parts; part += ${MERGE_THREADS}) own.merge(workspace[part * outputs + result]);`,
    ...blockReduction(MERGE_THREADS, 1),
    '    if (member == 0) out[result] = store(own.result(divisor));',
    '    __syncthreads();',
    '  }',
  );
  return cudaKernel({
    name: `${plan.kind} over axes, merge`,
    entry: 'mercer_reduce_merge',
    params: withWorkspace([output(plan), ...sizes.map(int64), divisor], 'read'),
    list: spelling(plan),
    before: `${beginning({ ...plan, inputs: [] }, true)}\n`,
    threads: MERGE_THREADS,
    body,
    grid: (scalars) => gridOf(scalar(scalars, 'outputs')),
  });
}

function cost(plan: ReducePlan, scalars: Scalars): KernelCost {
  const read = plan.inputs.map(({ dtype }, k) => {
    const along = (prefix: string, rank: number): number =>
      upTo(rank).reduce(
        (size, at) =>
          scalar(scalars, `${prefix}s${k}_${at}`) === 0
            ? size
            : size * scalar(scalars, `${prefix}n${at}`),
        1,
      );
    return dtypeBytes(dtype) * along('k', plan.keptRank) * along('r', plan.reducedRank);
  });
  const outputs = scalar(scalars, 'outputs');
  const results = isSpread(plan.kind) ? outputs * scalar(scalars, 'count') : outputs;
  return {
    bytes: read.reduce((a, b) => a + b, results * dtypeBytes(plan.out)),
    flops: outputs * scalar(scalars, 'count'),
  };
}
