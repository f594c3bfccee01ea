import { inputsOf, type Reduction } from '@mercer/formula';
import {
  aloneOf,
  emitMapReduceSteps,
  planMapReduceSteps,
  takesOnePass,
  type MapReducePlan,
  type MapReduceProblem,
} from '@mercer/kernels';
import type { Device } from '../device.js';
import type { CallLoadOptions } from '../executable.js';
import { MercerError } from '../mercer-error.js';
import {
  partOf,
  pointerAt,
  type CallStep,
  type CallSteps,
  type LoadedPart,
  type StepLaunch,
} from '../operation/call-steps.js';
import { addByProducts } from '../products/reductions-by-products.js';
import { loadProblem, type LoadedProgram } from '../program.js';
import { halfStorage, pairArguments, type PairSizes } from './pair-inputs.js';
import { formulasOf, type ReductionsCall } from './reductions-call.js';
import { pairsOfRanges, rangeRowsOf, rangeTables, type CallRanges } from './range-tables.js';

/** Rows of both sides of a reduction. */
export function sidesOf(
  { axis }: Pick<Reduction, 'axis'>,
  { rowsI, rowsJ }: Pick<PairSizes, 'rowsI' | 'rowsJ'>,
): { readonly keptRows: number; readonly reducedRows: number } {
  const [keptRows, reducedRows] = axis === 1 ? [rowsI, rowsJ] : [rowsJ, rowsI];
  return { keptRows, reducedRows };
}

/** How many pairs of rows a call goes over: all, or those of its ranges. */
export const pairsOf = (
  { rowsI, rowsJ, batch }: Pick<PairSizes, 'rowsI' | 'rowsJ' | 'batch'>,
  ranges: CallRanges | undefined,
): number => batch * ((ranges === undefined ? undefined : pairsOfRanges(ranges)) ?? rowsI * rowsJ);

/**
 * Adds reductions to a call: one pass for all, or, where they are together more than one kernel takes or quicker apart, one for each. A
 * prepared call takes as many passes as that of its examples, whatever the numbers of rows.
 *
 * @returns whether products on tensor cores are among its launches
 */
export function addReductions(steps: CallSteps, call: ReductionsCall): boolean {
  const { products = false } = call;
  const isByProducts =
    products !== false &&
    addByProducts(steps, call, (block) => {
      addReductions(steps, block);
    });
  if (!isByProducts) steps.add(directStep(steps.device, call));
  else if (products === 'prepared') steps.alsoPrepare(directStep(steps.device, call));
  return isByProducts;
}

/** The launches of kernels that compute the formulas as they are. */
function directStep(device: Device, call: ReductionsCall): CallStep {
  const { reductions, sizes, inputs, results } = call;
  const isTold = call.reductionOf.length > 0;
  const problem = problemOf(call, device);
  const program = `map-reduce ${JSON.stringify([described(reductions), { ...problem, reduction: 0, further: 0, rowsI: 0, rowsJ: 0, batch: 0 }])}`;
  return {
    program,
    holds: reductions,
    values: pairsOf(sizes, call.ranges),
    tells: isTold
      ? (parts) => call.reductionOf.map((place) => parts[parts.length === 1 ? 0 : place])
      : undefined,
    load: async (options, made) => {
      const passes = await loadPasses(device, problem, call, options);
      const { ranges, stream, refused } = call;
      if (ranges === undefined) return passes.map(partOf);
      const parts: LoadedPart[] = [];
      const of = { ranges, ...sidesOf(reductions[0], sizes) };
      const { signal } = options;
      for (const pass of passes) {
        try {
          const tables = await rangeTables(pass.plan, of, device, { stream, signal }, made);
          parts.push({ program: pass, ...tables });
        } catch (error) {
          throw refused(error);
        }
      }
      return parts;
    },
    launches: (parts) =>
      parts.map(({ tables }, n): StepLaunch => {
        checkTables(call.what, tables);
        const { pointers, scalars } = pairArguments(sizes, inputs);
        const written = parts.length === 1 ? results : results.slice(n, n + 1);
        for (const [place, { value, index }] of written.entries()) {
          const number = place === 0 ? '' : String(place);
          if (value !== undefined) pointers[`out${number}`] = pointerAt(value);
          if (index !== undefined) pointers[`index${number}`] = pointerAt(index);
        }
        return { pointers, scalars };
      }),
  };
}

