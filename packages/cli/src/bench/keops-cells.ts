import { REDUCTION_NAMES, smallFirst, type ReductionCell, type ReductionName } from './cells.js';

type Shape = Pick<ReductionCell, 'm' | 'n' | 'd'> & Partial<Pick<ReductionCell, 'dtype'>>;
type Shapes = Readonly<Record<ReductionName, readonly Shape[]>>;
type Kind = 'cpu' | 'cuda';

const NEIGHBOURS = 10;
const square = (n: number, d: number): Shape => ({ m: n, n, d });

/** Shapes at which KeOps' times on an H200 are known. */
const GPU_SHAPES: Shapes = {
  gaussianSum: [
    ...[1e3, 1e4, 1e5, 1e6].map((n) => square(n, 3)),
    { ...square(1e5, 3), dtype: 'float64' },
    ...[10, 32, 64, 100, 128, 256, 512, 1000].map((d) => square(1e4, d)),
  ],
  laplacianSum: [square(1e5, 3)],
  logSumExp: [square(1e5, 3)],
  gaussianGradient: [square(1e5, 3), square(1e4, 32), square(1e4, 100)],
  nearest: [
    { m: 1e4, n: 1e5, d: 10 },
    { m: 1e4, n: 1e5, d: 100 },
    { m: 1e4, n: 1e6, d: 3 },
    { m: 1e4, n: 1e6, d: 100 },
  ],
  kMeansAssignment: [{ m: 1e6, n: 1e3, d: 10 }],
  kMeans: [{ m: 1e6, n: 1e3, d: 10 }],
};

/** Shapes that a small CPU computes in a second or less. */
const CPU_SHAPES: Shapes = {
  gaussianSum: [
    square(1e4, 3),
    square(3e4, 3),
    { ...square(1e4, 3), dtype: 'float64' },
    square(3e3, 10),
    square(1e3, 100),
    square(1e3, 1000),
  ],
  laplacianSum: [square(1e4, 3)],
  logSumExp: [square(1e4, 3)],
  gaussianGradient: [square(1e4, 3)],
  nearest: [
    { m: 1e3, n: 3e4, d: 3 },
    { m: 1e3, n: 1e4, d: 10 },
    { m: 1e3, n: 1e4, d: 100 },
  ],
  kMeansAssignment: [{ m: 1e5, n: 100, d: 10 }],
  kMeans: [{ m: 1e5, n: 100, d: 10 }],
};

/** What `mercer bench keops` measures. */
export interface KeopsCellsOptions {
  /** Whose shapes; default the CPU's. */
  readonly kind?: Kind | undefined;
  readonly operations?: readonly ReductionName[] | undefined;
  /** Default: float32, and float64 where that is known. */
  readonly dtype?: readonly ReductionCell['dtype'][] | undefined;
  /** Points, and dimensions; naming one measures every combination instead of the known shapes. */
  readonly n?: readonly number[] | undefined;
  readonly d?: readonly number[] | undefined;
}

/** The cells of the suite, the small problems first. */
export function keopsCells({ kind = 'cpu', n, d, ...rest }: KeopsCellsOptions): ReductionCell[] {
  if (n === undefined && d === undefined) {
    return reductionCells(kind === 'cuda' ? GPU_SHAPES : CPU_SHAPES, rest);
  }
  const shapesOf = (operation: ReductionName): Shape[] =>
    (n ?? [1e4]).flatMap((points) =>
      (d ?? [3]).map((dim) => shapeOf(operation, points, dim, kind)),
    );
  return reductionCells(forEach(shapesOf), rest);
}

/**
 * Cells along the number of points N as in the figures that KeOps publishes: Gaussian sums of N by N points in D = 3, ten
 * iterations of K-means on N points with sqrt(N) centroids in D = 10, the 10 nearest of N points in D = 100.
 */
export function keopsCurves({
  kind = 'cpu',
  operations = ['gaussianSum', 'kMeans', 'nearest'],
  n,
  dtype,
}: Omit<KeopsCellsOptions, 'd'>): ReductionCell[] {
  const dims: Partial<Record<ReductionName, number>> = {
    kMeansAssignment: 10,
    kMeans: 10,
    nearest: 100,
  };
  const shapesOf = (operation: ReductionName): Shape[] =>
    (n ?? CURVE_POINTS[kind][operation] ?? CURVE_POINTS[kind].gaussianSum).map((points) =>
      shapeOf(operation, points, dims[operation] ?? 3, kind),
    );
  return reductionCells(forEach(shapesOf), { operations, dtype });
}

/** Steps of about half a decade. */
const CURVE_POINTS: Readonly<
  Record<
    Kind,
    Partial<Record<ReductionName, readonly number[]>> & { readonly gaussianSum: readonly number[] }
  >
> = {
  cuda: {
    gaussianSum: [100, 300, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6],
    kMeans: [1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7],
    nearest: [1e4, 3e4, 1e5, 3e5, 1e6],
  },
  cpu: {
    gaussianSum: [100, 300, 1e3, 3e3, 1e4],
    kMeans: [1e3, 3e3, 1e4, 3e4, 1e5],
    nearest: [100, 300, 1e3, 3e3, 1e4],
  },
};

/** The shape of an operation on N points. */
function shapeOf(operation: ReductionName, points: number, d: number, kind: Kind): Shape {
  if (operation.startsWith('kMeans')) return { m: points, n: Math.round(Math.sqrt(points)), d };
  const queries = kind === 'cuda' ? 1e4 : 1e3;
  return { m: operation === 'nearest' ? Math.min(points, queries) : points, n: points, d };
}

function forEach(shapesOf: (operation: ReductionName) => readonly Shape[]): Shapes {
  return Object.fromEntries(REDUCTION_NAMES.map((name) => [name, shapesOf(name)])) as Shapes;
}

function reductionCells(
  shapes: Shapes,
  { operations = REDUCTION_NAMES, dtype }: Pick<KeopsCellsOptions, 'operations' | 'dtype'>,
): ReductionCell[] {
  const cells = operations.flatMap((operation) =>
    shapes[operation].flatMap(({ dtype: own = 'float32', m, n, d }) =>
      (dtype ?? [own]).map((type): ReductionCell => ({
        operation,
        dtype: type,
        m,
        n,
        d,
        ...(operation === 'nearest' ? { k: NEIGHBOURS } : {}),
        batch: 1,
      })),
    ),
  );
  return smallFirst([...new Map(cells.map((cell) => [JSON.stringify(cell), cell])).values()]);
}
