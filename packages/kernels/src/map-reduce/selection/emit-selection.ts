import type { CpuHelper } from '../../emit/cpu-math.js';
import { cpuLiteral } from '../../emit/cpu-literal.js';
import type { CudaHelper } from '../../emit/cuda-math.js';
import { cudaLiteral } from '../../emit/cuda-literal.js';
import { lines } from '../../emit/indent.js';
import { mapReduceProgram, selectionProgram } from '../../interpret/map-reduce-program.js';
import type { KernelProgram } from '../../kernel-program.js';
import { computingKernel as cpuKernel } from '../cpu/kernel.js';
import { rowOfThread } from '../cuda/block.js';
import { computingKernel as cudaKernel } from '../cuda/kernel.js';
import { emitMapReduce } from '../emit.js';
import type { CudaMapReducePlan } from '../plan-types.js';
import { selectedRows, selectionParams, type WriteText } from './selected-rows.js';
import type { SelectionPlan } from './plan-selection.js';

const NOTHING: ReadonlySet<CudaHelper> = new Set();

/**
 * The kernel of a selection. Beside the parameters of a map-reduce (`mapReduceParams`) without results it takes `offsets`,
 * one int64 for every kept row of every batch entry and one more: where in `rows` (int32) and `values` (`valueDim` numbers a
 * pair) its pairs begin and the next row's do. A row writes its pairs in the order of the reduced rows, and none beyond its
 * room: inputs that have changed since they were counted write nowhere else.
 */
export function emitSelection(plan: SelectionPlan): KernelProgram {
  const { pass } = plan;
  const params = selectionParams(plan);
  const kernel =
    pass.kind === 'cpu'
      ? {
          ...cpuKernel(pass, selectedRows(cpuText(plan)), new Set<CpuHelper>(), { params }),
          program: selectionProgram(pass, plan.valueDim),
        }
      : cudaKernel(
          pass,
          { ...selectedRows(cudaText(pass, plan.valueDim)), needs: NOTHING, called: NOTHING },
          { params },
        );
  const program = {
    steps: [{ kernel: { ...kernel, name: plan.summary } }],
    workspaceBytes: () => 0,
  };
  return roundedAlike(program);
}

/**
 * The kernels that count the pairs of every kept row: those of a map-reduce of Count (`mapReduceParams`), which find exactly
 * the pairs that `emitSelection` writes. Those of `planMapReduce` may round a mask otherwise.
 */
export function emitSelectionCounts({ counts }: Pick<SelectionPlan, 'counts'>): KernelProgram {
  const { steps, ...rest } = roundedAlike(emitMapReduce(counts));
  if (counts.kind === 'cuda') return { steps, ...rest };
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

function cpuText({ pass, valueDim }: SelectionPlan): WriteText {
  const limit = pass.ranges === true ? 'last' : 'kept';
  return {
    add: (total, mask, values) =>
      lines(
        `const I wanted = ${mask} != splat(${cpuLiteral(0, pass.dtype)});`,
        'if (any(wanted)) {',
        ...values.map((value, c) => `  const V value${c} = ${value};`),
        '  for (int64_t lane = 0; lane < LANES; lane++) {',
        '    const int64_t mine = first + group * LANES + lane;',
        `    if (!wanted[lane] || mine >= ${limit}) continue;`,
        '    const int64_t* const room = g.offsets + layer * kept + mine;',
        `    const int64_t at = room[0] + ${total}.seen[lane]++;`,
        '    if (at >= room[1]) continue;',
        '    g.rows[at] = (int32_t)row;',
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
        '  if (at < room[1]) {',
        `    rows[at] = (int)${row};`,
        ...values.map((value, c) => `    values[at * ${valueDim} + ${c}] = ${value};`),
        '  }',
        '}',
      ),
  };
}
