import { emitCentre, emitCentredParts, partsLength, type ProductsConfig } from '@mercer/kernels';
import { pointerAt, type CallSteps, type CallView } from '../operation/call-steps.js';
import { productsRoutine } from './products-routine.js';

/** Rows of a row-major float32 matrix. */
export interface ProductRows {
  readonly view: CallView;
  readonly rows: number;
  readonly leadingStride: number;
}

/** Rows that were split for products. */
export interface SplitRows {
  readonly rows: number;
  readonly parts: CallView;
  /** Squared norms of the centred rows. */
  readonly norms: CallView;
}

/** Columns of products are a multiple of so many where they may be: the library takes twice as long for an odd number. */
const COLUMNS = 4;

/** So many rows, or a few more. */
export const paddedRows = (rows: number): number => COLUMNS * Math.ceil(rows / COLUMNS);

const CENTRE = emitCentre();
const PARTS = { a: emitCentredParts('a'), b: emitCentredParts('b') };

/** Launches that centre the rows of two matrices of k columns and split them into parts. */
export function addSplitRows(
  steps: CallSteps,
  { a, b }: Readonly<Record<'a' | 'b', ProductRows>>,
  k: number,
  config: ProductsConfig,
): Readonly<Record<'a' | 'b', SplitRows>> {
  const numbers = (...shape: number[]): CallView =>
    steps.scratchMemory({ shape, dtype: 'float32' });
  const centre = numbers(k);
  steps.addKernel(CENTRE.name, CENTRE, {
    values: k,
    pointers: { a: pointerAt(a.view), b: pointerAt(b.view), centre: pointerAt(centre) },
    scalars: { m: a.rows, n: b.rows, k, lda: a.leadingStride, ldb: b.leadingStride },
  });
  const split = (role: 'a' | 'b', { view, rows, leadingStride }: ProductRows): SplitRows => {
    const of = {
      rows,
      parts: numbers(paddedRows(rows), partsLength(config)),
      norms: numbers(rows),
    };
    const kernel = PARTS[role];
    steps.addKernel(kernel.name, kernel, {
      values: rows * k,
      pointers: {
        x: pointerAt(view),
        centre: pointerAt(centre),
        parts: pointerAt(of.parts),
        norms: pointerAt(of.norms),
      },
      scalars: { rows, k, ldx: leadingStride, chunk: config.chunk, chunks: config.chunks },
    });
    return of;
  };
  return { a: split('a', a), b: split('b', b) };
}

/** Products of some of the rows of a, from `first` on, with all of b. */
export interface InnerProducts extends Readonly<Record<'a' | 'b', SplitRows>> {
  readonly what: string;
  readonly config: ProductsConfig;
  readonly first: number;
  readonly count: number;
  /** Row-major, a row for each of a. */
  readonly out: CallView;
  /** Columns that are written: the rows of b, or as many as `paddedRows` says, of which the last ones mean nothing. */
  readonly columns: number;
  readonly ldo: number;
}

/** The products of split rows by cuBLASLt. */
export function addInnerProducts(
  steps: CallSteps,
  { what, config, a, b, first, count, out, columns, ldo }: InnerProducts,
): void {
  const routine = productsRoutine({
    what,
    config,
    m: count,
    n: columns,
    offsetA: first * partsLength(config),
    offsetOut: out.offset,
    ldo,
  });
  const pointers = { a: pointerAt(a.parts), b: pointerAt(b.parts), out: pointerAt(out) };
  const step = { values: 0, pointers, scalars: {} };
  steps.addRoutine(`products ${config.chunks} x ${config.chunk}`, routine, step);
}
