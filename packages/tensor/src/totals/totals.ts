import type { RealExpr } from '@mercer/formula';
import {
  cpuReduceKernel,
  emitTotals,
  mostRuns,
  planTotals,
  segmentNames,
  totalsBlocks,
  type CudaLimits,
  type DType,
  type TotalsProblem,
} from '@mercer/kernels';
import type { OptionNames } from '@mercer/options';
import { sizeOfShape } from '../checked-size.js';
import { LOAD_OPTIONS, type LoadOptions } from '../device.js';
import { isRowMajor } from '../layout.js';
import { addMap, addMaps, numbersFor, type MapStep } from '../map-kernel.js';
import { CallSteps, pointerAt, type CallView } from '../operation/call-steps.js';
import type { CallPointer } from '../operation/known-call.js';
import { keyPart, Operation, type CallPlan } from '../operation/operation.js';
import { MercerError } from '../mercer-error.js';
import { coreOf } from '../operations.js';
import { assertTensor, type Tensor } from '../tensor.js';
import { checkOut, commonDevice } from '../tensor-checks.js';

/** What {@link totals} computes. */
export interface Totals {
  /** Formulas of an element `x`, whose sums over all elements of all tensors the results know by these names. */
  readonly terms: Readonly<Record<string, RealExpr>>;
  /** Formulas of the sums, the numbers and the parameters. Hold them: they are compiled once for as long as they live. */
  readonly results: Readonly<Record<string, RealExpr>>;
}

/** What {@link totals} reads and writes. */
export interface TotalsOptions extends LoadOptions {
  /** 0-d tensors that results read. */
  readonly numbers?: Readonly<Record<string, Tensor>> | undefined;
  readonly parameters?: Readonly<Record<string, number>> | undefined;
  /** 0-d tensors that take results. They may be numbers that are read. */
  readonly out?: Readonly<Record<string, Tensor | undefined>> | undefined;
  /** Of results that no tensor takes; default float64. */
  readonly dtype?: Readonly<Record<string, DType | undefined>> | undefined;
}

const OPTIONS: OptionNames<TotalsOptions> = {
  ...LOAD_OPTIONS,
  numbers: true,
  parameters: true,
  out: true,
  dtype: true,
};

type Arguments = readonly [what: Totals, tensors: readonly Tensor[]];

const sorted = <T>(record: Readonly<Record<string, T>> = {}): [string, T][] =>
  Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));

const numbersOf = ({ parameters = {} }: TotalsOptions): Readonly<Record<string, number>> =>
  parameters;

const tensorsOf = ([{ results }, tensors]: Arguments, { numbers, out = {} }: TotalsOptions) => ({
  inputs: [...tensors, ...sorted(numbers).map(([, one]) => one)],
  outs: Object.keys(results).map((name) => out[name]),
});

const operation = new Operation<Arguments, TotalsOptions>({
  what: 'totals',
  options: OPTIONS,
  freeOptions: { out: true, stream: true },
  identify: (args, options) => {
    const [{ terms, results }, tensors] = args;
    const { numbers, parameters, dtype } = options;
    const dtypes = Object.keys(results).map((name) => keyPart(dtype?.[name]));
    const exprs = [...Object.entries(terms), ...Object.entries(results)];
    const names = [sorted(numbers), sorted(parameters)].map((one) => one.map(([name]) => name));
    const key = `${tensors.length} ${exprs.map(([name, { id }]) => `${name} ${id}`).join()} ${names.join(';')} ${dtypes.join()}`;
    return { key, tensors: tensorsOf(args, options) };
  },
  plan: (args, options) => {
    const [{ terms, results }, tensors] = args;
    const { parameters = {}, dtype = {} } = options;
    const all = tensorsOf(args, options);
    const device = commonDevice(all.inputs, 'totals');
    const steps = new CallSteps(coreOf(device), all);
    const to = Object.keys(results).map((name, r) =>
      steps.result({ shape: [], dtype: all.outs[r]?.dtype ?? dtype[name] ?? 'float64' }),
    );
    const numbers = sorted(options.numbers).map(([name, one], k) => ({
      name,
      dtype: one.dtype,
      view: steps.input(tensors.length + k),
    }));
    const runs = tensors.flatMap(({ size }, place) => (size === 0 ? [] : [[steps.input(place)]]));
    const finish = { exprs: Object.values(results), to, numbers, parameters };
    const work = { terms, elements: ['x'], runs, finish, sums: undefined };
    const scalars =
      device.limits.kind === 'cuda' ? onGpu(steps, work, device.limits) : onCpu(steps, work);
    const holds = [...Object.values(terms), ...Object.values(results)];
    return { tensors: all, steps, holds, scalars };
  },
});