/** @throws MercerError DISPOSED */
function checkTables(what: string, tables: LoadedPart['tables']): void {
  if (Object.values(tables).every(({ disposed }) => !disposed)) return;
  throw new MercerError(
    'DISPOSED',
    `${what}: the prepared call was disposed, and its ranges with it. Prepare another.`,
  );
}

/** The problem of all reductions in one pass. */
function problemOf(
  {
    reductions: [reduction, ...further],
    sizes: { dtype, rowsI, rowsJ, batch },
    inputs,
    ranges,
    accumulate,
    sumScheme,
    fastMath,
  }: ReductionsCall,
  device: Device,
): MapReduceProblem {
  const used = new Set(
    inputsOf(...formulasOf([reduction, ...further])).map(({ position }) => position),
  );
  const storage = halfStorage(inputs.map((one, place) => (used.has(place) ? one : undefined)));
  return {
    reduction,
    further,
    dtype,
    storage,
    ranges: ranges !== undefined,
    rangeRows: ranges === undefined ? undefined : rangeRowsOf(device, ranges),
    rowsI,
    rowsJ,
    batch,
    accumulate,
    sumScheme,
    fastMath,
  };
}

const described = (reductions: readonly Reduction[]): readonly string[] =>
  reductions.map(({ kind, axis, k = 0, formula, weight }) =>
    [kind, axis, k, formula.id, weight?.id ?? ''].join(' '),
  );

type LoadedPass = LoadedProgram<MapReducePlan>;

async function loadPasses(
  device: Device,
  problem: MapReduceProblem,
  call: ReductionsCall,
  options: CallLoadOptions,
): Promise<readonly LoadedPass[]> {
  const { reductions, refused } = call;
  const one = await onePass(device, problem, options).catch((error: unknown) => {
    throw refused(error);
  });
  if (one !== undefined) return [one];
  // All at once, so that kernels are compiled side by side; of several errors that of the first reduction is thrown.
  const settled = await Promise.allSettled(
    reductions.map(async (reduction) => {
      const alone = { ...call, ...aloneOf(call, reduction), reductions: [reduction] as const };
      return loadPass(device, problemOf(alone, device), options);
    }),
  );
  return settled.map((one, place) => {
    if (one.status === 'fulfilled') return one.value;
    throw refused(one.reason, place);
  });
}

/** Undefined where a pass for each is quicker, or the only way. */
async function onePass(
  device: Device,
  problem: MapReduceProblem,
  options: CallLoadOptions,
): Promise<LoadedPass | undefined> {
  const isAlone = problem.further?.length === 0;
  if (!isAlone && !takesOnePass(problem, device.limits)) return undefined;
  try {
    return await loadPass(device, problem, options);
  } catch (error) {
    // The interpreter, of which the limits of a device say nothing, and texts that are too long together.
    const isRefused =
      error instanceof MercerError && (error.code === 'UNSUPPORTED' || error.code === 'LIMIT');
    if (!isAlone && isRefused) return undefined;
    throw error;
  }
}

function loadPass(
  device: Device,
  problem: MapReduceProblem,
  options: CallLoadOptions,
): Promise<LoadedPass> {
  const { reduction, further = [], ...rest } = problem;
  const reductions = [reduction, ...further];
  return loadProblem(
    device,
    {
      key: `map-reduce ${JSON.stringify([described(reductions), rest])}`,
      // The formulas are held, so that their ids, which are in the key, are not given to others.
      holds: reductions,
      plan: (limits) => planMapReduceSteps(problem, limits),
      emit: (plan) => emitMapReduceSteps(plan),
    },
    options,
  );
}
