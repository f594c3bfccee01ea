/** Operations by Mercer's own kernels that the bench knows; what each is stands in `operations/`. */
export const OPERATION_NAMES = [
  'cdist',
  'minkowski',
  'laplace',
  'exponential',
  'gaussian',
  'weightedDifferences',
] as const;
export type OperationName = (typeof OPERATION_NAMES)[number];

/** Operations of dense linear algebra that the bench knows. */
export const LINEAR_NAMES = ['solveCholesky', 'solveLU', 'eigh', 'svd', 'matmul'] as const;
export type LinearName = (typeof LINEAR_NAMES)[number];

/** Reductions of symbolic formulas that the bench knows. */
export const REDUCTION_NAMES = [
  'gaussianSum',
  'laplacianSum',
  'logSumExp',
  'gaussianGradient',
  'nearest',
  'kMeansAssignment',
  'kMeans',
] as const;
export type ReductionName = (typeof REDUCTION_NAMES)[number];

/** Systems with a kernel matrix that the bench knows. */
export const SOLVER_NAMES = ['solve', 'inverseKernel'] as const;
export type SolverName = (typeof SOLVER_NAMES)[number];

/** Preconditioners of such systems. */
export const PRECONDITIONER_NAMES = ['pivotedCholesky', 'nystrom', 'nystromColumns'] as const;
export type PreconditionerName = (typeof PRECONDITIONER_NAMES)[number];

/** Iterations of Lloyd's algorithm in one call of `kMeans`. */
export const LLOYD_ITERATIONS = 10;

/** Problems of all kinds. */
export type Cell = KernelCell | LinearCell | ReductionCell | SolverCell;

/**
 * One problem of the grid: an operation on `m` rows and `n` rows of `k` numbers, `batch` times over. For weightedDifferences m, n, o and
 * k are those of its formula: `out[o, n, m] = sum_k c[o, k] a[k, m] phi(d[n, m] - b[n, k])`.
 */
export interface KernelCell {
  readonly operation: OperationName;
  readonly dtype: 'float32' | 'float64';
  /** Exponent of the norm, also where it is part of the operation. */
  readonly p: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Rows of coefficients; weightedDifferences only. */
  readonly o?: number;
  readonly batch: number;
}

/** One problem of linear algebra: square matrices of order `n`, `batch` of them. */
export interface LinearCell {
  readonly operation: LinearName;
  readonly dtype: 'float32' | 'float64';
  readonly n: number;
  /** Columns of b; the solves only. */
  readonly rightHandSides?: number;
  readonly batch: number;
}

/**
 * One reduction: for each of `m` points a result over `n` others, all of dimension `d`. For kMeansAssignment and kMeans m are the points and n
 * the centroids, for nearest m the queries and n the points among which `k` are found.
 */
export interface ReductionCell {
  readonly operation: ReductionName;
  readonly dtype: 'float32' | 'float64';
  readonly m: number;
  readonly n: number;
  readonly d: number;
  /** Neighbours; nearest only. */
  readonly k?: number;
  readonly batch: number;
}

/** One system of equations with the kernel matrix of `n` points of dimension `d`, which is not stored. */
export interface SolverCell {
  readonly operation: SolverName;
  readonly dtype: 'float32' | 'float64';
  readonly n: number;
  readonly d: number;
  /** None without it. */
  readonly preconditioner?: PreconditionerName;
  /** Of the preconditioner. */
  readonly rank?: number;
  readonly batch: 1;
}

export function isSolver(cell: Cell): cell is SolverCell {
  return SOLVER_NAMES.some((name) => name === cell.operation);
}

export function isLinear(cell: Cell): cell is LinearCell {
  return LINEAR_NAMES.some((name) => name === cell.operation);
}

export function isReduction(cell: Cell): cell is ReductionCell {
  return REDUCTION_NAMES.some((name) => name === cell.operation);
}

