import { MOST_ROWS } from '../../checks.js';
import { placeOf, type Strided } from './strided.js';

/** The matrices of a product: a is m x k, b k x n, c m x n. */
export interface Factors {
  readonly a: Strided;
  readonly b: Strided;
  readonly c: Strided;
}

/** Elements that lead from a matrix of each operand to another. */
interface Steps {
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** Products that one call computes; their first matrices lie so many elements behind those of the operands. */
export interface Group extends Steps {
  readonly batch: number;
}

/** A batch as the library computes it: one stride for each operand, and the calls. */
export interface BatchPlan {
  /** With at most one batch stride, which leads from a product of a group to the next. */
  readonly factors: Factors;
  readonly groups: Iterable<Group>;
}

interface Axis extends Steps {
  readonly extent: number;
}

/** Longer batches are cut: a batch is a dimension of the grids of many kernels, which ends here. */
export const MOST_BATCH = 65_535;

/**
 * Turns batch axes into few calls: axes that follow each other in all three operands are one; the longest that is left is
 * the library's batch; and where such a batch shares b and its rows of a and c follow each other (or shares a, and columns
 * of b and c do), it is one taller (or wider) product.
 */
export function planBatches(factors: Factors, batchShape: readonly number[]): BatchPlan {
  const axes = collapsedAxes(factors, batchShape);
  const inner = longest(axes);
  const axis = axes[inner] ?? { extent: 1, a: 0, b: 0, c: 0 };
  const outer = axes.filter((_, i) => i !== inner);
  const merged = foldRows(factors, axis) ?? foldColumns(factors, axis);
  if (merged !== undefined) return { factors: merged, groups: groupsOf(outer, 1, axis) };
  const strided = {
    a: { ...factors.a, batchStrides: [axis.a] },
    b: { ...factors.b, batchStrides: [axis.b] },
    c: { ...factors.c, batchStrides: [axis.c] },
  };
  return { factors: strided, groups: groupsOf(outer, axis.extent, axis) };
}

/** Batch axes without those of extent 1, and with neighbours merged where no operand notices; outermost first. */
function collapsedAxes({ a, b, c }: Factors, batchShape: readonly number[]): Axis[] {
  const axes: Axis[] = [];
  batchShape.forEach((extent, i) => {
    if (extent === 1) return;
    const axis = {
      extent,
      a: a.batchStrides[i] ?? 0,
      b: b.batchStrides[i] ?? 0,
      c: c.batchStrides[i] ?? 0,
    };
    const last = axes.at(-1);
    const follows =
      last?.a === extent * axis.a && last.b === extent * axis.b && last.c === extent * axis.c;
    if (follows) axes[axes.length - 1] = { ...axis, extent: extent * last.extent };
    else axes.push(axis);
  });
  return axes;
}

/** The longest axis that the library can walk, which is forwards; -1 without one. */
function longest(axes: readonly Axis[]): number {
  let best = -1;
  axes.forEach((axis, i) => {
    if (axis.a < 0 || axis.b < 0 || axis.c < 0) return;
    if (best < 0 || axis.extent > (axes[best]?.extent ?? 0)) best = i;
  });
  return best;
}

function foldRows({ a, b, c }: Factors, axis: Axis): Factors | undefined {
  if (axis.extent === 1 || axis.b !== 0) return undefined;
  const tallA = taller(a, axis.extent, axis.a);
  const tallC = taller(c, axis.extent, axis.c);
  if (tallA === undefined || tallC === undefined) return undefined;
  return { a: tallA, b: { ...b, batchStrides: [] }, c: tallC };
}

function foldColumns({ a, b, c }: Factors, axis: Axis): Factors | undefined {
  const turned = foldRows(
    { a: exchanged(b), b: exchanged(a), c: exchanged(c) },
    { ...axis, a: axis.b, b: axis.a },
  );
  return turned && { a: exchanged(turned.b), b: exchanged(turned.a), c: exchanged(turned.c) };
}

/** The matrices of a batch under each other, where that is a matrix that the library takes. */
function taller(matrix: Strided, count: number, stride: number): Strided | undefined {
  const { rows, columns, columnStride } = matrix;
  const rowStride = rows === 1 ? stride : matrix.rowStride;
  if (stride !== rows * rowStride || count * rows > MOST_ROWS) return undefined;
  const whole = { rows: count * rows, columns, rowStride, columnStride, batchStrides: [] };
  return placeOf(whole) && whole;
}

function exchanged(matrix: Strided): Strided {
  return {
    ...matrix,
    rows: matrix.columns,
    columns: matrix.rows,
    rowStride: matrix.columnStride,
    columnStride: matrix.rowStride,
  };
}

/** Every combination of the outer indices, with the inner ones in parts that a call takes. */
function* groupsOf(outer: readonly Axis[], batch: number, inner: Steps): Generator<Group> {
  const calls = outer.reduce((product, { extent }) => product * extent, 1);
  for (let call = 0; call < calls; call++) {
    let rest = call;
    let start: Steps = { a: 0, b: 0, c: 0 };
    for (const axis of [...outer].reverse()) {
      start = stepped(start, axis, rest % axis.extent);
      rest = Math.floor(rest / axis.extent);
    }
    for (let first = 0; first < batch; first += MOST_BATCH) {
      yield { ...stepped(start, inner, first), batch: Math.min(MOST_BATCH, batch - first) };
    }
  }
}

const stepped = (from: Steps, by: Steps, times: number): Steps => ({
  a: from.a + times * by.a,
  b: from.b + times * by.b,
  c: from.c + times * by.c,
});
