import {
  add,
  call,
  lt,
  mul,
  reduction as describe,
  select,
  variable,
  type RealExpr,
} from '@mercer/formula';
import { map, scatterAdd, type ShardOptions, type Tensor } from '@mercer/tensor';
import { differentiable } from '@mercer/tensor/operation';
import type { CallOptions } from './call-options.js';
import type { Input } from './input.js';
import type { LazyDType } from './lazy-dtype.js';
import { computed } from './reductions.js';
import type { RowIndex } from './shares.js';

/** The numbers of rows that an index names, before rounding: (..batch, rows of the side that it follows, 1). */
export async function indexRows(
  what: string,
  { index, follows }: RowIndex,
  inputs: readonly Input[],
  options: Pick<CallOptions, 'stream' | 'device' | 'debug' | 'signal'> & ShardOptions,
): Promise<Tensor> {
  const reduction = describe('Sum', index, { axis: follows === 'i' ? 1 : 0 });
  // The other side has one row, so that the sum over it is the index itself; its inputs, and values of pairs, still tell the batch.
  const other = follows === 'i' ? 'j' : 'i';
  const alone = inputs.map((one): Input =>
    one.category === other || one.category === 'pair' ? { ...one, category: 'parameter' } : one,
  );
  const [found] = await computed(
    { what, reductions: [reduction], inputs: alone, names: undefined },
    [],
    options,
  );
  const value = found?.value;
  if (value === undefined) throw new Error('a sum has values');
  return value;
}

/**
 * Rows (..batch, n, dim) added up where an index (..batch, n, 1) says, in a table of this shape, (..own batch, rows, dim);
 * batch axes that the table lacks, or has with extent 1, are added up too. Rows that the table has not are left out.
 */
export async function scatterRows(
  rows: Tensor,
  index: Tensor,
  shape: readonly number[],
  { stream, debug, signal }: Pick<CallOptions, 'stream' | 'debug' | 'signal'>,
): Promise<Tensor> {
  const [count = 1, dim = 1] = [shape.at(-2), shape.at(-1)];
  const own = shape.slice(0, -2);
  const entries = own.reduce((product, extent) => product * extent, 1);
  using numbers = await flatNumbers(index, own, count, { stream, signal });
  using flatIndex = numbers.reshape([numbers.size]);
  using flatRows = rows.reshape([numbers.size, dim]) as Tensor<LazyDType>;
  using total = await scatterAdd(flatRows, flatIndex, entries * count, {
    stream,
    debug,
    signal,
  });
  return total.reshape(shape);
}

/** Row numbers as whole numbers, counted through the batch entries of the table; -1 where there is no such row. */
const flatNumbers = differentiable('row numbers', flatNumbersOf, 'constant');

async function flatNumbersOf(
  index: Tensor,
  own: readonly number[],
  count: number,
  { stream, signal }: Pick<CallOptions, 'stream' | 'signal'>,
): Promise<Tensor<'int32'>> {
  const axes = [...own.keys()].filter((axis) => own[axis] !== 1);
  const parameters: Record<string, number> = { count };
  const indices: Record<string, number> = {};
  let step = count;
  for (const [at, axis] of [...axes.entries()].reverse()) {
    parameters[stepName(at)] = step;
    // Axes are aligned at the last of the batch, before rows and components.
    indices[entryName(at)] = axis - own.length - 2;
    step *= own[axis] ?? 1;
  }
  // In double precision, as kernels round an index.
  using wide = await index.cast('float64', { stream, signal });
  const options = { dtype: 'int32', parameters, indices, stream, signal } as const;
  return await map(numberOf(axes.length), { index: wide }, options);
}

const entryName = (at: number): string => `entry${at}`;
const stepName = (at: number): string => `step${at}`;

/** Held, so that the kernels of a formula are not forgotten with it. */
const numbersOf: RealExpr[] = [];

/** The formula of row numbers for tables with so many batch axes. */
function numberOf(axes: number): RealExpr {
  const row = call('floor', [add(variable('index'), 0.5)]);
  const offset = Array.from({ length: axes }, (_, at) =>
    mul(variable(stepName(at)), variable(entryName(at))),
  ).reduce<RealExpr>((sum, term) => add(sum, term), row);
  // A NaN is less than nothing.
  const upper = select(lt(row, variable('count')), offset, -1);
  return (numbersOf[axes] ??= select(lt(row, 0), -1, upper));
}
