import { LINEAR_NAMES, smallFirst, type LinearCell, type LinearName } from './cells.js';

type Shape = Pick<LinearCell, 'n' | 'batch'>;

/** Shapes that keep a GPU busy: many small matrices, some of the middle, one large. */
const GPU_SOLVES: readonly Shape[] = [
  { n: 64, batch: 64 },
  { n: 256, batch: 64 },
  { n: 1024, batch: 16 },
  { n: 4096, batch: 4 },
  { n: 8192, batch: 1 },
];
const GPU_EIGEN: readonly Shape[] = [
  { n: 64, batch: 64 },
  { n: 256, batch: 64 },
  { n: 1024, batch: 16 },
  { n: 4096, batch: 4 },
];
const GPU_SHAPES: Readonly<Record<LinearName, readonly Shape[]>> = {
  solveCholesky: GPU_SOLVES,
  solveLU: GPU_SOLVES,
  eigh: GPU_EIGEN,
  svd: [
    { n: 256, batch: 16 },
    { n: 1024, batch: 4 },
  ],
  matmul: GPU_EIGEN,
};

/** Shapes that a small CPU computes in a second or less; the decompositions take the smaller ones. */
const SMALL: readonly Shape[] = [
  { n: 64, batch: 100 },
  { n: 512, batch: 1 },
];
const CPU_SHAPES: Readonly<Record<LinearName, readonly Shape[]>> = {
  solveCholesky: [...SMALL, { n: 1024, batch: 4 }],
  solveLU: [...SMALL, { n: 1024, batch: 4 }],
  eigh: SMALL,
  svd: SMALL,
  matmul: [...SMALL, { n: 1024, batch: 4 }],
};

const RIGHT_HAND_SIDES = 16;

/** What `mercer bench linalg` measures. */
export interface LinalgCellsOptions {
  /** Whose shapes; default the CPU's. */
  readonly kind?: 'cpu' | 'cuda' | undefined;
  readonly operations?: readonly LinearName[] | undefined;
  readonly dtype?: readonly LinearCell['dtype'][] | undefined;
  /** Orders, and batch sizes; naming one measures every combination instead of the known shapes. */
  readonly n?: readonly number[] | undefined;
  readonly batch?: readonly number[] | undefined;
}

/** The cells of the suite, the small problems first. */
export function linalgCells({
  kind = 'cpu',
  operations = LINEAR_NAMES,
  dtype = ['float32', 'float64'],
  n,
  batch,
}: LinalgCellsOptions): LinearCell[] {
  const shapes = kind === 'cuda' ? GPU_SHAPES : CPU_SHAPES;
  const named = n !== undefined || batch !== undefined;
  const combinations = (n ?? [512]).flatMap((order) =>
    (batch ?? [1]).map((count) => ({ n: order, batch: count })),
  );
  const cells = [...new Set(operations)].flatMap((operation) =>
    (named ? combinations : shapes[operation]).flatMap((shape) =>
      dtype.map((type): LinearCell => ({
        operation,
        dtype: type,
        ...shape,
        ...(operation.startsWith('solve') ? { rightHandSides: RIGHT_HAND_SIDES } : {}),
      })),
    ),
  );
  return smallFirst(cells);
}
