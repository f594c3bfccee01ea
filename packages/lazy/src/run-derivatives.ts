import type { Reduction } from '@mercer/formula';
import { sumTo, type ShardOptions, type Tensor } from '@mercer/tensor';
import { cutsRows, shardsOf } from '@mercer/tensor/operation';
import { addTensors } from './add-tensors.js';
import { gradientShape, rowShape, type Derivatives } from './derivatives.js';
import type { CallOptions } from './call-options.js';
import type { Input } from './input.js';
import { densePairs } from './dense-pairs.js';
import type { ComputeOptions } from './reduction-types.js';
import { computed } from './reductions.js';
import { NO_RESULTS, type Results } from './results.js';
import { readsRows } from './row-reader.js';
import { checkPairs, scatterPairs } from './scatter-pairs.js';
import { indexRows, scatterRows } from './scatter-rows.js';
import { rowIndex, type Share } from './shares.js';

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
 * Computes gradients by the inputs `by`, all of one side in one pass, and with them `also`, if it is given.
 *
 * @throws LazyError, MercerError
 */
export async function runDerivatives(
  what: string,
  { shares, inputs }: Derivatives,
  by: readonly Input[],
  also: Reduction | undefined,
  options: DerivativeOptions,
): Promise<Differentials> {
  const without = cutsRows(options) || readsRows(inputs, []) ? 'blocks' : undefined;
  for (const [at, one] of by.entries()) {
    checkPairs(what, one, shares[at] ?? [], options.ranges === undefined ? without : 'ranges');
  }
  const summed = shares
    .flat()
    .filter((share) => share.to !== 'pairs' && rowIndex(share)?.follows !== 'pair');
  const reductions = [...(also ? [also] : []), ...summed.map(({ reduction }) => reduction)];
  const results = await executeBySide(what, reductions, inputs, options);
  const forward = (also && results[0]) ?? NO_RESULTS;
  const sums = also ? results.slice(1) : results;
  const sumOf = new Map(summed.map((share, at) => [share, sums[at]?.value]));
  const gradients: Tensor[] = [];
  const made = sums.flatMap(({ value }) => (value === undefined ? [] : [value]));
  try {
    for (const [at, one] of by.entries()) {
      const parts: Tensor[] = [];
      for (const share of shares[at] ?? []) {
        const part = await partOf(what, one, share, sumOf.get(share), inputs, options);
        made.push(part);
        parts.push(part);
      }
      const total = await added(parts, options, made);
      gradients.push(total.reshape(gradientShape(one)));
    }
    return { also: forward, gradients };
  } catch (error) {
    for (const one of [forward.value, forward.index, ...gradients]) one?.dispose();
    throw error;
  } finally {
    for (const one of made) one.dispose();
  }
}

/** Results of reductions over one list of inputs, by place: a pass for each side. */
async function executeBySide(
  what: string,
  reductions: readonly Reduction[],
  inputs: readonly Input[],
  options: DerivativeOptions,
): Promise<readonly Results[]> {
  const results = reductions.map((): Results => NO_RESULTS);
  try {
    for (const axis of new Set(reductions.map((one) => one.axis))) {
      const places = [...reductions.keys()].filter((at) => reductions[at]?.axis === axis);
      const [first, ...others] = reductions.filter((one) => one.axis === axis);
      if (first === undefined) continue;
      const task = { what, reductions: [first, ...others] as const, inputs, names: undefined };
      const found = await computed(task, [], options);
      for (const [n, at] of places.entries()) results[at] = found[n] ?? NO_RESULTS;
    }
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
