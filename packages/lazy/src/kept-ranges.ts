import { MercerError, type SignalOption, type Tensor } from '@mercer/tensor';
import type { CallShape, RangeArguments } from './call.js';
import type { Pass } from './passes.js';
import { passRanges, type RangesOption } from './range-tensors.js';
import type { JointTask } from './task.js';

/** Ranges on their device. */
export interface KeptRanges {
  /** Of each pass. */
  readonly arrays: readonly (RangeArguments | undefined)[];
  readonly tables: readonly Tensor[];
}

/** Checks ranges and places them for every pass of a prepared call. @throws LazyError for ranges that do not fit the rows */
export async function keepRanges(
  { what, reductions }: JointTask,
  passes: readonly Pass[],
  shape: CallShape,
  options: SignalOption & { readonly ranges?: RangesOption | undefined },
): Promise<KeptRanges> {
  const tables: Tensor[] = [];
  try {
    const arrays = await passRanges(what, reductions[0], passes, shape, options, tables);
    return { arrays, tables };
  } catch (error) {
    for (const one of tables) one.dispose();
    throw error;
  }
}

/** Whether ranges are still there and a call has the rows that they were made for. @throws MercerError DISPOSED, SHAPE_MISMATCH */
export function checkKept(
  what: string,
  { tables }: KeptRanges,
  { rowsI, rowsJ }: CallShape,
  example: CallShape,
): void {
  if (tables.some(({ disposed }) => disposed)) {
    throw new MercerError(
      'DISPOSED',
      `${what}: the prepared call was disposed, and its ranges with it. Prepare another.`,
    );
  }
  if (rowsI === example.rowsI && rowsJ === example.rowsJ) return;
  const sides = (of: Pick<CallShape, 'rowsI' | 'rowsJ'>): string =>
    `${of.rowsI} rows of i and ${of.rowsJ} of j`;
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: prepared with ranges for ${sides(example)}, called with ${sides({ rowsI, rowsJ })}. Prepare another with ranges for these rows, or pass ranges to a call that is not prepared.`,
  );
}
