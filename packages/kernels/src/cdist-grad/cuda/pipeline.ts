import { dtypeBytes } from '../../dtype.js';
import { indent } from '../../emit/indent.js';
import type { PairwiseDType } from '../../pairwise/problem.js';
import { KEPT_BYTES } from './signature.js';
import { stagedElements, type StagedOperand } from './stage-copy.js';

/** What the stages of a kernel need. */
export interface PipelineOptions {
  readonly dtype: PairwiseDType;
  readonly tileK: number;
  readonly stages: number;
  readonly splitK: number;
}

/** Shared memory in stages, as text. */
export interface Pipeline {
  /** Declarations: the steps of k of this block, the sources, and `load(t, stage)`. */
  readonly text: string;
  /** First element of each operand in a stage. */
  readonly places: Readonly<Record<'a' | 'b' | 'c', number>>;
  readonly sharedMemBytes: number;
}

/** Elements of one stage. */
export function stageElements(operands: readonly StagedOperand[]): number {
  return operands.reduce((sum, operand) => sum + stagedElements(operand), 0);
}

/** Declares the stages. Expects `place`, `thread`, `memory` and the parameters. */
export function pipelineSetup(
  operands: readonly StagedOperand[],
  { dtype, tileK, stages, splitK }: PipelineOptions,
): Pipeline {
  const bytes = dtypeBytes(dtype);
  const elements = stageElements(operands);
  const places = { a: 0, b: 0, c: 0 };
  let next = 0;
  for (const operand of operands) {
    places[operand.name] = next;
    next += stagedElements(operand);
  }
  const stageBytes = elements * stages * bytes;
  const axis = { a: 'm', b: 'n', c: 'o' } as const;
  const first = operands.map(({ name, innerIsK }) => {
    const start = `place.${axis[name]}Start`;
    const corner = innerIsK ? `${start} * ld${name} + kStart` : `kStart * ld${name} + ${start}`;
    return `${name} + place.layer * batchStride${name.toUpperCase()} + ${corner}`;
  });
  // How many lines or columns of each operand exist from here on.
  const counts = operands.map(
    ({ name, innerIsK, inner, outer }) =>
      `(int)min(${axis[name]} - place.${axis[name]}Start, ${innerIsK ? outer : inner}ll)`,
  );
  const loads = operands.map(
    ({ name, innerIsK }, i) =>
      `load_${name}(target + ${places[name] * bytes}, kept->sources[${i}] + first${innerIsK ? '' : ` * ld${name}`}, ld${name}, own, kept->counts[${i}], steps);`,
  );
  const split =
    splitK === 1
      ? `const long long kStart = 0, steps = k;`
      : `const long long perPart = (k + ${splitK * tileK - 1}) / ${splitK * tileK} * ${tileK};
  const long long kStart = min(place.part * perPart, k), steps = min(k - kStart, perPart);`;
  const text = `  constexpr int STAGE = ${elements};
  // which steps of k
  ${split}
  Kept* const kept = reinterpret_cast<Kept*>(memory + ${stageBytes});
  if (thread == 0) *kept = {place, {${first.join(', ')}}, steps, {${counts.join(', ')}}, (int)((steps + ${tileK - 1}) / ${tileK})};
  __syncthreads();
  const unsigned shared = (unsigned)__cvta_generic_to_shared(memory);
  const auto load = [&](int turn, int stage, unsigned own) {
    if (turn < kept->turns) {
      const unsigned target = shared + stage * ${elements * bytes};
      const long long first = (long long)turn * ${tileK};
      const int steps = (int)min(kept->steps - first, ${tileK}ll);
${indent(loads.join('\n'), 6)}
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };`;
  return { text, places, sharedMemBytes: stageBytes + KEPT_BYTES };
}

/** The loop over the stages, `compute` being done once a stage is there. */
export function pipelineLoop(stages: number, compute: string): string {
  const ahead = String(stages - 1);
  return `  // the first ${ahead} turns only load
  #pragma unroll 1
  for (int turn = -${ahead}; turn < kept->turns; ++turn) {
    if (turn >= 0) {
      asm volatile("cp.async.wait_group ${stages - 2};" ::: "memory");
      __syncthreads();
    }
    // read again in every turn: the sums leave no register for it
    unsigned own;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(own));
    load(turn + ${ahead}, (turn + ${ahead}) % ${stages}, own);
    if (turn >= 0) {
      const int stage = turn % ${stages};
${indent(compute, 6)}
    }
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");`;
}
