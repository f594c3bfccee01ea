import { dtypeBytes } from '../../dtype.js';
import { cudaType } from '../../emit/literals.js';
import { indent, lines } from '../../emit/text.js';
import {
  copiedPart,
  copyFunctions,
  stagedElements,
  stageElements,
  stageFunction,
  type StagedOperand,
} from './staged-operand.js';

/** An operand of a kernel, and texts that say where a block's part of it lies. */
export interface PipelineOperand extends StagedOperand {
  /** The first element of the block's batch entry. */
  readonly base: string;
  /** Elements between two lines in device memory. */
  readonly lineStride: string;
  /** How many elements the axis beside k has, and where the block begins. */
  readonly count: string;
  readonly start: string;
}

/** What the stages of a kernel need. */
export interface PipelineOptions {
  readonly threads: number;
  readonly tileK: number;
  readonly stages: number;
  readonly splitK: number;
  /**
   * Whether a thread keeps in registers where its operands lie, which is quicker. Else they are kept in shared memory and read again in
   * every turn, for sums that leave no registers.
   */
  readonly keepsInRegisters: boolean;
  /** The place of block `block`, as text. */
  readonly locate: string;
}

/** Shared memory in stages, as text. */
export interface Pipeline {
  /** In front of the kernel, behind a struct Place: the copies. */
  readonly functions: string;
  /** Declarations: the steps of k of this block, where its operands lie, and `load(turn, stage, own)`. */
  readonly setup: string;
  /** First element of each operand in a stage. */
  readonly places: ReadonlyMap<string, number>;
  /** The loop over the stages, `compute` being done once `stage` is there; it may read the thread's number as `own`. */
  readonly loop: (compute: string) => string;
  /** What follows the loop, with the thread's number (`threadAgain`) and the block's place (`end`) read again: the loop needs every register. */
  readonly after: (text: string) => string;
  readonly sharedMemBytes: number;
}

/** Bytes of shared memory for the struct Kept, at most. */
const KEPT_BYTES = 96;

/**
 * The stages of a kernel that walks k. Expects `place` (with its members `layer` and `part`), `locate(block)`, `memory`, `k` and
 * `thread`.
 */
export function pipelineOf(
  operands: readonly PipelineOperand[],
  options: PipelineOptions,
): Pipeline {
  const { threads, tileK, stages, splitK, locate } = options;
  const [{ dtype }] = operands as readonly [PipelineOperand];
  const bytes = dtypeBytes(dtype);
  const elements = stageElements(operands);
  const stageBytes = elements * stages * bytes;
  const places = new Map<string, number>();
  let next = 0;
  for (const operand of operands) {
    places.set(operand.name, next);
    next += stagedElements(operand);
  }
  const targets = operands.map(({ name }) => (places.get(name) ?? 0) * bytes);
  const kept = keptOf(operands, targets, options, stageBytes);
  const split =
    splitK === 1
      ? 'const long long kStart = 0, kSteps = k;'
      : `const long long perPart = (k + ${splitK * tileK - 1}) / ${splitK * tileK} * ${tileK};
  const long long kStart = min(place.part * perPart, k), kSteps = min(k - kStart, perPart);`;
  return {
    functions: lines(
      kept.type,
      copyFunctions(operands, threads),
      ...operands.map((operand) => stageFunction(operand, tileK, threads)),
    ),
    setup: `  constexpr int STAGE = ${elements};
  // which steps of k
  ${split}
  const unsigned shared = (unsigned)__cvta_generic_to_shared(memory);
${indent(kept.setup)}
  const auto load = [&](int turn, int stage, unsigned own) {
    if (turn < ${kept.from}turns) {
      const unsigned place = stage * ${elements * bytes};
      const int steps = ${kept.steps};
${indent(kept.loads, 6)}
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };`,
    places,
    loop: (compute) => loopText(stages, kept, compute),
    after: (text) => `  {
    unsigned threadAgain;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(threadAgain));
${indent(kept.end(locate), 4)}
${indent(text, 4)}
  }`,
    sharedMemBytes: stageBytes + kept.bytes,
  };
}

/** Where a block's operands lie, as text. */
interface Kept {
  /** In front of its members. */
  readonly from: string;
  readonly type: string;
  readonly setup: string;
  /** The copies of a turn to the stage that lies `place` bytes behind the first one. */
  readonly loads: string;
  /** How many steps of k a turn has. */
  readonly steps: string;
  /** Declares `own`. */
  readonly own: string;
  /** Declares `end`. */
  readonly end: (locate: string) => string;
  readonly bytes: number;
}