/** What {@link sums} writes. */
export interface SumsOptions extends LoadOptions {
  /** Takes the sums: float64 (terms), on the vectors' device. */
  readonly out?: Tensor<'float64'> | undefined;
}

type SumsArguments = readonly [
  terms: readonly RealExpr[],
  vectors: Readonly<Record<string, Tensor>>,
];

const sumsOperation = new Operation<SumsArguments, SumsOptions>({
  what: 'sums',
  options: { ...LOAD_OPTIONS, out: true },
  freeOptions: { out: true, stream: true },
  identify: ([terms, vectors], { out }) => {
    const named = sorted(vectors);
    const names = named.map(([name]) => name).join();
    const key = `${terms.map(({ id }) => id).join()} ${names}`;
    return { key, tensors: { inputs: named.map(([, one]) => one), outs: [out] } };
  },
  plan: ([terms, vectors], { out }) => {
    const named = sorted(vectors);
    checkVectors(named);
    const tensors = { inputs: named.map(([, one]) => one), outs: [out] };
    const device = commonDevice(tensors.inputs, 'sums');
    const spec = { shape: [terms.length], dtype: 'float64' } as const;
    if (out !== undefined) checkOut(out, { ...spec, device }, tensors.inputs, 'sums');
    const steps = new CallSteps(coreOf(device), tensors);
    const run = tensors.inputs.map((_, place) => steps.input(place));
    const work = {
      terms: Object.fromEntries(terms.map((term, r) => [`t${r}`, term])),
      elements: named.map(([name]) => name),
      runs: sizeOfRun(run) === 0 ? [] : [run],
      finish: { exprs: [], to: [], numbers: [], parameters: {} },
      sums: steps.rowMajorResult(spec),
    };
    if (device.limits.kind === 'cuda') onGpu(steps, work, device.limits);
    else onCpu(steps, work);
    return { tensors, steps, holds: terms };
  },
});

/** @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH */
function checkVectors(vectors: readonly (readonly [name: string, one: Tensor])[]): void {
  const [[first, like]] = vectors as [[string, Tensor]];
  for (const [name, one] of vectors) {
    assertTensor(one, `sums: ${name}`);
    if (one.rank !== 1 || one.size !== like.size || !isRowMajor(one.shape, one.strides)) {
      throw new MercerError(
        'SHAPE_MISMATCH',
        `sums: ${name} is ${one.label} with strides ${one.strides.join()}, beside ${first} of ${like.size} elements. Pass vectors of one length whose elements lie side by side.`,
      );
    }
    if (one.dtype !== like.dtype) {
      throw new MercerError(
        'DTYPE_MISMATCH',
        `sums: ${name} is ${one.label}, and ${first} is ${like.label}. Cast one of them.`,
      );
    }
  }
}

