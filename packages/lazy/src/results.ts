import { outputsOf, traitsOf, type Reduction, type ReductionKind } from '@mercer/formula';
import { addsUp } from '@mercer/kernels';
import { describeList, describeValue, own, refusePromise } from '@mercer/options';
import { isTensor, MercerError, type DType, type Tensor } from '@mercer/tensor';
import { checkOut, sidesOf, type MemoryView } from '@mercer/tensor/operation';
import type { LazyDType } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';
import type { PairCall } from './pair-call.js';
import type {
  ComputeOptions,
  IndexDType,
  IndexOption,
  OutDType,
  OutDTypeOption,
  ResultOf,
  ValuesAndIndices,
} from './reduction-types.js';
import { labelOf, type JointTask, type Reductions } from './task.js';

/** The tensors that a reduction writes. */
export interface Results {
  readonly value: Tensor | undefined;
  readonly index: Tensor | undefined;
}

/** No results. */
export const NO_RESULTS: Results = Object.freeze({ value: undefined, index: undefined });

/** Values and row numbers by reduction, as the one list that a call has. */
export function asTensors(
  reductions: Reductions,
  results: readonly (Results | undefined)[],
): (Tensor | undefined)[] {
  const tensors: (Tensor | undefined)[] = [];
  for (const [place, { kind }] of reductions.entries()) {
    for (const name of traitsOf(kind).outputs) tensors.push(results[place]?.[name]);
  }
  return tensors;
}

/** The other way: the list of {@link asTensors} by reduction. */
export function asResults(reductions: Reductions, tensors: readonly Tensor[]): readonly Results[] {
  let next = 0;
  return reductions.map(({ kind }) => {
    const results: { -readonly [N in keyof Results]: Results[N] } = {
      value: undefined,
      index: undefined,
    };
    for (const name of traitsOf(kind).outputs) results[name] = tensors[next++];
    return results;
  });
}

/** Results as their kind gives them. */
export function asResult<
  K extends ReductionKind,
  D extends OutDType,
  I extends IndexDType = 'int32',
>({ value, index }: Results): ResultOf<K, D, I> {
  const result =
    value === undefined ? index : index === undefined ? value : { values: value, indices: index };
  return result as ResultOf<K, D, I>;
}

