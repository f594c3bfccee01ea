import { dtypeBytes } from '../../dtype.js';
import { cudaType } from '../../emit/cuda-literal.js';
import type { PairwiseDType } from '../../pairwise/problem.js';

/**
 * One operand's part of a stage in shared memory. In device memory it is `outer` lines of `inner`
 * contiguous elements; k runs along one of the two axes.
 */
export interface StagedOperand {
  readonly name: 'a' | 'b' | 'c';
  readonly dtype: PairwiseDType;
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
}

/** Elements that the operand takes in one stage. */
export function stagedElements(operand: StagedOperand): number {
  return (operand.turned ? operand.inner : operand.outer) * operand.stride;
}

interface Shape {
  readonly vector: number;
  /** Threads side by side along the contiguous axis. */
  readonly across: number;
  /** Lines between two passes of one thread. */
  readonly step: number;
  readonly passes: number;
}

/** Neighbouring elements of one line that a warp copies of a turned operand: enough for a sector. */
const TURNED_ACROSS = 8;

function shapeOf(operand: StagedOperand, threads: number): Shape {
  const wide = 16 / dtypeBytes(operand.dtype);
  const vector = operand.aligned && !operand.turned && operand.inner % wide === 0 ? wide : 1;
  const needed = operand.inner / vector;
  const across = operand.turned ? Math.min(TURNED_ACROSS, needed) : Math.min(needed, threads);
  const step = threads / across;
  return { vector, across, step, passes: Math.ceil(operand.outer / step) };
}

/**
 * The function `load_<name>`: asynchronous copies of this thread's part of one stage, whose first element
 * is `source`. What lies outside the operand becomes 0; with `repeatLast`, steps beyond the end of k
 * repeat the last one.
 */
export function stageFunction(operand: StagedOperand, tileK: number, threads: number): string {
  const { name, dtype, repeatLast = false } = operand;
  const shape = shapeOf(operand, threads);
  const body =
    repeatLast && shape.vector > 1
      ? `if (steps >= ${tileK}) {
    ${copies(operand, shape, 'vectors')}
  } else {
    ${copies(operand, shape, 'elements')}
  }`
      : copies(operand, shape, shape.vector > 1 ? 'vectors' : 'elements');
  return `__device__ __forceinline__ void load_${name}(unsigned target, const ${cudaType(dtype)}* source, long long stride, unsigned thread, int count, int steps) {
  const int inner = thread % ${shape.across} * ${shape.vector}, outer = thread / ${shape.across};
  source += outer * stride + inner;
  ${body}
}`;
}

/** The loop of one thread over its share of an operand, whole vectors or element by element. */
function copies(operand: StagedOperand, shape: Shape, unit: 'vectors' | 'elements'): string {
  const {
    dtype,
    innerIsK,
    turned,
    stride,
    line = (outer: string) => outer,
    repeatLast = false,
  } = operand;
  const { vector: own, across, step, passes } = shape;
  const vector = unit === 'vectors' ? own : 1;
  const parts = operand.inner / (across * own);
  const loops = [
    ...(passes > 1 ? [['pass', passes] as const] : []),
    ...(parts > 1 ? [['part', parts] as const] : []),
    ...(own > vector ? [['e', own] as const] : []),
  ];
  const shift = [
    ...(parts > 1 ? [`part * ${across * own}`] : []),
    ...(own > vector ? ['e'] : []),
  ].join(' + ');
  const column = shift === '' ? 'inner' : `inner + ${shift}`;
  const row = passes > 1 ? `outer + pass * ${step}` : 'outer';
  const [rowLimit, columnLimit] = innerIsK ? ['count', 'steps'] : ['steps', 'count'];

  const bytes = dtypeBytes(dtype);
  const size = String(vector * bytes);
  let valid = `${row} < ${rowLimit} ? ${size} : 0`;
  if (!repeatLast && vector === 1)
    valid = `${row} < ${rowLimit} && ${column} < ${columnLimit} ? ${size} : 0`;
  if (!repeatLast && vector > 1) {
    valid = `${row} < ${rowLimit} ? min(max(${columnLimit} - (${column}), 0), ${vector}) * ${bytes} : 0`;
  }
  const offsets = [
    ...(passes > 1 ? [`pass * ${step} * stride`] : []),
    ...(repeatLast && vector === 1
      ? [`(min(${column}, steps - 1) - inner)`]
      : shift === ''
        ? []
        : [shift]),
  ];
  const place = turned
    ? `(${column}) * ${stride} + ${row}`
    : `(${line(row)}) * ${stride} + ${column}`;
  const guard = operand.outer % step === 0 ? '' : `if (${row} < ${operand.outer}) `;
  // Many single elements in a row would take the registers of the sums for their addresses.
  const many = vector === 1 && passes * parts > 4;
  const unroll = own > vector ? '#pragma unroll 1' : many ? '#pragma unroll 2' : '#pragma unroll';
  const heads = loops.map(
    ([name, count]) => `${unroll}
    for (int ${name} = 0; ${name} < ${count}; ++${name})`,
  );
  return `${heads.map((head) => `${head}\n      `).join('')}${guard}copy${size}(target + (${place}) * ${bytes}, ${['source', ...offsets].join(' + ')}, ${valid});`;
}

/** The asynchronous copies of 4, 8 and 16 bytes that the operands use: bytes past `valid` become 0. */
export function copyFunctions(operands: readonly StagedOperand[], threads: number): string {
  const sizes = new Set(
    operands.flatMap((operand) => {
      const bytes = dtypeBytes(operand.dtype);
      const whole = shapeOf(operand, threads).vector * bytes;
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
