import { OPERATION_NAMES, smallFirst, type KernelCell, type OperationName } from './cells.js';
import { FULL_GRID, gridCells, type GridAxes } from './grid.js';

/** Exponents that each operation is measured with; where it has its own, that. */
const EXPONENTS: Readonly<Record<OperationName, readonly number[]>> = {
  cdist: [1, 1.3, 2],
  minkowski: [1.3],
  laplace: [1],
  exponential: [2],
  gaussian: [2],
  weightedDifferences: [1, 1.3, 2],
};

const ROWS_OF_COEFFICIENTS = 16;

type Shape = Pick<KernelCell, 'm' | 'n' | 'k' | 'o'>;

/** Shapes at which other libraries' times on an H200 are known. */
const LARGE: readonly Shape[] = [{ m: 30000, n: 30000, k: 1024 }];
const LARGE_GRADIENTS: readonly Shape[] = [
  { m: 1000, n: 1000, o: 16, k: 64 },
  { m: 1024, n: 1024, o: 16, k: 4096 },
  { m: 4096, n: 512, o: 16, k: 4096 },
  { m: 1000, n: 1000, o: 10, k: 10000 },
];

/** Shapes that a small CPU computes in milliseconds. */
const SMALL: readonly Shape[] = [{ m: 1000, n: 1000, k: 64 }];
const SMALL_GRADIENTS: readonly Shape[] = [
  { m: 200, n: 200, o: 16, k: 64 },
  { m: 200, n: 100, o: 10, k: 500 },
];

/** What `mercer bench kermac` measures. */
export interface KermacCellsOptions {
  readonly kind: 'cpu' | 'cuda';
  readonly operations?: readonly OperationName[] | undefined;
  /** Also the grid that results are published on, or parts of it. */
  readonly grid?: boolean | undefined;
  /** Axes of the grid; naming one means a grid. */
  readonly axes?: Partial<Pick<GridAxes, 'm' | 'n' | 'k' | 'batch'>> | undefined;
}

/** The cells of the suite, the small problems first, none twice. */
export function kermacCells({
  kind,
  operations = OPERATION_NAMES,
  grid = false,
  axes = {},
}: KermacCellsOptions): KernelCell[] {
  const narrowed = Object.keys(axes).length > 0;
  const cells = operations.flatMap((operation) => [
    ...(narrowed ? [] : knownShapes(kind, operation)),
    ...(grid || narrowed ? gridOf(operation, axes) : []),
  ]);
  const unique = new Map(cells.map((cell) => [JSON.stringify(Object.entries(cell).sort()), cell]));
  return smallFirst([...unique.values()]);
}

function knownShapes(kind: 'cpu' | 'cuda', operation: OperationName): KernelCell[] {
  const gradient = operation === 'weightedDifferences';
  const shapes = {
    cuda: gradient ? LARGE_GRADIENTS : LARGE,
    cpu: gradient ? SMALL_GRADIENTS : SMALL,
  }[kind];
  return shapes.flatMap((shape) =>
    EXPONENTS[operation].map((p): KernelCell => ({
      operation,
      dtype: 'float32',
      p,
      ...shape,
      batch: 1,
    })),
  );
}

function gridOf(
  operation: OperationName,
  axes: NonNullable<KermacCellsOptions['axes']>,
): KernelCell[] {
  const { m, n, k, batch } = FULL_GRID;
  const all: GridAxes = {
    dtype: ['float32'],
    p: EXPONENTS[operation],
    m: axes.m ?? m,
    n: axes.n ?? n,
    k: axes.k ?? k,
    batch: axes.batch ?? batch,
  };
  const cells = gridCells(all, operation);
  return operation === 'weightedDifferences'
    ? cells.map((cell) => ({ ...cell, o: ROWS_OF_COEFFICIENTS }))
    : cells;
}
