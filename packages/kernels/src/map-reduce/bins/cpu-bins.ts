import type { Steps } from '@mercer/formula/plan';
import type { CpuHelper } from '../../emit/cpu-math.js';
import { lanesOf } from '../../emit/cpu-vector.js';
import { indent, lines } from '../../emit/text.js';
import { dtypeBytes } from '../../dtype.js';
import { programOf, type KernelProgram } from '../../emitted-kernel.js';
import { mapReduceProgramSteps } from '../../interpret/map-reduce-program.js';
import { limitOf } from '../cpu/first-step.js';
import { computingKernel } from '../cpu/kernel.js';
import { cpuReducerDialect, cpuKernel } from '../cpu/text.js';
import { mapReduceCost, mergeCost, resultRows, rowNames } from '../params.js';
import type { CpuMapReducePlan } from '../plan-types.js';
import { type Accumulator, wordsOf } from '../reducers/reducer.js';
import type { RunningResult } from '../reducers/running-result.js';
import { BIN, binsOf, inMemory, partOf, runningBins, type RunningBins } from './running-bins.js';

/**
 * The host kernels of sums whose components rest in memory. A lane adds to its own row's, in the order of the reduced rows, so that the
 * result does not depend on threads. They rest in the task's scratch; where the reduced rows are split, in the workspace, and a second
 * kernel merges the parts in order.
 */
export function* emitCpuBins(plan: CpuMapReducePlan): Steps<KernelProgram> {
  const helpers = new Set<CpuHelper>();
  const bins = runningBins(plan, cpuReducerDialect(plan, helpers));
  const { accumulators } = bins.reducer;
  const running = runningOf(plan, bins);
  const rowBytes = binsOf(plan) * wordsOf(accumulators, plan.dtype) * dtypeBytes(plan.dtype);
  const rows = plan.keptVectors * lanesOf(plan.level, plan.dtype);
  const compute = computingKernel(plan, running, helpers, {
    scratchBytes: plan.splits === 1 ? rows * rowBytes : 0,
    cost: (scalars) => mapReduceCost(plan, scalars),
  });
  yield;
  if (plan.splits === 1) {
    return programOf({ ...compute, program: yield* mapReduceProgramSteps(plan) });
  }
  const merge = cpuKernel(plan, running, {
    role: 'merge',
    helpers,
    text: () => mergeText(plan),
    tasks: (scalars) => resultRows(plan, scalars),
    cost: (scalars) => mergeCost(plan, running, resultRows(plan, scalars) * binsOf(plan)),
  });
  return {
    ...programOf(compute, merge),
    workspaceBytes: (scalars) => resultRows(plan, scalars) * plan.splits * rowBytes,
  };
}

/** Statements for each `lane` of a vector, whose kept row is `mine`, before `limit`. */
const everyLane = (plan: CpuMapReducePlan, ...body: readonly string[]): string =>
  lines(
    'for (int64_t lane = 0; lane < LANES; lane++) {',
    '  const int64_t mine = first + vector * LANES + lane;',
    `  if (mine >= ${limitOf(plan)}) break;`,
    indent(lines(...body)),
    '}',
  );

function runningOf(plan: CpuMapReducePlan, { reducer, text }: RunningBins): RunningResult {
  const { accumulators, value } = reducer;
  const count = String(binsOf(plan));
  const own =
    plan.splits === 1
      ? `(Kept*)scratch + (vector * LANES + lane) * ${count}`
      : `(Kept*)g.workspace + ((layer * ${plan.splits} + ${partOf(plan)}) * kept + mine) * ${count}`;
  const each = (one: (name: string) => string): string[] =>
    accumulators.map(({ name }) => one(name));
  const definitions = lines(
    text,
    `struct Kept { ${accumulators.map(({ name, type }) => `${SCALARS[type]} ${name};`).join(' ')} };`,
    '// Results of a row from its parts, which lie so far apart.',
    `INLINE void finish(T* out, const Kept* from, int64_t apart) {`,
    `  for (int64_t b = 0; b < ${count}; b += LANES) {`,
    `    const int64_t width = ${count} - b < LANES ? ${count} - b : LANES;`,
    `    ${BIN}::State s = ${BIN}::empty();`,
    `    for (int64_t part = 0; part < ${plan.splits}; part++) {`,
    `      ${BIN}::State t = ${BIN}::empty();`,
    '      for (int64_t lane = 0; lane < width; lane++) {',
    '        const Kept& one = from[part * apart + b + lane];',
    ...each((name) => `        t.${name}[lane] = one.${name};`),
    '      }',
    `      ${BIN}::merge(s, t);`,
    '    }',
    `    const V value = ${value[0] ?? ''};`,
    '    for (int64_t lane = 0; lane < width; lane++) out[b + lane] = value[lane];',
    '  }',
    '}',
  );
  const add = (place: string, weight: string): string =>
    lines(
      '{',
      `  const V place = ${place}, weight = ${weight};`,
      `  ${BIN}::State s = ${BIN}::empty();`,
      '  Kept* of[LANES] = {};',
      indent(
        everyLane(
          plan,
          `if (!(place[lane] >= 0 && place[lane] < ${count})) continue;`,
          `of[lane] = ${own} + (int64_t)place[lane];`,
          ...each((name) => `s.${name}[lane] = of[lane]->${name};`),
        ),
      ),
      `  ${BIN}::add(s, weight, number(0));`,
      '  for (int64_t lane = 0; lane < LANES; lane++) {',
      '    if (of[lane] == nullptr) continue;',
      ...each((name) => `    of[lane]->${name} = s.${name}[lane];`),
      '  }',
      '}',
    );
  return inMemory(definitions, accumulators, add, {
    // all that is empty is 0
    begin: everyLane(plan, `__builtin_memset(${own}, 0, ${count} * sizeof(Kept));`),
    end:
      plan.splits > 1
        ? undefined
        : everyLane(plan, `finish(g.out + (layer * kept + mine) * ${count}, ${own}, 0);`),
  });
}

const SCALARS: { readonly [T in Accumulator['type']]: string } = { V: 'T', I: 'L', W: 'double' };

/** The body of the function that merges the parts of each kept row. */
function mergeText(plan: CpuMapReducePlan): string {
  const count = String(binsOf(plan));
  return lines(
    `const int64_t kept = g.${rowNames(plan.axis).kept};`,
    'for (int64_t task = begin; task < end; task++) {',
    '  const int64_t layer = task / kept, row = task % kept;',
    `  const Kept* const from = (const Kept*)g.workspace + (layer * ${plan.splits} * kept + row) * ${count};`,
    `  finish(g.out + task * ${count}, from, kept * ${count});`,
    '}',
  );
}
