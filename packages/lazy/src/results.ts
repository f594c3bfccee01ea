import { outputsOf } from '@mercer/formula';
import { checkOut, empty, MercerError, type Stream, type Tensor } from '@mercer/tensor';
import { resultShape, type CallShape, type Results } from './call.js';
import { labelOf, type JointTask } from './task.js';

/** The largest number of rows whose numbers are int32. */
const MAX_INDEXED_ROWS = 2 ** 31 - 1;

/** Results of a call, by reduction: where the kernels write, and where the caller wanted them. */
export interface CallResults {
  readonly written: readonly Results[];
  readonly wanted: readonly Results[];
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
  task: JointTask,
  shape: CallShape,
  given: readonly Results[],
  inputs: readonly Tensor[],
  stream: Stream | undefined,
): CallResults {
  const { what, reductions } = task;
  const { device, dtype } = shape;
  checkRows(what, reductions[0].axis === 1 ? shape.rowsJ : shape.rowsI);
  const made: Tensor[] = [];
  const taken = [...inputs];
  const written: Results[] = [];
  const wanted: Results[] = [];
  try {
    for (const [place, reduction] of reductions.entries()) {
      const label = labelOf(task, place);
      const dims = resultShape(reduction, shape);
      const names = outputsOf(reduction).map(({ name }) => name);
      checkNames(label, names, given[place] ?? {});
      const [targets, ends]: [MutableResults, MutableResults] = [{}, {}];
      for (const name of names) {
        const type = name === 'value' ? dtype : 'int32';
        const out = given[place]?.[name];
        if (out !== undefined) {
          checkOut(out, { shape: dims, dtype: type, device }, taken, label);
          taken.push(out);
        }
        const isDirect = out?.isContiguous === true;
        const target = isDirect ? out : empty(dims, { dtype: type, device, stream });
        if (!isDirect) made.push(target);
        targets[name] = target;
        ends[name] = out ?? target;
      }
      written.push(targets);
      wanted.push(ends);
    }
    return { written, wanted, made };
  } catch (error) {
    for (const one of made) one.dispose();
    throw error;
  }
}

type MutableResults = { -readonly [N in keyof Results]: Results[N] };

/** Whether the results have no numbers: nothing is to be computed. */
export function areEmpty(results: readonly Results[]): boolean {
  return results.every(({ value, index }) => (value ?? index)?.size === 0);
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
): Promise<readonly Results[]> {
  for (const [place, ends] of wanted.entries()) {
    for (const name of ['value', 'index'] as const) {
      const [from, to] = [written[place]?.[name], ends[name]];
      if (from === undefined || to === undefined || from === to) continue;
      await to.copyFrom(from, { stream });
      from.dispose();
    }
  }
  return wanted;
}
