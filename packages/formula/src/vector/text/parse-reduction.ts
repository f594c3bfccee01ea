import { FormulaError } from '../../formula-error.js';
import { zero } from '../nodes.js';
import {
  reduction,
  traitsOf,
  type Reduction,
  type ReductionAxis,
  type ReductionKind,
  assertReduction,
} from '../reductions/reduction.js';
import {
  reductionGradient,
  reductionTangent,
  type SavedResults,
} from '../reductions/reduction-gradient.js';
import { KEOPS_SPELLINGS } from '../reductions/reduction-name.js';
import type { VectorExpr } from '../vector-expr.js';
import type { Aliases } from './aliases.js';
import { checkInputs } from './check-inputs.js';
import { checkSize } from './limits.js';
import { FormulaParser, type ParseOptions } from './parse-formula.js';
import { printAll, type PrintOptions } from './print-formula.js';
import { suggestion } from './suggestion.js';
import { syntaxError, type Token } from './tokens.js';

/** KeOps' spellings of reductions, without `_Reduction`. */
const KINDS: ReadonlyMap<string, ReductionKind> = new Map<string, ReductionKind>([
  ...(
    ['Sum', 'Prod', 'Mean', 'Var', 'Any', 'All', 'Count', 'LogSumExp', 'SumSoftMaxWeight'] as const
  ).map((kind) => [kind, kind] as const),
  ...(['Min', 'Max', 'ArgMin', 'ArgMax', 'KMin', 'ArgKMin', 'KMax', 'ArgKMax'] as const).map(
    (kind) => [kind, kind] as const,
  ),
  ...Object.entries(KEOPS_SPELLINGS),
]);

const SUFFIX = '_Reduction';

/**
 * Whether text is a whole reduction, which `parseReduction` reads, and no formula.
 *
 * ```ts
 * import { isReductionText } from '@mercer/formula';
 * console.log(isReductionText('Sum_Reduction(x, 0)'), isReductionText('Sum(x)')); // true false
 * ```
 */
