import { outputsOf } from '@mercer/formula';
import { checkOut, empty, MercerError, type Stream, type Tensor } from '@mercer/tensor';
import { resultShape, type CallShape, type Results } from './call.js';
import type { Task } from './task.js';

/** The largest number of rows whose numbers are int32. */
const MAX_INDEXED_ROWS = 2 ** 31 - 1;

/** Results of a call: where the kernel writes, and where the caller wanted them. */
export interface CallResults {
  readonly written: Results;
  readonly wanted: Results;
  /** What the call made itself: disposed if it fails. */
  readonly made: readonly Tensor[];
}

/**
 * Makes the results of a call, or checks those that the caller gave. One with other strides than row-major is written
 * through a tensor of its own.
 *
 * @throws MercerError as `checkOut` does; INVALID_ARGUMENT for a result that was not asked for
 */
export function makeResults(
  { what, reduction }: Task,
  shape: CallShape,
  given: Results,
  inputs: readonly Tensor[],
  stream: Stream | undefined,
): CallResults {
  const { device, dtype } = shape;
  const names = outputsOf(reduction).map(({ name }) => name);
  checkNames(what, names, given);
  checkRows(what, reduction.axis === 1 ? shape.rowsJ : shape.rowsI);
  const dims = resultShape(reduction, shape);
  const made: Tensor[] = [];
  const written: { value?: Tensor; index?: Tensor } = {};
  const wanted: { value?: Tensor; index?: Tensor } = {};
  try {
    for (const name of names) {
      const type = name === 'value' ? dtype : 'int32';
      const out = given[name];
      if (out !== undefined) checkOut(out, { shape: dims, dtype: type, device }, inputs, what);
      const isDirect = out?.isContiguous === true;
      const target = isDirect ? out : empty(dims, { dtype: type, device, stream });
      if (!isDirect) made.push(target);
      written[name] = target;
      wanted[name] = out ?? target;
    }
    return { written, wanted, made };
  } catch (error) {
    for (const one of made) one.dispose();
    throw error;
  }
}

function checkNames(what: string, names: readonly string[], given: Results): void {
  for (const name of ['value', 'index'] as const) {
    if (given[name] === undefined || names.includes(name)) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: out has a tensor for ${name === 'value' ? 'values' : 'indices'}, which this reduction does not give. Leave it out.`,
    );
  }
}

/** The kernels number the rows of the reduced side as int32. @throws MercerError UNSUPPORTED */
export function checkRows(what: string, rows: number): void {
  if (rows <= MAX_INDEXED_ROWS) return;
  throw new MercerError(
    'UNSUPPORTED',
    `${what}: the reduced side has ${String(rows)} rows, and row numbers are int32: at most 2^31 - 1. Split the data along that side and combine the results.`,
  );
}

/** Copies what was written beside the caller's tensors into them, and disposes it. */
export async function deliver(
  { written, wanted }: CallResults,
  stream: Stream | undefined,
): Promise<Results> {
  for (const name of ['value', 'index'] as const) {
    const [from, to] = [written[name], wanted[name]];
    if (from === undefined || to === undefined || from === to) continue;
    await to.copyFrom(from, { stream });
    from.dispose();
  }
  return wanted;
}
