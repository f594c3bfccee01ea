import { dtypeBytes } from '../../dtype.js';
import { cudaType } from '../../emit/literals.js';
import { longestVector } from './neighbours.js';

/**
 * One operand's part of a stage in shared memory. In device memory it is `outer` lines of `inner` contiguous
 * elements; k, the axis that is summed over, runs along one of the two.
 */
export interface StagedOperand {
  /** Of its function `load_<name>`. */
  readonly name: string;
  readonly dtype: 'float32' | 'float64';
  readonly outer: number;
  readonly inner: number;
  /** Whether k is the contiguous axis. */
  readonly innerIsK: boolean;
  /** 16-byte copies are allowed, because the operand is aligned. */
  readonly aligned: boolean;
  /** Lines and columns change places on the way, which needs a copy for each element. */
  readonly turned: boolean;
  /** Elements between two lines of shared memory. */
  readonly stride: number;
  /** Line of shared memory of line `outer`, as text; default: the same. */
  readonly line?: (outer: string) => string;
  /** Beyond the end of k the last element is repeated instead of 0. */
  readonly repeatLast?: boolean;
  /** Copies of single elements that a loop is written out to, at most; default: all. Their addresses take registers. */
  readonly mostUnrolled?: number;
}

/** Elements that the operand takes in one stage. */
export function stagedElements(operand: StagedOperand): number {
  return (operand.turned ? operand.inner : operand.outer) * operand.stride;
}

/** Elements of one stage. */
export function stageElements(operands: readonly StagedOperand[]): number {
  return operands.reduce((sum, operand) => sum + stagedElements(operand), 0);
}

/** How the threads of a block share the copies of one stage. */
interface CopyShape {
  /** Elements of one copy. */
  readonly vector: number;
  /** Threads side by side along the contiguous axis. */
  readonly across: number;
  /** Lines between two passes of one thread. */
  readonly step: number;
  /** Copies of one thread along the lines, and along the contiguous axis. */
  readonly passes: number;
  readonly parts: number;
}

/** Neighbouring elements of one line that a warp copies of a turned operand: enough for a sector. */
const TURNED_ACROSS = 8;

function copyShape(operand: StagedOperand, threads: number): CopyShape {
  const width = longestVector(operand.dtype);
  const vector = operand.aligned && !operand.turned && operand.inner % width === 0 ? width : 1;
  const needed = operand.inner / vector;
  const across = Math.min(needed, operand.turned ? TURNED_ACROSS : threads);
  const step = threads / across;
  const passes = Math.ceil(operand.outer / step);
  return { vector, across, step, passes, parts: needed / across };
}

/** What a thread copies of a stage, as text. */
export interface CopiedPart {
  /** Where the thread's first element lies, along the contiguous axis and across. */
  readonly inner: string;
  readonly outer: string;
  /** How far that is from the first element of the stage: in device memory, with lines `stride` apart, and in shared memory. */
  readonly source: (inner: string, outer: string, stride: string) => string;
  readonly target: (inner: string, outer: string) => string;
  /** The coordinate of the two that k does not run along. */
  readonly beside: (inner: string, outer: string) => string;
}

/** The part of thread `thread`. */
export function copiedPart(operand: StagedOperand, threads: number, thread: string): CopiedPart {
  const { vector, across } = copyShape(operand, threads);
  const { stride, turned, line, innerIsK } = operand;
  return {
    inner: `${thread} % ${across}${vector === 1 ? '' : ` * ${vector}`}`,
    outer: `${thread} / ${across}`,
    source: (inner, outer, lines) => `${outer} * ${lines} + ${inner}`,
    // lines in another order are placed one by one
    target: (inner, outer) =>
      turned ? `${inner} * ${stride} + ${outer}` : line ? inner : `${outer} * ${stride} + ${inner}`,
    beside: (inner, outer) => (innerIsK ? outer : inner),
  };
}

/**
 * The function `load_<name>`: asynchronous copies of this thread's part of one stage, from its first element on; moves `source` to the next
 * stage. `left` elements exist along the other axis from there on, and `steps` along k in the stage. What lies outside the operand becomes
 * 0; with `repeatLast`, steps beyond the end of k repeat the last one.
 */
