import { finish } from '@mercer/formula/plan';
import type { CpuHelper } from '../../emit/cpu-math.js';
import { cpuLiteral, cudaLiteral } from '../../emit/literals.js';
import type { CudaHelper } from '../../emit/cuda-math.js';
import { indent, lines } from '../../emit/text.js';
import {
  type CpuKernel,
  type CudaKernel,
  programOf,
  type KernelProgram,
} from '../../emitted-kernel.js';
import { mapReduceProgram, selectionProgram } from '../../interpret/map-reduce-program.js';
import { computingKernel as cpuKernel } from '../cpu/kernel.js';
import { rowOfThread } from '../cuda/block.js';
import { computingKernel as cudaKernel } from '../cuda/kernel.js';
import { emitMapReduce } from '../emit.js';
import type { CpuMapReducePlan, CudaMapReducePlan } from '../plan-types.js';
import { tileKernel as cpuTileKernel } from '../loops/cpu/kernel.js';
import { cpuOneColumnText } from '../loops/cpu/one-column-text.js';
import type { TileNeeds } from '../loops/cuda/dialect.js';
import { tileKernel as cudaTileKernel } from '../loops/cuda/kernel.js';
import { cudaSelectionText } from '../loops/cuda/one-column-text.js';
import type { CpuPairTilePlan, CudaPairTilePlan } from '../loops/plan-types.js';
import type { SelectionPlan } from './plan-selection.js';
import { pointer, type KernelParam } from '../../kernel-param.js';
import { paramsAround } from '../params.js';
import type { RunningResult } from '../reducers/running-result.js';

const NOTHING: ReadonlySet<CudaHelper> = new Set();

/**
 * The kernel of a selection. Beside the parameters of a map-reduce (`mapReduceParams`) without results it takes `offsets`,
 * one int64 for every kept row of every batch entry and one more: where in `rows` (int32) and `values` (`valueDim` numbers a
 * pair) its pairs begin and the next row's do. A row writes its pairs in the order of the reduced rows, and none beyond its
 * room: inputs that have changed since they were counted write nowhere else.
 */
export function emitSelection(plan: SelectionPlan): KernelProgram {
  const { pass } = plan;
  const kernel = pass.kind === 'cpu' ? cpuSelection(plan, pass) : cudaSelection(plan, pass);
  return roundedAlike(programOf({ ...kernel, name: plan.summary }));
}

/**
 * The kernels that count the pairs of every kept row: those of a map-reduce of Count (`mapReduceParams`), which find exactly
 * the pairs that `emitSelection` writes. Those of `planMapReduce` may round a mask otherwise.
 */
export function emitSelectionCounts({ counts }: Pick<SelectionPlan, 'counts'>): KernelProgram {
  const { steps, ...rest } = roundedAlike(emitMapReduce(counts));
  if (counts.kind === 'cuda' || 'form' in counts) return { steps, ...rest };
  // with one step: what the interpreter runs; plans for it have no second
  const program = mapReduceProgram(counts, true);
  return {
    ...rest,
    steps: steps.map((step) =>
      step.kernel.dialect === 'cpu' ? { ...step, kernel: { ...step.kernel, program } } : step,
    ),
  };
}

/** Every operation rounded by itself: where products are fused with sums depends on what else a kernel computes. */
function roundedAlike({ steps, ...rest }: KernelProgram): KernelProgram {
  const alone = { name: 'fmad', value: false } as const;
  return {
    ...rest,
    steps: steps.map((step) => {
      const { kernel } = step;
      return { ...step, kernel: { ...kernel, options: [...kernel.options, alone] } };
    }),
  };
}

function cpuSelection(plan: SelectionPlan, pass: CpuMapReducePlan | CpuPairTilePlan): CpuKernel {
  const params = selectionParams(plan);
  const helpers = new Set<CpuHelper>();
  if ('form' in pass) {
    const running = selectedRows(cpuText(plan, 'first + v * LANES + lane', 'limit', 'q + r'));
    const body = finish(cpuOneColumnText(pass, running, helpers));
    return cpuTileKernel(pass, running, helpers, { params, body, parts: 0 });
  }
  const limit = pass.ranges === true ? 'last' : 'kept';
  const running = selectedRows(cpuText(plan, 'first + vector * LANES + lane', limit, 'row'));
  return {
    ...cpuKernel(pass, running, helpers, { params }),
    program: selectionProgram(pass, plan.valueDim),
  };
}

