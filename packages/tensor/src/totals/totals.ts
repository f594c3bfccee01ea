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
import { addMap, addMaps, numbersFor, type MapStep } from '../map-kernel.js';
import { CallSteps, pointerAt, type CallView } from '../operation/call-steps.js';
import type { CallPointer } from '../operation/known-call.js';
import { keyPart, Operation, type CallPlan } from '../operation/operation.js';
import { coreOf } from '../operations.js';
import type { Tensor } from '../tensor.js';
import { commonDevice } from '../tensor-checks.js';

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
    const views = tensors.flatMap(({ size }, place) => (size === 0 ? [] : [steps.input(place)]));
    const work = { terms, exprs: Object.values(results), to, numbers, views, parameters };
    const scalars =
      device.limits.kind === 'cuda' ? onGpu(steps, work, device.limits) : onCpu(steps, work);
    const holds = [...Object.values(terms), ...Object.values(results)];
    return { tensors: all, steps, holds, scalars };
  },
});

/**
 * Sums of formulas over all elements of tensors, and numbers that follow from the sums, on the device, computed in float64: on a GPU in one launch for tensors of one dtype that lie in rows of
 * memory, others being copied before. The bits of a sum depend on the sizes alone.
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
  readonly exprs: readonly RealExpr[];
  readonly to: readonly CallView[];
  readonly numbers: readonly (TotalsProblem['numbers'][0] & { readonly view: CallView })[];
  readonly views: readonly CallView[];
  readonly parameters: Readonly<Record<string, number>>;
}

const isRow = ({ shape, strides }: CallView): boolean => {
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const extent = shape[axis] ?? 1;
    if (extent !== 1 && strides[axis] !== step) return false;
    step *= extent;
  }
  return true;
};

/** One kernel over the runs of memory. */
function onGpu(
  steps: CallSteps,
  { terms, exprs, to, numbers, views, parameters }: Work,
  limits: CudaLimits,
): CallPlan['scalars'] {
  const dtypes = new Set(views.map(({ dtype }) => dtype));
  const [only = 'float32'] = dtypes;
  const dtype = dtypes.size <= 1 ? only : dtypes.has('float64') ? 'float64' : 'float32';
  const common = {
    terms,
    dtype,
    numbers: numbers.map(({ name, dtype: one }) => ({ name, dtype: one })),
    parameters,
    results: exprs.map((expr, r) => ({ expr, dtype: to[r]?.dtype ?? 'float64' })),
  };
  const lies = views.filter((view) => view.dtype === dtype && isRow(view));
  const most = mostRuns(common, limits);
  // what is left is gathered into one run
  const runs = lies.length === views.length && lies.length <= most ? lies : lies.slice(0, most - 1);
  const rest = views.filter((view) => !runs.includes(view));
  const gathered = rest.reduce((sum, { shape }) => sum + sizeOfShape(shape), 0);
  const pieces = [...runs];
  if (gathered > 0 || pieces.length === 0) {
    const scratch = steps.scratchMemory({ shape: [gathered], dtype });
    let offset = 0;
    for (const view of rest) {
      const { shape } = view;
      const packed = steps.rowMajorView(scratch, shape, offset);
      steps.copy(view, packed);
      offset += sizeOfShape(shape);
    }
    pieces.push(scratch);
  }
  const counts = pieces.map(({ shape }) => sizeOfShape(shape));
  const { plan, scalars } = planTotals({ ...common, counts }, limits);
  const pointers: Record<string, CallPointer> = {};
  for (const [s, nameOf] of segmentNames(plan.runs).entries()) {
    pointers[nameOf('x0')] = pointerAt(pieces[s] as CallView);
  }
  for (const [k, { view }] of numbers.entries()) pointers[`f${k}`] = pointerAt(view);
  for (const [r, view] of to.entries()) pointers[`out${r}`] = pointerAt(view);
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

/** Elements whose terms are in memory at a time. */
const CHUNK = 2 ** 20;

/** A view in parts of at most a chunk, which follow each other in its order: cut along its first axes. */
function cut(view: CallView): readonly CallView[] {
  if (sizeOfShape(view.shape) <= CHUNK) return [view];
  const [extent = 1, ...shape] = view.shape;
  const [stride = 0, ...strides] = view.strides;
  const row = sizeOfShape(shape);
  const rows = Math.floor(CHUNK / row);
  const parts: CallView[] = [];
  for (let at = 0; at < extent; at += Math.max(1, rows)) {
    const offset = view.offset + at * stride;
    if (rows === 0) parts.push(...cut({ ...view, shape, strides, offset }));
    else parts.push({ ...view, shape: [Math.min(rows, extent - at), ...shape], offset });
  }
  return parts;
}

/** Views in chunks, by their sizes alone. */
function chunksOf(views: readonly CallView[]): readonly (readonly CallView[])[] {
  const chunks: CallView[][] = [];
  let left = 0;
  for (const part of views.flatMap(cut)) {
    const size = sizeOfShape(part.shape);
    if (size > left) {
      chunks.push([]);
      left = CHUNK;
    }
    chunks.at(-1)?.push(part);
    left -= size;
  }
  return chunks;
}

/** The terms of a chunk in memory and their sums, one chunk after the other; the sums of these; and a map of them. */
function onCpu(
  steps: CallSteps,
  { terms, exprs, to, numbers, views, parameters }: Work,
): CallPlan['scalars'] {
  const { limits } = steps.device;
  const cores = limits.kind === 'cpu' ? limits.cores : 1;
  const names = Object.keys(terms);
  const scratch = (size: number): readonly CallView[] =>
    names.map(() => steps.scratchMemory({ shape: [size], dtype: 'float64' }));
  const sums = names.map(() => steps.scratchMemory({ shape: [], dtype: 'float64' }));
  const none = { parameters: {}, indices: {}, computesIn: 'float64' } as const;
  const chunks = chunksOf(views);
  const sizes = chunks.map((chunk) =>
    chunk.reduce((sum, { shape }) => sum + sizeOfShape(shape), 0),
  );
  const partsOf = (size: number): number =>
    Math.max(1, Math.min(cores, Math.floor(size / LEAST_PART)));
  const largest = Math.max(0, ...sizes);
  if (largest > 0) {
    const flat = scratch(largest);
    const partial = scratch(partsOf(largest));
    const ofChunks = chunks.length === 1 ? sums : scratch(chunks.length);
    for (const [c, chunk] of chunks.entries()) {
      let offset = 0;
      const maps = chunk.map((view): MapStep => {
        const { shape, dtype, strides } = view;
        const at = offset;
        offset += sizeOfShape(shape);
        return {
          ...none,
          results: names.map((name, r) => ({
            expr: terms[name] as RealExpr,
            to: steps.rowMajorView(flat[r] as CallView, shape, at),
          })),
          shape,
          inputs: [{ name: 'x', dtype, strides }],
          views: [view],
        };
      });
      addMaps(steps, maps, () => ({}));
      const parts = partsOf(offset);
      for (const [r, whole] of ofChunks.entries()) {
        const sum = steps.rowMajorView(whole, [], c);
        const first = parts === 1 ? sum : (partial[r] as CallView);
        addSum(steps, flat[r] as CallView, first, offset, parts);
        if (parts > 1) addSum(steps, first, sum, parts, 1);
      }
    }
    if (chunks.length > 1) {
      for (const [r, sum] of sums.entries())
        addSum(steps, ofChunks[r] as CallView, sum, chunks.length, 1);
    }
  } else {
    for (const sum of sums) steps.fill(sum, 0n);
  }
  const inputs = [...names.map((name, r) => ({ name, view: sums[r] as CallView })), ...numbers];
  const finish = addMap(
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
  return finish.scalars;
}

function addSum(
  steps: CallSteps,
  from: CallView,
  to: CallView,
  count: number,
  parts: number,
): void {
  steps.addKernel('reduce sum float64 float64', cpuReduceKernel('sum', 'float64', 'float64'), {
    values: count,
    pointers: { src: pointerAt(from), dst: pointerAt(to) },
    scalars: {
      outer: 1,
      inner: 1,
      count,
      strideOuter: count,
      strideCount: 1,
      strideInner: 1,
      parts,
      perPart: Math.ceil(count / parts),
      divisor: 1,
    },
  });
}