/**
 * Sums of formulas over the elements of vectors that lie beside each other, in one pass over them and on a GPU in one launch, computed in float64. The bits of a sum depend on the
 * length, the number of terms and the dtype, on a CPU on its threads too, on a GPU on whether the vectors lie at multiples of 16 bytes.
 *
 * ```ts
 * import { mul, variable } from '@mercer/formula';
 * import { tensor } from '@mercer/tensor';
 * import { sums } from '@mercer/tensor/operation';
 *
 * const [a, b] = [variable('a'), variable('b')];
 * const vectors = { a: await tensor([1, 2], { device: 'cpu' }), b: await tensor([3, 4], { device: 'cpu' }) };
 * const products = await sums([mul(a, b), mul(a, a)], vectors);
 * console.log(await products.toNested()); // [ 11, 5 ]
 * ```
 *
 * @param terms formulas of an element of each vector, by their names. Hold them: they are compiled once for as long as they live. 191 at most on a GPU
 * @param vectors one or more, of one length and dtype, on one device
 * @returns float64 (terms)
 * @throws MercerError SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, OVERLAP, DISPOSED
 */
export async function sums(
  terms: readonly RealExpr[],
  vectors: Readonly<Record<string, Tensor>>,
  options?: SumsOptions,
): Promise<Tensor<'float64'>> {
  const args: SumsArguments = [terms, vectors];
  const [found] = await sumsOperation.call(args, options);
  return found as Tensor<'float64'>;
}

/**
 * Sums of formulas over all elements of tensors, and numbers that follow from the sums, on the device, computed in float64: on a GPU in one launch for tensors of one dtype that lie in rows of
 * memory, others being copied before. The bits of a sum depend on the sizes, on a CPU on its threads too.
 *
 * @param tensors one or more, on one device
 * @throws MercerError DEVICE_MISMATCH, DISPOSED
 */
export async function totals(
  what: Totals,
  tensors: readonly Tensor[],
  options?: TotalsOptions,
): Promise<Readonly<Record<string, Tensor>>> {
  const found = await operation.call([what, tensors], options);
  const names = Object.keys(what.results);
  return Object.fromEntries(names.map((name, at) => [name, found[at] as Tensor]));
}

interface Work extends Pick<Totals, 'terms'> {
  /** What the terms call the elements of each view of a run. */
  readonly elements: readonly string[];
  /** Views of one shape that are read together. */
  readonly runs: readonly (readonly CallView[])[];
  /** What follows from the sums. */
  readonly finish: {
    readonly exprs: readonly RealExpr[];
    readonly to: readonly CallView[];
    readonly numbers: readonly (TotalsProblem['numbers'][0] & { readonly view: CallView })[];
    readonly parameters: Readonly<Record<string, number>>;
  };
  /** Takes the sums themselves. */
  readonly sums: CallView | undefined;
}

