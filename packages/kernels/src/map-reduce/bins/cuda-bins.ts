import { lines } from '../../emit/text.js';
import type { CudaHelper } from '../../emit/cuda-math.js';
import type { KernelProgram } from '../../emitted-kernel.js';
import { rowOfThread } from '../cuda/block.js';
import { computingKernel } from '../cuda/kernel.js';
import { MERGE_PLACE, mergeFrame, withMerge } from '../cuda/merge-kernel.js';
import { cudaReducerDialect, type CudaRunningResult } from '../cuda/text.js';
import { mapReduceCost, mapReduceParams, rowNames } from '../params.js';
import type { CudaMapReducePlan } from '../plan-types.js';
import { BIN, binsOf, inMemory, partOf, runningBins, type RunningBins } from './running-bins.js';

/**
 * The kernels of sums whose components rest in memory, on a GPU. A thread adds to its own row's and part's, in the order of the reduced
 * rows: no atomic addition, and the same bits in every run. A second kernel merges the parts in order, a thread for each component.
 */
export function emitCudaBins(plan: CudaMapReducePlan): KernelProgram {
  const called = new Set<CudaHelper>();
  const bins = runningBins(plan, cudaReducerDialect(plan, called));
  const running: CudaRunningResult = { ...runningOf(plan, bins), needs: new Set(called), called };
  const first = computingKernel(plan, running, {
    params: mapReduceParams(plan),
    cost: (scalars) => mapReduceCost(plan, scalars),
  });
  const states = binsOf(plan);
  const merge = mergeFrame(plan, running, { states, body: mergeText(plan, bins) });
  return withMerge(plan, running, first, merge, states);
}

function runningOf(plan: CudaMapReducePlan, { reducer, text }: RunningBins): CudaParts {
  const count = String(binsOf(plan));
  const limit = plan.ranges === true ? 'last' : 'kept';
  const own = lines(
    `  const long long mine = ${rowOfThread(plan)};`,
    `  ${BIN}::State* const own = (${BIN}::State*)workspace + ((layer * ${plan.splits} + ${partOf(plan)}) * kept + mine) * ${count};`,
  );
  const add = (place: string, weight: string): string =>
    lines(
      '{',
      `  const V place = ${place};`,
      own,
      `  if (mine < ${limit} && place >= (V)0 && place < (V)${count}) {`,
      `    ${BIN}::add(own[(long long)place], ${weight}, 0);`,
      '  }',
      '}',
    );
  const begin = lines(
    '{',
    own,
    `  for (long long b = 0; mine < ${limit} && b < ${count}; ++b) own[b] = ${BIN}::empty();`,
    '}',
  );
  return inMemory(text, reducer.accumulators, add, { begin, end: undefined });
}

type CudaParts = Omit<CudaRunningResult, 'needs' | 'called'>;

function mergeText(plan: CudaMapReducePlan, { reducer: { value } }: RunningBins): string {
  const count = String(binsOf(plan));
  return lines(
    `const long long kept = ${rowNames(plan.axis).kept};`,
    MERGE_PLACE,
    `if (place >= kept * batch * ${count}) return;`,
    `const long long b = place % ${count}, mine = place / ${count}, layer = mine / kept, row = mine - layer * kept;`,
    `const ${BIN}::State* const from = (const ${BIN}::State*)workspace + (layer * ${plan.splits} * kept + row) * ${count} + b;`,
    `${BIN}::State s = ${BIN}::empty();`,
    `for (int part = 0; part < ${plan.splits}; ++part) ${BIN}::merge(s, from[part * kept * ${count}]);`,
    `out[place] = ${value[0] ?? ''};`,
  );
}