/** The problem alone, without what was measured. */
export function cellOf(cell: Cell): Cell {
  if (isLinear(cell)) {
    const { operation, dtype, n, rightHandSides, batch } = cell;
    return { operation, dtype, n, ...(rightHandSides && { rightHandSides }), batch };
  }
  if (isReduction(cell)) {
    const { operation, dtype, m, n, d, k, batch } = cell;
    return { operation, dtype, m, n, d, ...(k && { k }), batch };
  }
  if (isSolver(cell)) {
    const { operation, dtype, n, d, preconditioner, rank, batch } = cell;
    return { operation, dtype, n, d, ...(preconditioner && { preconditioner, rank }), batch };
  }
  const { operation, dtype, p, m, n, k, o, batch } = cell;
  return { operation, dtype, p, m, n, k, ...(o === undefined ? {} : { o }), batch };
}

/** Cells in the order of their work. */
export function smallFirst<C extends Cell>(cells: readonly C[]): C[] {
  return [...cells].sort((a, b) => cellWork(a) - cellWork(b));
}

/** Cells that share their operands, in the order in which they come. */
export function groupByOperands(cells: readonly Cell[]): Cell[][] {
  const groups = new Map<string, Cell[]>();
  for (const cell of cells) {
    const key = operandsKey(cell);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [cell]);
    else group.push(cell);
  }
  return [...groups.values()];
}

function operandsKey(cell: Cell): string {
  if (isLinear(cell) || isReduction(cell) || isSolver(cell)) return JSON.stringify(cellOf(cell));
  const family = cell.operation === 'weightedDifferences' ? 'weightedDifferences' : 'pairwise';
  return [family, cell.dtype, cell.m, cell.n, cell.k, cell.o ?? 0, cell.batch].join();
}

/**
 * Terms that a cell's sums have together: element pairs, for weightedDifferences times the rows of coefficients; for linear algebra the
 * cube of the order; for reductions pairs of components, as often as they are passed over; for systems those of one product.
 */
export function cellWork(cell: Cell): number {
  if (isLinear(cell)) return cell.n ** 3 * cell.batch;
  if (isSolver(cell)) return cell.n ** 2 * cell.d;
  if (isReduction(cell))
    return (
      cell.m * cell.n * cell.d * cell.batch * (cell.operation === 'kMeans' ? LLOYD_ITERATIONS : 1)
    );
  return cell.m * cell.n * cell.k * cell.batch * (cell.o ?? 1);
}

export function elementBytes(cell: Cell): 4 | 8 {
  return cell.dtype === 'float32' ? 4 : 8;
}

/** Half of the distance from 1 to the next number: what one rounding errs by at most. */
export function roundingUnit({ dtype }: Pick<Cell, 'dtype'>): number {
  return dtype === 'float32' ? 2 ** -24 : 2 ** -53;
}

/** A cell in a few letters, for tables and progress. */
export function cellName(cell: Cell): string {
  const batch = cell.batch === 1 ? '' : `${cell.batch} x `;
  if (isLinear(cell)) {
    const sides = cell.rightHandSides === undefined ? '' : `, ${cell.rightHandSides} sides`;
    return `${cell.operation} ${cell.dtype} ${batch}${cell.n} x ${cell.n}${sides}`;
  }
  if (isReduction(cell)) {
    const { operation, dtype, m, n, d, k } = cell;
    const type = dtype === 'float32' ? '' : ` ${dtype}`;
    const count = k === undefined ? '' : `, k = ${k}`;
    return `${operation}${type} ${batch}${m} x ${n}, D = ${d}${count}`;
  }
  if (isSolver(cell)) {
    const { operation, dtype, n, d, preconditioner, rank } = cell;
    const beside = preconditioner === undefined ? '' : `, ${preconditioner} ${rank}`;
    return `${operation} ${dtype} ${n}, D = ${d}${beside}`;
  }
  const operation = cell.operation === 'cdist' ? '' : `${cell.operation} `;
  const p = cell.p === Infinity ? 'inf' : cell.p;
  const type = cell.dtype === 'float32' ? '' : ` ${cell.dtype}`;
  const sizes = cell.o === undefined ? [cell.m, cell.n, cell.k] : [cell.m, cell.n, cell.o, cell.k];
  return `${operation}p=${p}${type} ${batch}${sizes.join(' x ')}`;
}
