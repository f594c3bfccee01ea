import {
  isReductionText,
  parseAliases,
  parseFormula,
  parseReduction,
  reduction as describe,
  type Aliases,
  type DefinedOperation,
  type KindOf,
  type ParseOptions,
  type Reduction,
  type ReductionKind,
  type ReductionName,
  type VariableNode,
} from '@mercer/formula';
import type { Input } from './input.js';
import { CALL_OPTIONS, readOptions } from './call-options.js';
import { describeList, type OptionNames } from '@mercer/options';
import { LazyError, translated } from './lazy-error.js';
import { LazyReduction, type PreparedReduction } from './lazy-reduction.js';
import { placeholderInput, type LazyData } from './make-input.js';
import type { PrepareOptions } from './call-options.js';
import { reductionKind, type ReductionOf } from './reduction-name.js';
import type {
  CallReduceOptions,
  IndexDType,
  LazyAxis,
  OutDType,
  PendingResult,
  ResultOf,
} from './reduction-types.js';
import { promised } from './reductions.js';
import type { LazyDType } from './lazy-dtype.js';
import type { Tensor } from '@mercer/tensor';
import { isTensorLike } from './traced-inputs.js';

/** Options of `genred`. */
export interface GenredOptions<N extends ReductionName = ReductionName> {
  /** Default 'Sum'. */
  readonly reduction?: N | undefined;
  /** The side that is reduced: 'j' or 1, or 'i' or 0, which is the default as in KeOps. */
  readonly axis?: LazyAxis | 0 | 1 | undefined;
  /** The weight of LogSumExp and SumSoftMaxWeight, another formula over the same inputs. */
  readonly formula2?: string | undefined;
  /** How many extrema, of the kinds with K. */
  readonly k?: number | undefined;
  /** Operations of `defineOp` that the texts may call beside the built-in ones. */
  readonly operations?: readonly DefinedOperation[] | undefined;
}

const GENRED_OPTIONS: OptionNames<GenredOptions> = {
  reduction: true,
  axis: true,
  formula2: true,
  k: true,
  operations: true,
};

/** One argument for each alias; any number where the number of aliases is not known to the compiler. */
export type GenredArguments<A extends readonly string[]> = number extends A['length']
  ? readonly LazyData[]
  : { readonly [I in keyof A]: LazyData };

/** A reduction of a formula in text, to be called with data in the order of its aliases. */
export interface Genred<A extends readonly string[], K extends ReductionKind> {
  (...args: GenredArguments<A>): PendingResult<ResultOf<K>>;
  <I extends IndexDType = 'int32', O extends OutDType = LazyDType>(
    ...args: [...GenredArguments<A>, options: CallReduceOptions<K, O, I>]
  ): PendingResult<ResultOf<K, O, I>>;
  /** What is computed. */
  readonly reduction: LazyReduction<K>;
  /**
   * Compiles once and returns a synchronous function of an array of tensors; row numbers and batch stay free, and the plan is the
   * quickest for numbers like these. Options may stand last.
   */
  readonly prepare: <I extends IndexDType = 'int32', O extends OutDType = LazyDType>(
    ...args: readonly Tensor[] | readonly [...Tensor[], options: PrepareOptions<I, O>]
  ) => Promise<PreparedReduction<K, O, I>>;
}

/**
 * A reduction of a formula in KeOps' language: see `@mercer/formula` for its operations. Aliases say what the arguments are, in
 * their order: `x = Vi(3)` has rows (..batch, M, 3) of i, `y = Vj(3)` rows of j, `p = Pm(2)` is one vector (..batch, 2).
 * `Var(position, dim, category)` inside the formula is one more argument, also where simplification or differentiation leaves
 * nothing of it. The text reaches no compiler.
 *
 * The text may be a whole reduction as KeOps' engine reads it, `Sum_Reduction(F, 0)` over j, `KMin_Reduction(F, K, 1)` over i,
 * `LogSumExp_Reduction(F, 0, G)` with a weight, or a gradient of one, `Grad(Sum_Reduction(F, 0), x, e)`. It says all then: of the
 * options only `operations` goes with it.
 *
 * @throws LazyError SYNTAX (with the position), DIM_MISMATCH, INVALID_ARGUMENT; its calls LazyError and MercerError
 *
 * @example
 * ```ts
 * import { genred } from '@mercer/lazy';
 *
 * const norms = genred('SqNorm2(x - y)', ['x = Vi(3)', 'y = Vj(3)'], { axis: 'i' });
 * const x = [[1, 2, 3], [4, 5, 6], [7, 8, 9]];
 * const y = [[3, 4, 5], [6, 7, 8]];
 * console.log(await (await norms(x, y, { device: 'cpu' })).toNested()); // [ [ 63 ], [ 90 ] ]
 * ```
 */
export function genred<
  const A extends readonly string[],
  N extends ReductionName = 'Sum',
  const F extends string = string,
>(formula: F, aliases: A, options?: GenredOptions<N>): Genred<A, KindOf<ReductionOf<F, N>>> {
  return callable(
    textReduction<ReductionOf<F, N>>(
      'genred',
      formula,
      aliases,
      options as GenredOptions<ReductionOf<F, N>>,
    ),
  );
}