function cudaSelection(
  plan: SelectionPlan,
  pass: CudaMapReducePlan | CudaPairTilePlan,
): CudaKernel {
  const params = selectionParams(plan);
  const called = { needs: NOTHING, called: NOTHING };
  if ('form' in pass) {
    const running = { ...selectedRows(tiledCudaText(pass, plan.valueDim)), ...called };
    const needs: TileNeeds = { helpers: new Set(), others: new Set() };
    const body = finish(cudaSelectionText(pass, running, needs));
    return cudaTileKernel(pass, running, { params, body, needs });
  }
  return cudaKernel(
    pass,
    { ...selectedRows(cudaText(pass, plan.valueDim)), ...called },
    { params },
  );
}

/** `mine` is the number of the kept row of a lane, before `limit`, and `row` that of the reduced row. */
function cpuText(
  { pass, valueDim }: SelectionPlan,
  mine: string,
  limit: string,
  row: string,
): WriteText {
  return {
    add: (total, mask, values) =>
      lines(
        `const I wanted = ${mask} != splat(${cpuLiteral(0, pass.dtype)});`,
        'if (any(wanted)) {',
        ...values.map((value, c) => `  const V value${c} = ${value};`),
        '  for (int64_t lane = 0; lane < LANES; lane++) {',
        `    const int64_t mine = ${mine};`,
        `    if (!wanted[lane] || mine >= ${limit}) continue;`,
        '    const int64_t* const room = g.offsets + layer * kept + mine;',
        `    const int64_t at = room[0] + ${total}.seen[lane]++;`,
        '    if (at >= room[1]) continue;',
        `    g.rows[at] = (int32_t)${/^\w+$/.test(row) ? row : `(${row})`};`,
        ...values.map((_, c) => `    g.values[at * ${valueDim} + ${c}] = value${c}[lane];`),
        '  }',
        '}',
      ),
  };
}

function cudaText(pass: CudaMapReducePlan, valueDim: number): WriteText {
  const limit = pass.ranges === true ? 'last' : 'kept';
  return {
    add: (total, mask, values, row) =>
      lines(
        `const long long mine = ${rowOfThread(pass)};`,
        `if (${mask} != ${cudaLiteral(0, pass.dtype)} && mine < ${limit}) {`,
        '  const long long* const room = offsets + layer * kept + mine;',
        `  const long long at = room[0] + ${total}.seen++;`,
        indent(writeText(values, row, valueDim)),
        '}',
      ),
  };
}

function tiledCudaText({ keptPerThread, dtype }: CudaPairTilePlan, valueDim: number): WriteText {
  return {
    add: (total, mask, values, row) =>
      lines(
        `const long long mine = blockFirst + ty * ${keptPerThread} + g;`,
        `if (${mask} != ${cudaLiteral(0, dtype)} && mine < limit) {`,
        '  if (phase == 0) {',
        '    ++found[g];',
        '  } else {',
        '    const long long* const room = offsets + layer * kept + mine;',
        `    const long long at = room[0] + ${total}.seen + found[g]++;`,
        indent(writeText(values, row, valueDim), 4),
        '  }',
        '}',
      ),
  };
}

const writeText = (values: readonly string[], row: string, valueDim: number): string =>
  lines(
    'if (at < room[1]) {',
    `  rows[at] = (int)${row};`,
    ...values.map((value, c) => `  values[at * ${valueDim} + ${c}] = ${value};`),
    '}',
  );

/** How a dialect writes a pair that is wanted. */
interface WriteText {
  /** The number of pairs that a row has written so far is `state.seen`. */
  readonly add: (total: string, mask: string, values: readonly string[], row: string) => string;
}

/** The parameters of a selection, see `emitSelection`; values where there are any. */
function selectionParams({ pass, valueDim }: SelectionPlan): KernelParam[] {
  return paramsAround(pass, [
    pointer('offsets', 'int64', 'read'),
    pointer('rows', 'int32', 'write'),
    ...(valueDim > 0 ? [pointer('values', pass.dtype, 'write')] : []),
  ]);
}

/** A running result that counts the pairs of a row, and writes each where the row's offset and the count say. */
function selectedRows({ add }: WriteText): RunningResult {
  return {
    block: undefined,
    several: undefined,
    inMemory: undefined,
    text: lines(
      'struct State { I seen; };',
      'INLINE State empty() {',
      indent('State s;\ns.seen = number(0);\nreturn s;'),
      '}',
    ),
    accumulators: [{ name: 'seen', type: 'I', empty: 'number(0)' }],
    add: (total, _, [mask = '', ...rest]) => add(total, mask, rest.slice(0, -1), rest.at(-1) ?? ''),
    outputs: [],
  };
}
