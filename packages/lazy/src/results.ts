import { outputsOf } from '@mercer/formula';
import { describeList } from '@mercer/options';
import {
  empty,
  MercerError,
  type DType,
  type StreamOption,
  type Tensor,
  type WorkOptions,
} from '@mercer/tensor';
import { checkOut } from '@mercer/tensor/operation';
import { NO_RESULTS, resultShape, type CallShape, type Results } from './call.js';
import { LazyError } from './lazy-error.js';
import type { IndexDType, IndexOption } from './reduction-types.js';
import { labelOf, type JointTask, type Reductions } from './task.js';

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
 * through a tensor of its own, and so are row numbers that are asked for as int64. `checkIndexDtype` comes first.
 *
 * @throws MercerError as `checkOut` does; INVALID_ARGUMENT for a result that was not asked for
 */
export function makeResults(
  task: JointTask,
  shape: CallShape,
  given: readonly Results[],
  inputs: readonly Tensor[],
  { stream, indexDtype }: StreamOption & IndexOption,
): CallResults {
  const { what, reductions } = task;
  const { device, dtype } = shape;
  checkOuts(task, shape, given, inputs, indexDtype);
  checkRows(what, reductions[0].axis === 1 ? shape.rowsJ : shape.rowsI);
  const made: Tensor[] = [];
  const written: Results[] = [];
  const wanted: Results[] = [];
  try {
    for (const [place, reduction] of reductions.entries()) {
      const dims = resultShape(reduction, shape);
      const [targets, ends]: [MutableResults, MutableResults] = [
        { ...NO_RESULTS },
        { ...NO_RESULTS },
      ];
      for (const { name } of outputsOf(reduction)) {
        // Kernels write row numbers as int32.
        const type = name === 'value' ? dtype : 'int32';
        const asked = name === 'value' ? dtype : (indexDtype ?? type);
        const make = (of: DType): Tensor => {
          const fresh = empty(dims, { dtype: of, device, stream });
          made.push(fresh);
          return fresh;
        };
        const end = given[place]?.[name] ?? make(asked);
        targets[name] = end.isContiguous && asked === type ? end : make(type);
        ends[name] = end;
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

/**
 * Checks the tensors that a caller gave for results: against what they take, the inputs, and each other. Gives the inputs and
 * those tensors, which a further output must not overlap.
 *
 * @throws MercerError as `checkOut` does; INVALID_ARGUMENT for a result that was not asked for
 */
export function checkOuts(
  task: JointTask,
  shape: CallShape,
  given: readonly Results[],
  inputs: readonly Tensor[],
  indexDtype: IndexDType = 'int32',
): readonly Tensor[] {
  const { device, dtype } = shape;
  const taken = [...inputs];
  for (const [place, reduction] of task.reductions.entries()) {
    const label = labelOf(task, place);
    const dims = resultShape(reduction, shape);
    const names = outputsOf(reduction).map(({ name }) => name);
    checkNames(label, names, given[place] ?? NO_RESULTS);
    for (const name of names) {
      const out = given[place]?.[name];
      if (out === undefined) continue;
      const asked = name === 'value' ? dtype : indexDtype;
      checkOut(out, { shape: dims, dtype: asked, device }, taken, label);
      taken.push(out);
    }
  }
  return taken;
}

type MutableResults = { -readonly [N in keyof Results]: Results[N] };

/** Whether the results have no numbers: nothing is to be computed. */
export function areEmpty(results: readonly Results[]): boolean {
  return results.every(({ value, index }) => (value ?? index)?.size === 0);
}

/** Whether the kernels write what was wanted themselves, without a tensor between. */
export function isWrittenWhole({ written, wanted }: CallResults): boolean {
  return wanted.every(
    ({ value, index }, n) => written[n]?.value === value && written[n]?.index === index,
  );
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

/** Whether reductions give row numbers of a dtype, if one is asked for. @throws LazyError INVALID_ARGUMENT */
export function checkIndexDtype(
  what: string,
  indexDtype: IndexDType | undefined,
  reductions: Reductions,
): void {
  if (indexDtype === undefined) return;
  if (!['int32', 'int64'].includes(indexDtype)) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: indexDtype is ${describeList(indexDtype)}. Row numbers are 'int32' or 'int64'.`,
    );
  }
  const numbers = reductions.flatMap(outputsOf).some(({ name }) => name === 'index');
  if (numbers) return;
  const kinds = reductions.map(({ kind }) => kind).join(', ');
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: indexDtype is for row numbers in results, and ${kinds} gives none. Leave it out.`,
  );
}

/** The kernels number the rows of the reduced side as int32. @throws MercerError UNSUPPORTED */
export function checkRows(what: string, rows: number): void {
  if (rows <= MAX_INDEXED_ROWS) return;
  throw new MercerError(
    'UNSUPPORTED',
    `${what}: the reduced side has ${rows} rows, and row numbers are int32: at most 2^31 - 1. Split the data along that side and combine the results.`,
  );
}

/** Copies what was written beside the caller's tensors into them, and disposes it. */
export async function deliver(
  { written, wanted }: Pick<CallResults, 'written' | 'wanted'>,
  { stream, signal }: WorkOptions,
): Promise<readonly Results[]> {
  for (const [place, ends] of wanted.entries()) {
    for (const name of ['value', 'index'] as const) {
      const [from, to] = [written[place]?.[name], ends[name]];
      if (from === undefined || to === undefined || from === to) continue;
      await to.copyFrom(from, { stream, signal });
      from.dispose();
    }
  }
  return wanted;
}
