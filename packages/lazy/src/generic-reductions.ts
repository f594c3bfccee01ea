import { parseAliases, type KindOf, type ReductionName, type VariableNode } from '@mercer/formula';
import { readOptions } from './call-options.js';
import { callable, textReduction, type Genred, type GenredOptions } from './genred.js';
import { LazyError, translated } from './lazy-error.js';
import type { LazyReduction } from './lazy-reduction.js';

/**
 * The sum of a formula, its output declared as `A = Vi(3)`: rows of i are kept, with 3 numbers each; `Vj` keeps rows of j.
 *
 * @throws LazyError DIM_MISMATCH where the formula gives another dim; as `genred`
 *
 * @example
 * ```ts
 * import { genericSum } from '@mercer/lazy';
 *
 * const smooth = genericSum('Exp(-SqDist(x, y)) * b', 'a = Vi(2)', ['x = Vi(3)', 'y = Vj(3)', 'b = Vj(2)']);
 * const a = await smooth([[0, 0, 0]], [[0, 0, 0]], [[5, 6]], { device: 'cpu' });
 * console.log(await a.toNested()); // [ [ 5, 6 ] ]
 * ```
 */
export function genericSum<const A extends readonly string[]>(
  formula: string,
  output: string,
  aliases: A,
): Genred<A, 'Sum'> {
  return declared('genericSum', formula, output, aliases, { reduction: 'Sum' });
}

/** The logarithm of the sum of `e ^ formula`, which has dim 1; with `formula2` weighted by it, of its dim. As `genericSum`. */
export function genericLogSumExp<const A extends readonly string[]>(
  formula: string,
  output: string,
  aliases: A,
  options?: Pick<GenredOptions, 'formula2'>,
): Genred<A, 'LogSumExp'> {
  const what = 'genericLogSumExp';
  const { formula2 } = readOptions(what, options, { formula2: true });
  return declared(what, formula, output, aliases, { formula2, reduction: 'LogSumExp' });
}

/** The row numbers of the K smallest values, int32: `A = Vi(3)` wants 3 of them. As `genericSum`. */
export function genericArgKMin<const A extends readonly string[]>(
  formula: string,
  output: string,
  aliases: A,
): Genred<A, 'ArgKMin'> {
  const { dim } = outputOf('genericArgKMin', output);
  return declared('genericArgKMin', formula, output, aliases, { reduction: 'ArgKMin', k: dim });
}

/** The row number of the smallest value, int32, for each component. As `genericSum`. */
export function genericArgMin<const A extends readonly string[]>(
  formula: string,
  output: string,
  aliases: A,
): Genred<A, 'ArgMin'> {
  return declared('genericArgMin', formula, output, aliases, { reduction: 'ArgMin' });
}

function declared<A extends readonly string[], N extends ReductionName>(
  what: string,
  formula: string,
  output: string,
  aliases: A,
  options: GenredOptions<N>,
): Genred<A, KindOf<N>> {
  const { category, dim } = outputOf(what, output);
  const axis = category === 'i' ? 'j' : 'i';
  const reduction: LazyReduction<KindOf<N>> = textReduction(what, formula, aliases, {
    ...options,
    axis,
  });
  if (reduction.dim === dim) return callable(reduction);
  throw new LazyError(
    'DIM_MISMATCH',
    `${what}: the output '${output}' has dim ${dim} and the reduction gives ${reduction.dim}. Declare the output with that dim, or change the formula.`,
  );
}

function outputOf(what: string, output: string): VariableNode {
  const [node] = translated(what, () => parseAliases([output])).values();
  if (node?.category === 'i' || node?.category === 'j') return node;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: the output is '${output}'. Declare it as 'a = Vi(dim)' to keep rows of i, or 'a = Vj(dim)' to keep rows of j.`,
  );
}
