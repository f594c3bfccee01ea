import { cpuArgSortKernel, cpuCumSumKernel, sortWorkspaceBytes } from '@mercer/kernels';
import { sizeOfShape } from '../checked-size.js';
import { isRowMajor } from '../layout.js';
import { pointerAt, type CallSteps, type CallView } from '../operation/call-steps.js';

/** Elements of a task at least: a thread is woken for no fewer. */
const LEAST_TASK = 2 ** 15;

/** Rows that one stride leads through. */
interface Rows {
  readonly rows: number;
  readonly count: number;
  readonly rowStride: number;
  readonly stride: number;
}

/** A view (...outer, n) as rows, where one stride leads through its outer axes. */
function rowsOf({ shape, strides }: CallView): Rows | undefined {
  const outer = shape.slice(0, -1);
  const axes = [...outer.keys()].filter((axis) => outer[axis] !== 1);
  const isRun = axes.every((axis, at) => {
    const next = axes[at + 1];
    return next === undefined || strides[axis] === (strides[next] ?? 0) * (outer[next] ?? 1);
  });
  if (!isRun) return undefined;
  return {
    rows: sizeOfShape(outer),
    count: shape.at(-1) ?? 0,
    rowStride: strides[axes.at(-1) ?? -1] ?? 0,
    stride: strides.at(-1) ?? 0,
  };
}

/** A view as rows, or a row-major copy of it. */
function readRows(steps: CallSteps, view: CallView): Rows & { readonly from: CallView } {
  const rows = rowsOf(view);
  if (rows !== undefined) return { ...rows, from: view };
  const from = steps.scratchMemory(view);
  steps.copy(view, from);
  return { ...(rowsOf(from) as Rows), from };
}

const rowsPerTask = ({ count }: Rows): number => Math.max(1, Math.floor(LEAST_TASK / count));

/**
 * Adds to a call of a CPU where the elements of a view come from along its last axis once they are sorted: equal elements keep their order, and
 * NaN comes last.
 *
 * @param view (...outer, n) with elements, any strides
 * @param result int32 of its shape, any strides
 */
export function addRadixSort(
  steps: CallSteps,
  view: CallView,
  result: CallView,
  isDescending: boolean,
): void {
  const { from, ...rows } = readRows(steps, view);
  const { dtype, shape } = view;
  const isPlain = isRowMajor(shape, result.strides);
  const to = isPlain ? result : steps.scratchMemory({ shape, dtype: 'int32' });
  const bytes = sortWorkspaceBytes(dtype, sizeOfShape(shape));
  const keys = steps.scratchMemory({ shape: [bytes], dtype: 'uint8' });
  steps.addKernel(`argSort ${dtype} ${isDescending}`, cpuArgSortKernel(dtype, isDescending), {
    values: sizeOfShape(shape),
    pointers: { src: pointerAt(from), dst: pointerAt(to), keys: pointerAt(keys) },
    scalars: { ...rows, rowsPerTask: rowsPerTask(rows) },
  });
  if (!isPlain) steps.copy(to, result);
}

/**
 * Adds to a call of a CPU the sums of the elements up to each along the last axis.
 *
 * @param view (...outer, n) with elements, any strides
 * @param result of its shape, any strides
 */
export function addRowSums(steps: CallSteps, view: CallView, result: CallView): void {
  const { from, ...rows } = readRows(steps, view);
  const known = rowsOf(result);
  const to = known === undefined ? steps.scratchMemory(result) : result;
  const { rowStride: dstRowStride = 0, stride: dstStride = 1 } = known ?? rowsOf(to) ?? {};
  const dtype = result.dtype as Parameters<typeof cpuCumSumKernel>[1];
  // some rows at a time where they lie side by side
  const least = Math.abs(rows.rowStride) < Math.abs(rows.stride) ? SIDE_BY_SIDE : 1;
  steps.addKernel(`cumSum ${from.dtype} ${dtype}`, cpuCumSumKernel(from.dtype, dtype), {
    values: sizeOfShape(result.shape),
    pointers: { src: pointerAt(from), dst: pointerAt(to) },
    scalars: {
      ...rows,
      dstRowStride,
      dstStride,
      rowsPerTask: Math.max(least, rowsPerTask(rows)),
    },
  });
  if (to !== result) steps.copy(to, result);
}

/** Rows that the kernel adds up together. */
const SIDE_BY_SIDE = 256;