export function stageFunction(operand: StagedOperand, tileK: number, threads: number): string {
  const { name, dtype, innerIsK } = operand;
  return `__device__ __forceinline__ void load_${name}(unsigned target, const ${cudaType(dtype)}*& source, long long stride, int inner, int outer, int left, int steps) {
  if (steps >= ${tileK}) {
    ${copies(operand, threads, true)}
  } else {
    ${copies(operand, threads, false)}
  }
  source += ${tileK}${innerIsK ? '' : ' * stride'};
}`;
}

/** The loop of one thread over its share of a stage that is whole along k, or of the last one. */
function copies(operand: StagedOperand, threads: number, isWhole: boolean): string {
  const { dtype, innerIsK, turned, stride, line, repeatLast = false, mostUnrolled } = operand;
  const { vector: most, across, step, passes, parts } = copyShape(operand, threads);
  const repeats = repeatLast && !isWhole;
  // a vector cannot repeat its last element
  const vector = repeats ? 1 : most;
  const loops = [
    ['pass', passes] as const,
    ['part', parts] as const,
    ['e', most / vector] as const,
  ];
  const used = loops.filter(([, count]) => count > 1);
  const row = passes > 1 ? `pass * ${step}` : '';
  const column = sum(parts > 1 && `part * ${across * most}`, most > vector && 'e');
  const bytes = dtypeBytes(dtype);
  const size = String(vector * bytes);
  const repeated = repeats && `(min(${sum('inner', column)}, steps - 1) - inner)`;
  const from = sum('source', row && `${row} * stride`, repeated || column);
  const place = turned
    ? sum(column && `(${column}) * ${stride}`, row)
    : sum(line ? `(${line(sum('outer', row))}) * ${stride}` : row && `${row} * ${stride}`, column);
  const guard = operand.outer % step === 0 ? '' : `if (${sum('outer', row)} < ${operand.outer}) `;
  const beside = (innerIsK ? row : column) || '0';
  const checksSteps = !isWhole && !repeats;
  const least = (count: string): string => `min(max(${count}, 0), ${vector}) * ${bytes}`;
  const inRow = innerIsK ? `${beside} < left` : checksSteps && `${sum('outer', row)} < steps`;
  const there = innerIsK
    ? checksSteps
      ? least(`steps - (${sum('inner', column)})`)
      : size
    : least(`left - (${beside})`);
  const valid = inRow === false ? there : `${inRow} ? ${there} : 0`;
  const isLong = mostUnrolled !== undefined && vector === 1 && passes * parts > mostUnrolled;
  const unroll = isWhole ? (isLong ? '#pragma unroll 2' : '#pragma unroll') : '#pragma unroll 1';
  const heads = used.map(
    ([name, count]) => `${unroll}
    for (int ${name} = 0; ${name} < ${count}; ++${name})
      `,
  );
  return `${heads.join('')}${guard}copy${size}(${sum('target', place && `(${place}) * ${bytes}`)}, ${from}, ${valid});`;
}

/** The texts that there are, added up. */
const sum = (...texts: (string | false)[]): string =>
  texts.filter((text) => text !== false && text !== '').join(' + ');

/** The asynchronous copies of 4, 8 and 16 bytes that the operands use: bytes past `valid` become 0. */
export function copyFunctions(operands: readonly StagedOperand[], threads: number): string {
  const sizes = new Set(
    operands.flatMap((operand) => {
      const bytes = dtypeBytes(operand.dtype);
      const whole = copyShape(operand, threads).vector * bytes;
      return operand.repeatLast === true ? [whole, bytes] : [whole];
    }),
  );
  return [...sizes]
    .sort((x, y) => x - y)
    .map((size) => {
      const cache = size === 16 ? 'cg' : 'ca';
      return `__device__ __forceinline__ void copy${size}(unsigned target, const void* source, int valid) {
  asm volatile("cp.async.${cache}.shared.global [%0], [%1], ${size}, %2;" :: "r"(target), "l"(source), "r"(valid) : "memory");
}`;
    })
    .join('\n');
}
