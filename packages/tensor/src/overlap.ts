import { dtypeBytes, type DType } from '@mercer/kernels';
import { elementRange, type Layout } from './layout.js';
import { MercerError } from './mercer-error.js';

/** What the overlap checks need to know of a tensor. */
export interface MemoryView extends Layout {
  readonly dtype: DType;
  readonly storage: object;
  /** Readable name for messages. */
  readonly label: string;
}

/** True when two different index tuples of the view can reach the same element; may err towards true. */
export function overlapsItself(layout: Layout): boolean {
  const dims: { extent: number; stride: number }[] = [];
  for (let i = 0; i < layout.shape.length; i++) {
    const extent = layout.shape[i] ?? 1;
    if (extent === 0) return false;
    if (extent > 1) dims.push({ extent, stride: Math.abs(layout.strides[i] ?? 0) });
  }
  dims.sort((a, b) => a.stride - b.stride);
  let reach = 0;
  for (const { extent, stride } of dims) {
    if (stride <= reach) return true;
    reach += (extent - 1) * stride;
  }
  return false;
}

/** True when two views of one storage can touch the same byte; exact for ranges and for interleaved views of one step. */
export function viewsOverlap(a: MemoryView, b: MemoryView): boolean {
  if (a.storage !== b.storage) return false;
  const ra = elementRange(a);
  const rb = elementRange(b);
  if (ra === undefined || rb === undefined) return false;
  const wa = dtypeBytes(a.dtype);
  const wb = dtypeBytes(b.dtype);
  if ((ra.last + 1) * wa <= rb.first * wb || (rb.last + 1) * wb <= ra.first * wa) return false;
  if (wa !== wb) return true;
  const step = commonStep([...stepsOf(a), ...stepsOf(b)]);
  // Columns of one matrix: every element of each view is congruent to its offset modulo the common step.
  if (step !== 0 && (a.offset - b.offset) % step !== 0) return false;
  return !separate(a, b);
}

function stepsOf(layout: Layout): number[] {
  return layout.strides.filter((_, axis) => (layout.shape[axis] ?? 1) > 1).map(Math.abs);
}

function commonStep(steps: readonly number[]): number {
  const gcd = (x: number, y: number): number => (y === 0 ? x : gcd(y, x % y));
  return steps.reduce(gcd, 0);
}

/**
 * Blocks of columns of one matrix: both views step through rows of the same length and stay inside column ranges that
 * do not meet. Rows may lie in any order, as those of blocks of blocks do.
 */
function separate(a: MemoryView, b: MemoryView): boolean {
  return [...new Set([...stepsOf(a), ...stepsOf(b)])].some((pitch) => {
    if (pitch === 0) return false;
    const [x, y] = [columnSpan(a, pitch), columnSpan(b, pitch)];
    return x !== undefined && y !== undefined && (x.last < y.first || y.last < x.first);
  });
}

function columnSpan(view: Layout, pitch: number): { first: number; last: number } | undefined {
  let first = ((view.offset % pitch) + pitch) % pitch;
  let last = first;
  for (let axis = 0; axis < view.shape.length; axis++) {
    const extent = view.shape[axis] ?? 1;
    const stride = view.strides[axis] ?? 0;
    if (extent < 2 || stride % pitch === 0) continue;
    if (stride < 0) first += (extent - 1) * stride;
    else last += (extent - 1) * stride;
  }
  return first < 0 || last >= pitch ? undefined : { first, last };
}

/**
 * Checks that a view can be written: no two of its indices reach the same element (a broadcast view does).
 *
 * @throws MercerError OVERLAP
 */
export function assertWritable(out: MemoryView, what: string): void {
  if (overlapsItself(out)) {
    throw new MercerError(
      'OVERLAP',
      `${what}: ${out.label} has several indices for one element (strides [${out.strides.join(', ')}]), so it cannot be written. Pass an output of its own, for example from empty(shape).`,
    );
  }
}

/**
 * Checks that an output shares no element with any input or other output and can be written.
 *
 * @throws MercerError OVERLAP
 */
export function assertNoOverlap(
  out: MemoryView,
  inputs: readonly MemoryView[],
  what: string,
  outputs: readonly MemoryView[] = [],
): void {
  assertWritable(out, what);
  const refuse = (other: string, remedy: string): never => {
    const message = `${what}: the output ${out.label} shares memory with the ${other}. ${remedy}`;
    throw new MercerError('OVERLAP', message);
  };
  const input = inputs.find((one) => viewsOverlap(out, one));
  if (input !== undefined) {
    refuse(`input ${input.label}`, 'Pass an output of its own, or clone the input.');
  }
  const output = outputs.find((one) => viewsOverlap(out, one));
  if (output !== undefined) {
    refuse(`output ${output.label}`, 'Pass memory of its own for each result.');
  }
}
