import { substituteVector, type Reduction } from '@mercer/formula';
import { sumTo, type ShardOptions, type Tensor } from '@mercer/tensor';
import { cutsRows, formulasOf, shardsOf } from '@mercer/tensor/operation';
import { addTensors } from './add-tensors.js';
import { gradientShape, rowShape, type Derivatives } from './derivatives.js';
import type { CallOptions } from './call-options.js';
import type { Input } from './input.js';
import { densePairs } from './dense-pairs.js';
import type { ComputeOptions } from './reduction-types.js';
import { zeroOutsideRanges } from './zero-outside-ranges.js';
import { computed } from './reductions.js';
import { NO_RESULTS, type Results } from './results.js';
import { readsRows } from './row-reader.js';
import { checkPairs, scatterPairs } from './scatter-pairs.js';
import { indexRows, scatterRows } from './scatter-rows.js';
import { numbered } from './shards/cell-task.js';
import { sumOfAll, type GroupRows } from './shards/reduction-group.js';
import { isOfPairs, rowIndex, type Share } from './shares.js';
import { replaced } from './task.js';

/** Options of the passes of gradients. */
export type DerivativeOptions = ComputeOptions &
  ShardOptions &
  Pick<CallOptions, 'stream' | 'device' | 'ranges' | 'debug' | 'signal'>;

/** What `runDerivatives` gives; the caller owns it. */
export interface Differentials {
  /** The results of `also`. */
  readonly also: Results;
  /** In the shapes of the variables' data. */
  readonly gradients: readonly Tensor[];
}

/**
 * Computes gradients by the inputs `by`, all of one side in one pass, and with them `also`, if it is given. Where rows are spread over a group, `also` is a sum: each process computes
 * with its own rows, and what belongs to all of them is added up.
 *
 * @throws LazyError, MercerError
 */
export async function runDerivatives(
  what: string,
  derivatives: Derivatives,
  by: readonly Input[],
  forward: Reduction | undefined,
  options: DerivativeOptions,
  spread?: GroupRows,
): Promise<Differentials> {
  const { also, ...own } = ownNumbers(what, derivatives, forward, spread);
  if (cutsRows(options) || readsRows(own.inputs, [])) {
    for (const [at, one] of by.entries()) checkPairs(what, one, own.shares[at] ?? []);
  }
  const { ranges } = options;
  const { shares, inputs } =
    ranges === undefined ? own : await zeroOutsideRanges(what, own, ranges, options);
  const summed = shares.flat().filter((share) => !isOfPairs(share));
  const reductions = [...(also ? [also] : []), ...summed.map(({ reduction }) => reduction)];
  const results = await executeBySide(what, reductions, inputs, options);
  let value = (also && results[0]) ?? NO_RESULTS;
  const sums = also ? results.slice(1) : results;
  const sumOf = new Map(summed.map((share, at) => [share, sums[at]?.value]));
  const gradients: Tensor[] = [];
  const made = sums.flatMap(({ value }) => (value === undefined ? [] : [value]));
  try {
    if (spread !== undefined && value.value !== undefined) {
      made.push(value.value);
      value = { ...NO_RESULTS, value: await sumOfAll(spread.group, value.value) };
    }
    for (const [at, one] of by.entries()) {
      const parts: Tensor[] = [];
      for (const share of shares[at] ?? []) {
        const part = await partOf(what, one, share, sumOf.get(share), inputs, options);
        made.push(part);
        parts.push(part);
      }
      let total = await added(parts, options, made);
      if (spread !== undefined && isOfAll(one, spread)) {
        total = await sumOfAll(spread.group, total);
        made.push(total);
      }
      gradients.push(total.reshape(gradientShape(one)));
    }
    return { also: value, gradients };
  } catch (error) {
    for (const one of [value.value, value.index, ...gradients]) one?.dispose();
    throw error;
  } finally {
    for (const one of made) one.dispose();
  }
}

/** Whether all processes of a group have an input, so that its gradient is the sum of what each of them gives. */
function isOfAll({ category, isTable }: Input, { axis }: GroupRows): boolean {
  return isTable || (category !== (axis === 1 ? 'j' : 'i') && category !== 'pair');
}

