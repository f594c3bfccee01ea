import { LINEAR_NAMES, smallFirst, type LinearCell, type LinearName } from './cells.js';

type Shape = Pick<LinearCell, 'n' | 'batch'>;

/** Shapes that a small CPU computes in a second or less; the decompositions take the smaller ones. */
const SMALL: readonly Shape[] = [
  { n: 64, batch: 100 },
  { n: 512, batch: 1 },
];
const SHAPES: Readonly<Record<LinearName, readonly Shape[]>> = {
  solveCholesky: [...SMALL, { n: 1024, batch: 4 }],
  solveLU: [...SMALL, { n: 1024, batch: 4 }],
  eigh: SMALL,
  svd: SMALL,
  matmul: [...SMALL, { n: 1024, batch: 4 }],
};

const RIGHT_HAND_SIDES = 16;

/** What `mercer bench linalg` measures. */
export interface LinalgCellsOptions {
  readonly operations?: readonly LinearName[] | undefined;
  readonly dtype?: readonly LinearCell['dtype'][] | undefined;
  /** Orders, and batch sizes; naming one measures every combination instead of the known shapes. */
  readonly n?: readonly number[] | undefined;
  readonly batch?: readonly number[] | undefined;
}

/** The cells of the suite, the small problems first. */
export function linalgCells({
  operations = LINEAR_NAMES,
  dtype = ['float32', 'float64'],
  n,
  batch,
}: LinalgCellsOptions): LinearCell[] {
  const named = n !== undefined || batch !== undefined;
  const combinations = (n ?? [512]).flatMap((order) =>
    (batch ?? [1]).map((count) => ({ n: order, batch: count })),
  );
  const cells = [...new Set(operations)].flatMap((operation) =>
    (named ? combinations : SHAPES[operation]).flatMap((shape) =>
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
