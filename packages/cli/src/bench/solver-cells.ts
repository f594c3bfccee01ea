import {
  PRECONDITIONER_NAMES,
  SOLVER_NAMES,
  smallFirst,
  type PreconditionerName,
  type SolverCell,
  type SolverName,
} from './cells.js';

type Kind = 'cpu' | 'cuda';
type Shape = Pick<SolverCell, 'n' | 'dtype'>;

const both = (n: number): readonly Shape[] => [
  { n, dtype: 'float32' },
  { n, dtype: 'float64' },
];

/** Systems that a GPU solves in seconds, and those that a small CPU does. */
const SHAPES: Readonly<Record<Kind, readonly Shape[]>> = {
  cuda: [...both(1e4), ...both(1e5)],
  cpu: [...both(1000), ...both(3000), { n: 1e4, dtype: 'float32' }],
};

/** Points along which the inverse of a kernel is drawn, in steps of about half a decade. */
const CURVE_POINTS: Readonly<Record<Kind, readonly number[]>> = {
  cuda: [100, 300, 1e3, 3e3, 1e4, 3e4, 1e5, 3e5],
  cpu: [100, 300, 1e3, 3e3],
};

/** What `mercer bench solvers` measures. */
export interface SolverCellsOptions {
  /** Whose shapes; default the CPU's. */
  readonly kind?: Kind | undefined;
  readonly operations?: readonly SolverName[] | undefined;
  readonly dtype?: readonly SolverCell['dtype'][] | undefined;
  /** Points, and their dimensions; naming one measures every combination instead of the known shapes. */
  readonly n?: readonly number[] | undefined;
  readonly d?: readonly number[] | undefined;
  /** Along the number of points instead of the known shapes. */
  readonly curves?: boolean | undefined;
  /** Default: none beside the plain method. */
  readonly preconditioners?: readonly (PreconditionerName | 'none')[] | undefined;
  /** Of the preconditioners; default 100. */
  readonly ranks?: readonly number[] | undefined;
}

/** What `--preconditioners` takes. */
export const PRECONDITIONER_CHOICES = ['none', ...PRECONDITIONER_NAMES] as const;

/** The systems of the suite, the small ones first; a rank that exceeds the points is left out. */
export function solverCells({
  kind = 'cpu',
  operations = SOLVER_NAMES,
  dtype,
  n,
  d,
  curves = false,
  preconditioners = ['none'],
  ranks = [100],
}: SolverCellsOptions): SolverCell[] {
  const points = n ?? (curves ? CURVE_POINTS[kind] : d && [SHAPES[kind][0]?.n ?? 1e4]);
  const known = points?.map((count): Shape => ({ n: count, dtype: 'float32' })) ?? SHAPES[kind];
  const shapes = known.flatMap((shape) =>
    (dtype ?? [shape.dtype]).map((type): Shape => ({ n: shape.n, dtype: type })),
  );
  const ways = preconditioners.flatMap((name) =>
    name === 'none' ? [{}] : ranks.map((rank) => ({ preconditioner: name, rank })),
  );
  const cells = operations.flatMap((operation) =>
    shapes.flatMap((shape) =>
      (d ?? [3]).flatMap((dims) =>
        ways
          .filter(({ rank = 0 }: Partial<SolverCell>) => rank <= shape.n)
          .map((way): SolverCell => ({ operation, ...shape, d: dims, ...way, batch: 1 })),
      ),
    ),
  );
  return smallFirst([...new Map(cells.map((cell) => [JSON.stringify(cell), cell])).values()]);
}