/** One kernel over the runs of memory. */
function onGpu(steps: CallSteps, work: Work, limits: CudaLimits): CallPlan['scalars'] {
  const { terms, elements, finish, sums } = work;
  const { exprs, to, numbers, parameters } = finish;
  const dtypes = new Set(work.runs.flat().map(({ dtype }) => dtype));
  const [only = 'float32'] = dtypes;
  const dtype = dtypes.size <= 1 ? only : dtypes.has('float64') ? 'float64' : 'float32';
  const common = {
    terms,
    elements,
    dtype,
    numbers: numbers.map(({ name, dtype: one }) => ({ name, dtype: one })),
    parameters,
    results: exprs.map((expr, r) => ({ expr, dtype: to[r]?.dtype ?? 'float64' })),
    sums: sums !== undefined,
  };
  const lies = work.runs.filter((run) =>
    run.every((view) => view.dtype === dtype && isRowMajor(view.shape, view.strides)),
  );
  const most = mostRuns(common, limits);
  // what is left is gathered into one run
  const runs =
    lies.length === work.runs.length && lies.length <= most
      ? lies
      : lies.slice(0, Math.max(0, most - 1));
  const rest = work.runs.filter((run) => !runs.includes(run));
  const gathered = rest.reduce((sum, run) => sum + sizeOfRun(run), 0);
  const pieces = [...runs];
  if (gathered > 0 || pieces.length === 0) {
    const scratch = elements.map(() => steps.scratchMemory({ shape: [gathered], dtype }));
    let offset = 0;
    for (const run of rest) {
      for (const [k, view] of run.entries())
        steps.copy(view, steps.rowMajorView(scratch[k] as CallView, view.shape, offset));
      offset += sizeOfRun(run);
    }
    pieces.push(scratch);
  }
  const counts = pieces.map(sizeOfRun);
  const { plan, scalars } = planTotals({ ...common, counts }, limits);
  const pointers: Record<string, CallPointer> = {};
  for (const [s, nameOf] of segmentNames(plan.runs).entries()) {
    for (const [k, view] of (pieces[s] ?? []).entries())
      pointers[nameOf(`x${k}`)] = pointerAt(view);
  }
  for (const [k, { view }] of numbers.entries()) pointers[`f${k}`] = pointerAt(view);
  for (const [r, view] of to.entries()) pointers[`out${r}`] = pointerAt(view);
  if (sums !== undefined) pointers['sums'] = pointerAt(sums);
  const blocks = totalsBlocks(plan, scalars);
  const partials = steps.scratchMemory({ shape: [blocks, plan.terms.length], dtype: 'float64' });
  const ticket = steps.scratchMemory({ shape: [1], dtype: 'int32' });
  const ids = [...plan.terms, ...plan.results].map(({ expr }) => expr.id).join(' ');
  const { terms: named, results, ...written } = plan;
  const key = `totals ${ids} ${JSON.stringify([written, named.map(({ name }) => name), results.map((one) => one.dtype)])}`;
  steps.addKernel(key, emitTotals(plan), {
    values: counts.reduce((sum, count) => sum + count, 0),
    pointers: { ...pointers, partials: pointerAt(partials), ticket: pointerAt(ticket) },
    scalars,
    zeroed: ticket,
  });
  return numbersFor(plan.parameters, numbersOf);
}

/** Elements of a part: a thread is woken for no fewer. */
const LEAST_PART = 2 ** 16;

/** Terms that are in memory at a time: they stay in a cache. */
const CHUNK = 2 ** 20;

/** Elements of a map that one thread computes: fewer are cut, so that every thread has some. */
const TASK = 2 ** 15;

/** A view in parts of at most so many elements, which follow each other in its order: cut along its first axes. */
function cut(view: CallView, most: number): readonly CallView[] {
  if (sizeOfShape(view.shape) <= most) return [view];
  const [extent = 1, ...shape] = view.shape;
  const [stride = 0, ...strides] = view.strides;
  const row = sizeOfShape(shape);
  const rows = Math.floor(most / row);
  const parts: CallView[] = [];
  for (let at = 0; at < extent; at += Math.max(1, rows)) {
    const offset = view.offset + at * stride;
    if (rows === 0) parts.push(...cut({ ...view, shape, strides, offset }, most));
    else parts.push({ ...view, shape: [Math.min(rows, extent - at), ...shape], offset });
  }
  return parts;
}

/** Runs in pieces of at most so many elements, and these in chunks. */
function chunksOf(runs: Work['runs'], most: number, piece: number): readonly Work['runs'][] {
  const chunks: (readonly CallView[])[][] = [];
  let left = 0;
  for (const run of runs) {
    const [first = [], ...others] = run.map((view) => cut(view, piece));
    for (const [at, part] of first.entries()) {
      const size = sizeOfShape(part.shape);
      if (size > left) {
        chunks.push([]);
        left = most;
      }
      chunks.at(-1)?.push([part, ...others.map((parts) => parts[at] as CallView)]);
      left -= size;
    }
  }
  return chunks;
}

const sizeOfRun = ([view]: readonly CallView[]): number => sizeOfShape(view?.shape ?? []);