export function isReductionText(text: string): boolean {
  return typeof text === 'string' && /\w_Reduction\s*\(/.test(text);
}

/**
 * Reads a reduction in KeOps' language: `Sum_Reduction(F, tag)` and its kin. Tag 0 reduces over j,
 * which is axis 1; tag 1 over i, axis 0. `KMin_Reduction(F, K, tag)` takes K,
 * `LogSumExp_Reduction(F, tag, G)` a weight. `Grad(Sum_Reduction(F, tag), v, e)` and `Diff` of it are
 * derivatives of a sum, `Grad_WithSavedForward(R, v, e, saved)` and `Diff_WithSavedForward` those of a
 * LogSumExp, which need its value, or of an extremum, which need its indices. Aliases, limits and errors as for `parseFormula`.
 *
 * ```ts
 * import { parseReduction } from '@mercer/formula';
 * const r = parseReduction('KMin_Reduction(SqDist(x, y), 3, 0)', ['x = Vi(2)', 'y = Vj(2)']);
 * console.log(r.kind, r.k, r.axis); // KMin 3 1
 * ```
 */
export function parseReduction(
  text: string,
  aliases: Aliases = [],
  options?: ParseOptions,
): Reduction {
  const parser = new FormulaParser('parseReduction', text, aliases, options);
  return parser.whole(() => {
    parser.namedParts();
    const result = readReduction(parser);
    const parts = result.weight === undefined ? [result.formula] : [result.formula, result.weight];
    checkInputs(...parts);
    for (const part of parts) checkSize(part, parser.reader.limits);
    return result;
  });
}

function readReduction(parser: FormulaParser): Reduction {
  const { reader } = parser;
  const name = reader.take();
  const derivative = DERIVATIVES.get(name.text);
  if (derivative !== undefined && reader.peek(1).text.endsWith(SUFFIX)) {
    return derivativeOf(parser, name, derivative);
  }
  if (name.text === `Zero${SUFFIX}`) {
    reader.expect('(', `after ${name.text}`);
    const dim = parser.argument(name, 'int') as number;
    const axis = tag(parser, name);
    reader.expect(')', 'at the end of a reduction');
    return reader.located(name, () => reduction('Sum', zero(dim), { axis }));
  }
  const kind = name.text.endsWith(SUFFIX)
    ? KINDS.get(name.text.slice(0, -SUFFIX.length))
    : undefined;
  if (kind === undefined) throw unknown(parser, name);
  reader.expect('(', `after ${name.text}`);
  const formula = parser.formula();
  const { takesK } = traitsOf(kind);
  let k: number | undefined;
  if (takesK) {
    reader.expect(',', `before K: ${name.text}(F, K, tag)`);
    k = parser.argument(name, 'int') as number;
  }
  const axis = tag(parser, name);
  let weight: VectorExpr | undefined;
  if (reader.at(',')) {
    reader.take();
    weight = parser.formula();
  }
  reader.expect(')', 'at the end of a reduction');
  return reader.located(name, () =>
    reduction(kind, formula, {
      axis,
      ...(k !== undefined && { k }),
      ...(weight !== undefined && { weight }),
    }),
  );
}

/** `, 0` for axis 1 or `, 1` for axis 0. */
function tag(parser: FormulaParser, name: Token): ReductionAxis {
  const { reader } = parser;
  reader.expect(',', `before the tag of ${name.text}: 0 reduces over j, 1 over i`);
  const token = reader.take();
  if (token.text === '0') return 1;
  if (token.text === '1') return 0;
  throw reader.error(token, 'the tag 0 (reduce over j) or 1 (reduce over i)');
}

/** A derivative of a reduction as text names it. */
interface Derivative {
  readonly mode: 'gradient' | 'tangent';
  /** Whether the result of the forward pass is the last argument. */
  readonly takesSaved: boolean;
}

const DERIVATIVES: ReadonlyMap<string, Derivative> = new Map<string, Derivative>([
  ['Grad', { mode: 'gradient', takesSaved: false }],
  ['Diff', { mode: 'tangent', takesSaved: false }],
  ['Grad_WithSavedForward', { mode: 'gradient', takesSaved: true }],
  ['Diff_WithSavedForward', { mode: 'tangent', takesSaved: true }],
]);

function derivativeOf(
  parser: FormulaParser,
  name: Token,
  { mode, takesSaved }: Derivative,
): Reduction {
  const { reader } = parser;
  reader.expect('(', `after ${name.text}`);
  const inner = readReduction(parser);
  reader.expect(',', 'before the input');
  const by = parser.formula();
  reader.expect(',', 'before the vector that the derivative is applied to');
  const seed = parser.formula();
  let saved: SavedResults = {};
  if (takesSaved) {
    reader.expect(',', 'before the result of the forward pass');
    const result = parser.formula();
    saved = reader.located(name, () => savedResult(inner, result));
  }
  reader.expect(')', `at the end of ${name.text}`);
  return reader.located(name, () => {
    if (
      by.kind !== 'variable' ||
      (mode === 'gradient' && (by.category === 'parameter' || by.category === 'pair'))
    ) {
      throw new FormulaError(
        'NOT_DIFFERENTIABLE',
        by.kind === 'variable' && by.category === 'pair'
          ? `cannot build ${name.text} of a reduction by values of pairs: the derivative is a value of each pair and no reduction. ` +
              `Differentiate the formula itself.`
          : `cannot build ${name.text} of a reduction: it takes an input of i or j here. ` +
              `Put Grad inside the reduction for a parameter, and add up the rows.`,
      );
    }
    return mode === 'gradient'
      ? reductionGradient(inner, by, seed, saved).reduction
      : reductionTangent(inner, by, seed, saved);
  });
}

/** The one result that a derivative needs. */
function savedResult({ kind }: Reduction, result: VectorExpr): SavedResults {
  if (kind === 'Sum') return {};
  if (kind === 'LogSumExp') return { value: result };
  if (traitsOf(kind).extremum !== undefined) return { index: result };
  throw new FormulaError(
    'NOT_DIFFERENTIABLE',
    `cannot differentiate a ${kind} reduction in text: it has no derivative, or needs several results. ` +
      `Use reductionGradient, which takes them by name.`,
  );
}

function unknown(parser: FormulaParser, name: Token): FormulaError {
  const names = [...KINDS.keys()].map((kind) => kind + SUFFIX);
  const remedy = suggestion(name.text, names) ?? `Write for example Sum${SUFFIX}(F, 0).`;
  const problem = `found ${name.kind === 'end' ? 'the end of the text' : JSON.stringify(name.text)}, expected a reduction`;
  return syntaxError(parser.reader.text, name.at, problem, remedy);
}

/** A reduction as text that `parseReduction` reads back; options as for `printFormula`. */
export function printReduction(of: Reduction, options?: PrintOptions): string {
  assertReduction(of, 'printReduction');
  const kind = [...KINDS].find(([, one]) => one === of.kind)![0];
  const weights = of.weight === undefined ? [] : [of.weight];
  const { parts, texts } = printAll('printReduction', [of.formula, ...weights], options);
  const [formula, ...weight] = texts;
  const numbers = [...(of.k === undefined ? [] : [of.k]), 1 - of.axis];
  return `${parts}${kind}${SUFFIX}(${[formula, ...numbers, ...weight].join(', ')})`;
}
