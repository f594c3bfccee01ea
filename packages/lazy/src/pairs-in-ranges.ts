import { ops, reduction as describe } from '@mercer/formula';
import type { KeptRanges } from '@mercer/kernels';
import type { SignalOption } from '@mercer/tensor';
import { sidesOf } from '@mercer/tensor/operation';
import type { Derivatives } from './derivatives.js';
import { commonExtent } from './extent.js';
import { nodeAt } from './input.js';
import { WHOLE_UP_TO } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';
import { matrixInput, tableInput } from './make-input.js';
import { keptRanges, type RangesOption } from './ranges-option.js';
import { listedRanges } from './shards/cut-ranges.js';
import { isOfPairs, type Share } from './shares.js';

/**
 * Derivatives whose shares with a value for every pair are 0 at pairs outside the ranges, whatever the formula is there. Those that are sums stay
 * as they are: their passes go over the ranges.
 *
 * @throws LazyError INVALID_ARGUMENT for ranges that do not fit the rows, UNSUPPORTED where they are too many to be numbered
 */
export async function pairsInRanges(
  what: string,
  derivatives: Derivatives,
  ranges: RangesOption,
  options: SignalOption,
): Promise<Derivatives> {
  const { shares, inputs } = derivatives;
  const one = shares.flat().find(isOfPairs);
  if (one === undefined) return derivatives;
  // all are of the one reduction that is differentiated
  const { axis } = one.reduction;
  const { rowsI = 1, rowsJ = 1, dtype = 'float32' } = commonExtent(what, inputs);
  const rows = sidesOf({ axis }, { rowsI, rowsJ });
  const listed = await listedRanges(what, keptRanges(what, { axis }, ranges), rows, options);
  const stretchOf = stretchesOf(listed, rows.reducedRows);
  const stretches = (stretchOf.at(-1) ?? 0) + 1;
  // rows in no range have blocks of their own, behind those of all ranges
  const blocks = (listed.rangesI.length + 1) * stretches;
  if (blocks > WHOLE_UP_TO[dtype]) {
    throw new LazyError(
      'UNSUPPORTED',
      `${what}: the ranges cut the pairs into ${blocks} blocks, and their numbers are whole in ${dtype} up to ${WHOLE_UP_TO[dtype]}. ` +
        'A gradient for every pair needs them: pass fewer, longer ranges, or compute it in float64.',
    );
  }
  const { blockOf, counts } = blocksOf(listed, stretchOf, stretches, rows.keptRows);
  const [kept, reduced] = axis === 1 ? (['i', 'j'] as const) : (['j', 'i'] as const);
  const byKept = matrixInput(what, column(blockOf), kept, 'block');
  const byReduced = matrixInput(what, column(stretchOf), reduced, 'stretch');
  const table = tableInput(what, column(counts), 'counts');
  const place = inputs.length;
  const block = ops.add(nodeAt(byKept, place), nodeAt(byReduced, place + 1));
  const isMet = ops.gather(nodeAt(table, place + 2), block);
  return {
    inputs: [...inputs, byKept, byReduced, table],
    shares: shares.map((list) =>
      list.map((share): Share => {
        if (!isOfPairs(share)) return share;
        const formula = ops.where(isMet, share.reduction.formula, 0);
        return { ...share, reduction: describe('Sum', formula, { axis }) };
      }),
    ),
  };
}

/** Of each reduced row, the number of its stretch, which no span begins or ends within. */
function stretchesOf({ redrangesJ }: KeptRanges, reducedRows: number): Int32Array {
  const isBound = new Uint8Array(reducedRows + 1);
  for (const bound of redrangesJ.flat()) isBound[bound] = 1;
  let stretch = 0;
  return Int32Array.from({ length: reducedRows }, (_, row) =>
    row === 0 ? stretch : (stretch += isBound[row] ?? 0),
  );
}

/** Which blocks of pairs count, as `keep` of `rangesFromMatrix` says it: a range has one for each stretch. */
interface Blocks {
  /** Of each kept row, the first block of its range. */
  readonly blockOf: Int32Array;
  /** 1 or 0 of each block. */
  readonly counts: Int32Array;
}

function blocksOf(
  { rangesI, slicesI, redrangesJ }: KeptRanges,
  stretchOf: Int32Array,
  stretches: number,
  keptRows: number,
): Blocks {
  const blockOf = new Int32Array(keptRows).fill(rangesI.length * stretches);
  const counts = new Int32Array((rangesI.length + 1) * stretches);
  for (const [place, [start, end]] of rangesI.entries()) {
    const block = place * stretches;
    blockOf.fill(block, start, end);
    for (const [from, until] of redrangesJ.slice(slicesI[place - 1] ?? 0, slicesI[place])) {
      if (from === until) continue;
      counts.fill(1, block + (stretchOf[from] ?? 0), block + (stretchOf[until - 1] ?? 0) + 1);
    }
  }
  return { blockOf, counts };
}

const column = (data: Int32Array): { readonly data: Int32Array; readonly shape: number[] } => ({
  data,
  shape: [data.length, 1],
});
