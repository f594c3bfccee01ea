import { reduction as describe } from '@mercer/formula';
import { zeros, type Tensor } from '@mercer/tensor';
import { addTensors } from './add-tensors.js';
import type { CallOptions } from './call-options.js';
import { commonExtent } from './extent.js';
import { describeInput, type Input } from './input.js';
import { LazyError } from './lazy-error.js';
import { computed } from './reductions.js';
import { scatterRows } from './scatter-rows.js';
import { isOfPairs, type RowShare, type Share } from './shares.js';
import { rowsAsBatch, takeRows } from './transforms.js';
import type { RowRange } from './view-step.js';

/** Numbers of the rows of pairs that stand in memory at once. */
const NUMBERS_AT_ONCE = 2 ** 22;

/**
 * The rows of all pairs added up where an index that changes with both sides says, (..own batch, rows, dim) as `shape`. Each
 * pair has a row of its own, which has to stand in memory: those of a block of rows of i at a time.
 */
export async function scatterPairs(
  what: string,
  by: Input,
  share: RowShare,
  inputs: readonly Input[],
  shape: readonly number[],
  options: Pick<CallOptions, 'stream' | 'device' | 'debug' | 'signal'>,
): Promise<Tensor> {
  const extent = commonExtent(what, inputs);
  const { rowsI = 1, rowsJ = 1, batchShape, dtype = 'float32', device = options.device } = extent;
  const numbers = [...batchShape, rowsJ, by.dim].reduce((product, extent) => product * extent, 1);
  const count = Math.max(1, Math.floor(NUMBERS_AT_ONCE / Math.max(1, numbers)));
  // Rows of i are the last batch axis of the pairs.
  const wide = [...shape.slice(0, -2), 1, ...shape.slice(-2)];
  const { stream, signal } = options;
  let total: Tensor = await zeros(wide, { dtype, stream, device, signal });
  try {
    for (let start = 0; start < rowsI; start += count) {
      const block = { start, step: 1, count: Math.min(count, rowsI - start) };
      const [rows, index] = await pairsOf(what, share, inputs, block, options);
      try {
        using part = await scatterRows(rows, index, wide, options);
        const sum = await addTensors(total, part, options);
        total.dispose();
        total = sum;
      } finally {
        for (const one of [rows, index]) one.dispose();
      }
    }
    return total.reshape(shape);
  } finally {
    total.dispose();
  }
}

/** The rows of the pairs of some rows of i, and their index: (..batch, rows of i, rows of j, dim). */
async function pairsOf(
  what: string,
  { reduction, to }: RowShare,
  inputs: readonly Input[],
  block: RowRange,
  options: Pick<CallOptions, 'stream' | 'device' | 'debug' | 'signal'>,
): Promise<readonly [rows: Tensor, index: Tensor]> {
  const some = takeRows(inputs, block);
  const [rows, index] = [reduction.formula, to.index].map((formula) =>
    rowsAsBatch(what, { formula, inputs: some }, block.count, block.start),
  );
  if (rows === undefined || index === undefined) throw new Error('there are two formulas');
  const reductions = [
    describe('Sum', rows.formula, { axis: 0 }),
    describe('Sum', index.formula, { axis: 0 }),
  ] as const;
  const results = await computed(
    { what, reductions, inputs: rows.inputs, names: undefined },
    [],
    options,
  );
  const [first, second] = results.map(({ value }) => value);
  if (first === undefined || second === undefined) throw new Error('a sum has values');
  return [first, second];
}

/** Refuses blocks where there is a gradient for every pair. @throws LazyError UNSUPPORTED */
export function checkPairs(what: string, by: Input, shares: readonly Share[]): void {
  if (!shares.some(isOfPairs)) return;
  const problem =
    by.category === 'pair'
      ? `${describeInput(by)} has a gradient for every pair, and such gradients`
      : `rows of ${describeInput(by)} are taken by an index that changes with i and with j, and their gradients`;
  const remedy = by.category === 'pair' ? '' : ', or make the index one of i or of j';
  throw new LazyError(
    'UNSUPPORTED',
    `${what}: ${problem} have no blocks. Leave devices, maxBytes and onProgress out, and read rows of a file before${remedy}.`,
  );
}