/** Reads the texts of a reduction. */
export function textReduction<N extends ReductionName>(
  what: string,
  formula: string,
  aliases: Aliases,
  options?: GenredOptions<N>,
): LazyReduction<KindOf<N>> {
  const given = readOptions(what, options, GENRED_OPTIONS);
  const named = translated(what, () => parseAliases(aliases));
  const found: VariableNode[] = [];
  const reading = {
    operations: given.operations ?? [],
    onInput: (input: VariableNode) => void found.push(input),
  };
  const isWhole = isReductionText(formula);
  if (isWhole) checkWhole(what, formula, given);
  const reduction = isWhole
    ? translated(what, () => parseReduction(formula, aliases, reading))
    : textsReduction(what, formula, aliases, given, reading);
  return new LazyReduction(what, reduction, placeholders(what, named, found));
}

/** Reads a formula and its weight, and describes their reduction by the options. */
function textsReduction<N extends ReductionName>(
  what: string,
  formula: string,
  aliases: Aliases,
  { reduction: name = 'Sum' as N, axis = 0, formula2, k }: GenredOptions<N>,
  reading: ParseOptions,
): Reduction {
  const kind = reductionKind(what, name);
  return translated(what, () =>
    describe(kind, parseFormula(formula, aliases, reading), {
      axis: formulaAxis(what, axis),
      ...(formula2 !== undefined && { weight: parseFormula(formula2, aliases, reading) }),
      ...(k !== undefined && { k }),
    }),
  );
}

/** @throws LazyError INVALID_ARGUMENT for options that a whole reduction says itself */
function checkWhole(what: string, formula: string, given: GenredOptions): void {
  for (const option of ['reduction', 'axis', 'k', 'formula2'] as const) {
    if (given[option] === undefined) continue;
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: the option ${option} is ${describeList(given[option])}, and the text '${formula.slice(0, 80)}' is a whole reduction, which says it itself. Leave one of them out.`,
    );
  }
}

/** A reduction as a function of its arguments. */
export function callable<A extends readonly string[], K extends ReductionKind>(
  reduction: LazyReduction<K>,
): Genred<A, K> {
  const count = reduction.argumentCount;
  const call = (...all: readonly unknown[]): PendingResult<ResultOf<K>> =>
    promised(reduction.reduction.kind, () => {
      const last = all.at(-1);
      const few = all.length <= count && isCallOptions(last);
      const args = (few ? all.slice(0, -1) : all.slice(0, count)) as LazyData[];
      const [options, ...more] = all.slice(count);
      if (more.length > 0 || isData(options)) throw tooMany(reduction.task.what, all.length, count);
      const given = options as CallReduceOptions<K, LazyDType, 'int32'>;
      return reduction.call(args, given) as Promise<ResultOf<K>>;
    });
  const prepare = async <I extends IndexDType = 'int32', O extends OutDType = LazyDType>(
    ...all: readonly (Tensor | PrepareOptions<I, O>)[]
  ): Promise<PreparedReduction<K, O, I>> => {
    const last = all.at(-1);
    const hasOptions = all.length > count || (typeof last === 'object' && !isData(last));
    const args = (hasOptions ? all.slice(0, -1) : all) as readonly Tensor[];
    return reduction.prepare<I, O>(args, hasOptions ? (last as PrepareOptions<I, O>) : undefined);
  };
  return Object.assign(call, { reduction, prepare });
}

/** Whether an argument is an object of options, so that one argument is missing in front of it. */
function isCallOptions(value: unknown): boolean {
  try {
    if (typeof value !== 'object' || value === null || isTensorLike(value)) return false;
    const names = Object.keys(value);
    return names.length > 0 && names.every((name) => Object.hasOwn(CALL_OPTIONS, name));
  } catch {
    return false; // a revoked Proxy
  }
}

/** Whether a value behind the arguments is one more of them rather than options. */
function isData(value: unknown): boolean {
  try {
    return isTensorLike(value) || ArrayBuffer.isView(value) || Array.isArray(value);
  } catch {
    return false; // a revoked Proxy, which the reader of options refuses
  }
}

function tooMany(what: string, found: number, count: number): LazyError {
  return new LazyError(
    'INVALID_ARGUMENT',
    `${what}: ${found} arguments given, and the formula has ${count}. ` +
      `After them may stand one object with ${Object.keys(CALL_OPTIONS).join(', ')}.`,
  );
}

function formulaAxis(what: string, axis: unknown): 0 | 1 {
  if (axis === 'j' || axis === 1) return 1;
  if (axis === 'i' || axis === 0) return 0;
  throw new LazyError(
    'INVALID_ARGUMENT',
    `${what}: the axis is ${describeList(axis)}. Use 'j' or 1 to reduce over j, 'i' or 0 to reduce over i.`,
  );
}

/** One input for every position, those of the aliases and those inside the formula. */
function placeholders(
  what: string,
  named: ReadonlyMap<string, VariableNode>,
  found: readonly VariableNode[],
): readonly Input[] {
  const byPosition = new Map<number, Input>();
  const add = (node: VariableNode, name: string | undefined): void => {
    const { position, category, dim } = node;
    const known = byPosition.get(position);
    if (known === undefined) {
      byPosition.set(position, placeholderInput(what, category, position, dim, name));
      return;
    }
    if (known.category === category && known.dim === dim) return;
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: argument ${position}${known.name === undefined ? '' : ` (${known.name})`} stands in the formula with two categories or dims. Give every input a position of its own.`,
    );
  };
  for (const [name, node] of named) add(node, name);
  for (const node of found) add(node, undefined);
  return Array.from({ length: byPosition.size }, (_, position) => {
    const input = byPosition.get(position);
    if (input !== undefined) return input;
    throw new LazyError(
      'INVALID_ARGUMENT',
      `${what}: the formula has ${byPosition.size} inputs, and none at position ${position}. Number the inputs from 0 without gaps.`,
    );
  });
}