/** Derivatives by the rows of this process, in which numbers of rows count from the first row of all processes; as they are without a group. */
function ownNumbers(
  what: string,
  { shares, inputs }: Derivatives,
  also: Reduction | undefined,
  spread: GroupRows | undefined,
): Derivatives & { readonly also: Reduction | undefined } {
  if (spread === undefined) return { shares, inputs, also };
  const all = shares.flat();
  const reductions = [...(also ? [also] : []), ...all.map(({ reduction }) => reduction)];
  const indices = all.flatMap((share) => rowIndex(share)?.index ?? []);
  const formulas = [...formulasOf(reductions), ...indices];
  const { parts, inputs: inputsOf } = numbered(what, formulas, inputs.length);
  const [i, j] = spread.axis === 1 ? [0, spread.start] : [spread.start, 0];
  return {
    also: also && replaced(also, parts),
    inputs: inputsOf({ i: [i, 0], j: [j, 0] }, inputs),
    shares: shares.map((list) =>
      list.map(({ reduction, to }) => ({
        reduction: replaced(reduction, parts),
        to: typeof to === 'object' ? { ...to, index: substituteVector(to.index, parts) } : to,
      })),
    ),
  };
}

/** Results of reductions over one list of inputs, by place: a pass for each side, whose kernels are compiled side by side. */
async function executeBySide(
  what: string,
  reductions: readonly Reduction[],
  inputs: readonly Input[],
  options: DerivativeOptions,
): Promise<readonly Results[]> {
  const results = reductions.map((): Results => NO_RESULTS);
  const pass = async (axis: Reduction['axis']): Promise<void> => {
    const places = [...reductions.keys()].filter((at) => reductions[at]?.axis === axis);
    const [first, ...others] = reductions.filter((one) => one.axis === axis);
    if (first === undefined) return;
    const task = { what, reductions: [first, ...others] as const, inputs, names: undefined };
    const found = await computed(task, [], options);
    for (const [n, at] of places.entries()) results[at] = found[n] ?? NO_RESULTS;
  };
  const isCut = cutsRows(options) || readsRows(inputs, []);
  const passes: Promise<void>[] = [];
  try {
    for (const axis of new Set(reductions.map((one) => one.axis))) {
      passes.push(pass(axis));
      // memory has room for the blocks of one
      if (isCut) await passes.at(-1);
    }
    await Promise.allSettled(passes);
    await Promise.all(passes);
    return results;
  } catch (error) {
    for (const { value, index } of results) for (const one of [value, index]) one?.dispose();
    throw error;
  }
}

/** A share of a gradient by rows: what was broadcast is added up, and rows by index where they were taken. */
async function partOf(
  what: string,
  by: Input,
  share: Share,
  sum: Tensor | undefined,
  inputs: readonly Input[],
  given: DerivativeOptions,
): Promise<Tensor> {
  const { stream, device, debug, signal } = given;
  const options = { stream, device, debug, signal };
  const shards = shardsOf(given);
  const shape = rowShape(by);
  const { to, reduction } = share;
  if (to === 'pairs') {
    using dense = await densePairs(what, reduction.formula, inputs, options);
    return await sumTo(dense as Tensor<'float32'>, shape, { stream, debug, signal });
  }
  if (to?.follows === 'pair') {
    return scatterPairs(what, by, { reduction, to }, inputs, shape, options);
  }
  if (sum === undefined) throw new Error('a sum has values');
  if (to === undefined) return sumTo(sum as Tensor<'float32'>, shape, { stream, debug, signal });
  using index = await indexRows(what, to, inputs, { ...options, ...shards });
  return await scatterRows(sum, index, shape, options);
}

/** The sum of tensors of one shape; what is made for it is pushed to `made`. */
async function added(
  parts: readonly Tensor[],
  { stream, signal }: DerivativeOptions,
  made: Tensor[],
): Promise<Tensor> {
  const [first, ...others] = parts;
  if (first === undefined) throw new Error('a gradient has a share');
  let total = first;
  for (const part of others) {
    total = await addTensors(total, part, { stream, signal });
    made.push(total);
  }
  return total;
}