/** The terms of a chunk in memory and their sums, one chunk after the other; the sums of these; and a map of them. */
function onCpu(
  steps: CallSteps,
  { terms, elements, runs, finish, sums }: Work,
): CallPlan['scalars'] {
  const { limits } = steps.device;
  const cores = limits.kind === 'cpu' ? limits.cores : 1;
  const names = Object.keys(terms);
  const count = names.length;
  const scratch = (size: number): CallView =>
    steps.scratchMemory({ shape: [count * size], dtype: 'float64' });
  const found = sums ?? scratch(1);
  const none = { parameters: {}, indices: {}, computesIn: 'float64' } as const;
  const most = Math.ceil(CHUNK / count);
  const piece = most < cores * TASK ? Math.max(1, Math.floor(most / cores)) : most;
  const chunks = chunksOf(runs, most, piece);
  const sizes = chunks.map((chunk) => chunk.reduce((sum, run) => sum + sizeOfRun(run), 0));
  const partsOf = (size: number): number =>
    Math.max(1, Math.min(cores, Math.floor(size / LEAST_PART)));
  const largest = Math.max(0, ...sizes);
  if (largest > 0) {
    // the terms one behind the other
    const flat = scratch(largest);
    const partial = scratch(partsOf(largest));
    const ofChunks = chunks.length === 1 ? found : scratch(chunks.length);
    for (const [c, chunk] of chunks.entries()) {
      let offset = 0;
      const maps = chunk.map((run): MapStep => {
        const { shape } = run[0] as CallView;
        const at = offset;
        offset += sizeOfShape(shape);
        return {
          ...none,
          results: names.map((name, r) => ({
            expr: terms[name] as RealExpr,
            to: steps.rowMajorView(flat, shape, r * largest + at),
          })),
          shape,
          inputs: run.map(({ dtype, strides }, k) => ({ name: elements[k] ?? '', dtype, strides })),
          views: run,
        };
      });
      addMaps(steps, maps, () => ({}));
      const parts = partsOf(offset);
      const to = steps.rowMajorView(ofChunks, [count], c * count);
      const rows = { outer: count, inner: 1, strideCount: 1, strideInner: 1 };
      const first = { ...rows, count: offset, strideOuter: largest, parts };
      addSum(steps, flat, parts === 1 ? to : partial, first);
      if (parts > 1)
        addSum(steps, partial, to, { ...rows, count: parts, strideOuter: parts, parts: 1 });
    }
    if (chunks.length > 1) {
      const all = { outer: 1, inner: count, strideCount: count, strideInner: 1 };
      addSum(steps, ofChunks, found, { ...all, count: chunks.length, strideOuter: 0, parts: 1 });
    }
  } else steps.fill(found, 0n);
  if (finish.exprs.length === 0) return undefined;
  const { exprs, to, numbers, parameters } = finish;
  const inputs = [
    ...names.map((name, r) => ({ name, view: steps.rowMajorView(found, [], r) })),
    ...numbers,
  ];
  const finished = addMap(
    steps,
    {
      ...none,
      results: exprs.map((expr, r) => ({ expr, to: to[r] as CallView })),
      shape: [],
      inputs: inputs.map(({ name, view }) => ({ name, dtype: view.dtype, strides: [] })),
      views: inputs.map(({ view }) => view),
      parameters,
    },
    numbersOf,
  );
  return finished.scalars;
}

/** @param how the strides of {@link cpuReduceKernel}, of `parts` parts */
function addSum(
  steps: CallSteps,
  from: CallView,
  to: CallView,
  how: Readonly<
    Record<
      'outer' | 'inner' | 'count' | 'strideOuter' | 'strideCount' | 'strideInner' | 'parts',
      number
    >
  >,
): void {
  steps.addKernel('reduce sum float64 float64', cpuReduceKernel('sum', 'float64', 'float64'), {
    values: how.outer * how.inner * how.count,
    pointers: { src: pointerAt(from), dst: pointerAt(to) },
    scalars: { ...how, perPart: Math.ceil(how.count / how.parts), divisor: 1 },
  });
}