/** The caller's `out` by what it takes. @throws MercerError INVALID_ARGUMENT */
export function asOut(what: string, reduction: Reduction, out: unknown): Results | undefined {
  if (out === undefined) return undefined;
  refusePromise(out, `${what}: out`);
  const [first, second] = outputsOf(reduction).map(({ name }) => name);
  if (second === undefined && isTensor(out)) return { ...NO_RESULTS, [first ?? 'value']: out };
  if (second !== undefined && typeof out === 'object' && out !== null && !isTensor(out)) {
    const { values, indices } = own(out as Partial<ValuesAndIndices>, 'values', 'indices');
    return { value: values, index: indices };
  }
  const wanted = second === undefined ? 'a tensor' : 'an object { values, indices } of two tensors';
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: out is not ${wanted}, but ${describeValue(out)}. Pass ${wanted}, for example from empty(shape).`,
  );
}

/** The same for a task, which may have several by their names: the tensors that it takes, by result. @throws LazyError, MercerError */
export function asOuts(task: JointTask, out: unknown): readonly (Tensor | undefined)[] {
  const { what, reductions, names } = task;
  if (out === undefined || names === undefined) {
    return asTensors(reductions, [asOut(what, reductions[0], out)]);
  }
  if (typeof out !== 'object' || out === null) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: out is ${describeValue(out)}. Pass an object with some of ${names.join(', ')}.`,
    );
  }
  const given = own(out as Readonly<Record<string, unknown>>, ...names);
  const other = Object.keys(out).find((name) => !names.includes(name));
  if (other !== undefined) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: out has '${other}', and the results are ${names.join(', ')}. Pass tensors under these names.`,
    );
  }
  const results = reductions.map((one, at) => {
    const name = names[at] ?? '';
    return asOut(`${what}: ${name}`, one, given[name]);
  });
  return asTensors(reductions, results);
}

/** What a call makes, or takes as `out`. */
export interface WantedResult {
  /** The place of its reduction. */
  readonly place: number;
  readonly name: 'value' | 'index';
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/**
 * The results of a call, in the order of {@link asTensors}: (..batch, kept rows, dim). Kernels write row numbers as int32, and values in
 * the dtype of the call.
 */
export function wantedResults(
  reductions: Reductions,
  { sizes }: PairCall,
  { indexDtype = 'int32', outDtype = sizes.dtype }: IndexOption & OutDTypeOption = {},
): readonly WantedResult[] {
  return reductions.flatMap((reduction, place) => {
    const { keptRows } = sidesOf(reduction, sizes);
    return outputsOf(reduction).map(({ name, dim }) => ({
      place,
      name,
      shape: [...sizes.batchShape, keptRows, dim],
      dtype: name === 'value' ? outDtype : indexDtype,
    }));
  });
}

/**
 * Checks the tensors that a caller gave for results: against what they take, what the call reads, and each other. Gives what it
 * reads and those tensors, which a further output must not overlap.
 *
 * @throws MercerError as `checkOut` does
 */
export function checkOuts(
  task: JointTask,
  { device }: PairCall,
  wanted: readonly WantedResult[],
  outs: readonly (Tensor | undefined)[],
  read: readonly MemoryView[],
): readonly MemoryView[] {
  const taken = [...read];
  for (const [at, { place, shape, dtype }] of wanted.entries()) {
    const out = outs[at];
    if (out === undefined) continue;
    checkOut(out, { shape, dtype, device }, taken, labelOf(task, place));
    taken.push(out);
  }
  return taken;
}

/** How sums are added up, by option. */
const SUM_OPTIONS = {
  accumulate: ['float32', 'float64'],
  sumScheme: ['block', 'direct', 'kahan'],
} as const;

/** @throws LazyError INVALID_ARGUMENT for a way of computing that there is not */
export function checkCompute(what: string, options: ComputeOptions): void {
  const fastMath: unknown = options.fastMath;
  if (fastMath !== undefined && typeof fastMath !== 'boolean') {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: fastMath is ${describeList(fastMath)}. Pass true or false.`,
    );
  }
  for (const [name, allowed] of Object.entries(SUM_OPTIONS)) {
    const value = options[name as keyof typeof SUM_OPTIONS];
    if (value === undefined || (allowed as readonly unknown[]).includes(value)) continue;
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: ${name} is ${describeList(value)}. Use one of ${allowed.join(', ')}.`,
    );
  }
}

/** How a reduction is to be computed: what derivatives compute of kinds that add up nothing takes no option of sums. */
export function computeOptionsOf(
  { kind }: Pick<Reduction, 'kind'>,
  { accumulate, sumScheme, fastMath }: ComputeOptions,
): ComputeOptions {
  return addsUp(kind) ? { accumulate, sumScheme, fastMath } : { fastMath };
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

/** What values that are computed in a dtype can be. */
const OUT_DTYPES: Readonly<Record<LazyDType, readonly OutDType[]>> = {
  float32: ['float16', 'bfloat16', 'float32'],
  float64: ['float16', 'bfloat16', 'float32', 'float64'],
};

/** Whether reductions give values of a dtype, if one is asked for. @throws LazyError INVALID_ARGUMENT */
export function checkOutDtype(
  what: string,
  outDtype: OutDType | undefined,
  reductions: Reductions,
  dtype: LazyDType,
): void {
  if (outDtype === undefined) return;
  if (!OUT_DTYPES.float64.includes(outDtype)) {
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: outDtype is ${describeList(outDtype)}. Use one of ${OUT_DTYPES[dtype].join(', ')}.`,
    );
  }
  const values = reductions.flatMap(outputsOf).some(({ name }) => name === 'value');
  if (!values) {
    const kinds = reductions.map(({ kind }) => kind).join(', ');
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: outDtype is for values in results, and ${kinds} gives row numbers. Leave it out, or use indexDtype.`,
    );
  }
  if (OUT_DTYPES[dtype].includes(outDtype)) return;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: outDtype is ${outDtype}, and the values are computed in ${dtype}, so that they have no more digits. Cast the inputs to ${outDtype}, or the result.`,
  );
}

/** The largest number of rows whose numbers are int32. */
export const MAX_INDEXED_ROWS = 2 ** 31 - 1;

/** The kernels number the rows of the reduced side as int32. @throws MercerError UNSUPPORTED */
export function checkRows(what: string, of: Pick<Reduction, 'axis'>, { sizes }: PairCall): void {
  const { reducedRows } = sidesOf(of, sizes);
  if (reducedRows <= MAX_INDEXED_ROWS) return;
  throw new MercerError(
    'UNSUPPORTED',
    `${what}: the reduced side has ${reducedRows} rows, and row numbers are int32: at most 2^31 - 1. Split the data along that side and combine the results.`,
  );
}