function keptOf(
  operands: readonly PipelineOperand[],
  targets: readonly number[],
  { threads, tileK, splitK, keepsInRegisters }: PipelineOptions,
  stageBytes: number,
): Kept {
  const [{ dtype }] = operands as readonly [PipelineOperand];
  const type = cudaType(dtype);
  const sources = operands.map(({ base, lineStride, start, innerIsK }) =>
    innerIsK
      ? `${base} + ${start} * ${lineStride} + kStart`
      : `${base} + kStart * ${lineStride} + ${start}`,
  );
  const counts = operands.map(
    ({ count, start, innerIsK, inner, outer }) =>
      `(int)min(${count} - ${start}, ${innerIsK ? outer : inner}ll)`,
  );
  const turns = `(int)((kSteps + ${tileK - 1}) / ${tileK})`;
  const last = `(int)(kSteps - (kSteps - 1) / ${tileK} * ${tileK})`;
  // a thread's own part of each operand: in front of the loop, or in every turn
  const parts = (
    thread: string,
    source: (n: number) => string,
    count: (n: number) => string,
  ): string =>
    lines(
      ...operands.map((operand, n) => {
        const { name, lineStride, dtype } = operand;
        const part = copiedPart(operand, threads, thread);
        const [inner, outer] = [`${name}Inner`, `${name}Outer`];
        return `const int ${inner} = ${part.inner}, ${outer} = ${part.outer}, ${name}Left = ${count(n)} - ${part.beside(inner, outer)};
const ${type}* ${name}Source = ${source(n)} + ${part.source(inner, outer, lineStride)};
const unsigned ${name}Target = shared + ${targets[n] ?? 0} + (${part.target(inner, outer)}) * ${dtypeBytes(dtype)};`;
      }),
    );
  const loads = lines(
    ...operands.map(
      ({ name, lineStride }) =>
        `load_${name}(${name}Target + place, ${name}Source, ${lineStride}, ${name}Inner, ${name}Outer, ${name}Left, steps);`,
    ),
  );
  if (keepsInRegisters) {
    return {
      from: '',
      type: '',
      setup: lines(
        `const int turns = ${turns};`,
        splitK > 1 && `const int last = ${last};`,
        parts(
          'thread',
          (n) => sources[n] ?? '',
          (n) => counts[n] ?? '',
        ),
      ),
      loads,
      // a parameter of the launch takes no register
      steps:
        splitK > 1
          ? `turn == turns - 1 ? last : ${tileK}`
          : `(int)min(k - (long long)turn * ${tileK}, ${tileK}ll)`,
      own: 'const unsigned own = thread;',
      end: (locate) => `unsigned block;
asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
const Place end = ${locate};`,
      bytes: 0,
    };
  }
  const count = String(operands.length);
  const first = ({ innerIsK, lineStride }: PipelineOperand): string =>
    `(long long)turn * ${tileK}${innerIsK ? '' : ` * ${lineStride}`}`;
  return {
    from: 'kept->',
    type: `struct Kept { Place place; const ${type}* sources[${count}]; int counts[${count}], turns, last; };`,
    setup: `Kept* const kept = reinterpret_cast<Kept*>(memory + ${stageBytes});
if (thread == 0) *kept = {place, {${sources.join(', ')}}, {${counts.join(', ')}}, ${turns}, ${last}};
__syncthreads();`,
    loads: lines(
      parts(
        'own',
        (n) =>
          lines(
            ...operands.slice(n, n + 1).map((operand) => `kept->sources[${n}] + ${first(operand)}`),
          ),
        (n) => `kept->counts[${n}]`,
      ),
      loads,
    ),
    steps: `turn == kept->turns - 1 ? kept->last : ${tileK}`,
    own: `unsigned own;
asm volatile("mov.u32 %0, %%tid.x;" : "=r"(own));`,
    end: () => 'const Place end = kept->place;',
    bytes: KEPT_BYTES,
  };
}

function loopText(stages: number, { from, own }: Kept, compute: string): string {
  return `  // the first ${stages - 1} turns only load
  #pragma unroll 1
  for (int turn = -${stages - 1}; turn < ${from}turns; ++turn) {
    if (turn >= 0) {
      asm volatile("cp.async.wait_group ${stages - 2};" ::: "memory");
      __syncthreads();
    }
${indent(own, 4)}
    load(turn + ${stages - 1}, (turn + ${stages - 1}) % ${stages}, own);
    if (turn >= 0) {
      const int stage = turn % ${stages};
${indent(compute, 6)}
    }
  }
  asm volatile("cp.async.wait_group 0;" ::: "memory");`;
}
