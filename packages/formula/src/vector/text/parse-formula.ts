import type { OptionNames } from '@mercer/options';
import { readOptions } from '../../read-options.js';
import type { FormulaError } from '../../formula-error.js';
import { withStepLimit } from '../intern-vector.js';
import { elementwise, indexOf, literal } from '../nodes.js';
import { dot, square } from '../operations/index.js';
import type { VariableNode, VectorExpr } from '../vector-expr.js';
import { parseAliases, readInput, type Aliases, VARIABLE_NAMES } from './aliases.js';
import { checkInputs } from './check-inputs.js';
import { checkSize, limitsOf, type TextLimits } from './limits.js';
import { withOwn, type NamedOperation } from './own-operations.js';
import type { Parameter, ParameterKind, TextOperation } from './parameter-kind.js';
import { suggestion } from './suggestion.js';
import { TokenReader } from './token-reader.js';
import { shown, syntaxError, type Token } from './tokens.js';

/** How text is read. */
export interface ParseOptions {
  /** Operations of `defineOp` that the text may call beside the built-in ones. */
  readonly operations?: readonly NamedOperation[];
  readonly limits?: TextLimits;
  /** Called with every input that stands in the text itself, also where nothing of it is left in the formula. */
  readonly onInput?: (input: VariableNode) => void;
}

const PARSE_OPTIONS: OptionNames<ParseOptions> = {
  operations: true,
  limits: true,
  onInput: true,
};

const COMPARISONS = {
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
  '==': 'eq',
  '!=': 'ne',
} as const;

/** What a name alone means. */
const ATOMS: ReadonlyMap<string, () => VectorExpr> = new Map([
  ['Index_i', () => indexOf('i')],
  ['Index_j', () => indexOf('j')],
  ['inf', () => literal(Infinity)],
  ['nan', () => literal(NaN)],
]);

/**
 * Reads a formula in KeOps' language. Operators bind as in Python: `**` over unary minus, `* /`,
 * `+ -`, `|` (inner product), comparisons. `name = formula;` in front names a part.
 *
 * `aliases` are texts such as `x = Vi(0, 3)`, or `x = Vi(3)` where the place in the list is the
 * position; or inputs by name. Inputs may also stand in the text itself, as `Vi(0, 3)` or `Var(0, 3, 0)`.
 *
 * The text is never trusted: it reaches nothing but the operations of this package, within `limits`.
 * Throws `FormulaError`: `SYNTAX` with the position; `INVALID_NAME`; the codes of the operations;
 * `LIMIT_EXCEEDED`.
 *
 * ```ts
 * import { evaluateVector, parseFormula } from '@mercer/formula';
 * const f = parseFormula('Exp(-SqDist(x, y)) * b', ['x = Vi(2)', 'y = Vj(2)', 'b = Vj(1)']);
 * console.log(evaluateVector(f, [[0, 0], [0, 0], [3]])[0]); // 3
 * ```
 */
export function parseFormula(
  text: string,
  aliases: Aliases = [],
  options?: ParseOptions,
): VectorExpr {
  const parser = new FormulaParser('parseFormula', text, aliases, options);
  return parser.whole(() => parser.program());
}

/** The grammar, by recursive descent. */
export class FormulaParser {
  readonly reader: TokenReader;
  readonly #names: Map<string, VectorExpr>;
  readonly #operations: ReadonlyMap<string, TextOperation>;
  readonly #onInput: ParseOptions['onInput'];

  constructor(what: string, text: string, aliases: Aliases, given: ParseOptions | undefined) {
    const options = readOptions(what, given, PARSE_OPTIONS);
    this.reader = new TokenReader(text, limitsOf(what, options.limits));
    this.#names = new Map<string, VectorExpr>(parseAliases(aliases));
    this.#operations = withOwn(options.operations ?? []);
    this.#onInput = options.onInput;
  }

  /** Runs `read` over the whole text, within the limits. */
  whole<T>(read: () => T): T {
    return withStepLimit(this.reader.limits.maxSteps, () => {
      const result = read();
      const rest = this.reader.peek();
      if (rest.kind !== 'end') {
        throw this.reader.error(rest, 'an operator or the end of the text', adjacent(rest));
      }
      return result;
    });
  }

  /** Named parts, then the formula. */
  program(): VectorExpr {
    this.namedParts();
    const result = this.formula();
    checkInputs(result);
    checkSize(result, this.reader.limits);
    return result;
  }

  /** `name = formula;`, as often as it comes. */
  namedParts(): void {
    const { reader } = this;
    while (reader.peek().kind === 'name' && reader.peek(1).text === '=') {
      const name = reader.take();
      if (this.#names.has(name.text) || this.isReserved(name.text)) {
        throw syntaxError(
          reader.text,
          name.at,
          `the name ${shown(name)} is taken`,
          'Choose another one.',
        );
      }
      reader.take();
      const value = this.formula();
      reader.expect(';', 'after a named part');
      this.#names.set(name.text, value);
    }
  }

  isReserved(name: string): boolean {
    return (
      this.#operations.has(name) || ATOMS.has(name) || VARIABLE_NAMES.has(name) || name === 'Ind'
    );
  }

  formula(): VectorExpr {
    const { reader } = this;
    return reader.deeper(() => {
      const start = reader.peek();
      const left = this.#dot();
      const op = this.#comparison();
      if (op === undefined) return left;
      reader.take();
      const right = this.#dot();
      const chained = reader.peek();
      if (this.#comparison() !== undefined) {
        throw reader.error(chained, 'no second comparison', 'Put one of them into parentheses.');
      }
      return reader.located(start, () => elementwise(op, [left, right]));
    });
  }

  #comparison(): (typeof COMPARISONS)[keyof typeof COMPARISONS] | undefined {
    const { kind, text } = this.reader.peek();
    if (kind !== 'symbol' || !Object.hasOwn(COMPARISONS, text)) return undefined;
    return COMPARISONS[text as keyof typeof COMPARISONS];
  }

  #leftmost(
    next: () => VectorExpr,
    operators: Readonly<Record<string, (a: VectorExpr, b: VectorExpr) => VectorExpr>>,
  ): VectorExpr {
    const { reader } = this;
    const start = reader.peek();
    let left = next();
    for (;;) {
      const { kind, text } = reader.peek();
      const build =
        kind === 'symbol' && Object.hasOwn(operators, text) ? operators[text] : undefined;
      if (build === undefined) return left;
      reader.take();
      const [a, b] = [left, next()];
      left = reader.located(start, () => build(a, b));
    }
  }

  #dot(): VectorExpr {
    return this.#leftmost(() => this.#sum(), { '|': dot });
  }

  #sum(): VectorExpr {
    return this.#leftmost(() => this.#product(), {
      '+': (a, b) => elementwise('add', [a, b]),
      '-': (a, b) => elementwise('sub', [a, b]),
    });
  }

  #product(): VectorExpr {
    return this.#leftmost(() => this.#signed(), {
      '*': (a, b) => elementwise('mul', [a, b]),
      '/': (a, b) => elementwise('div', [a, b]),
    });
  }

  #signed(): VectorExpr {
    const { reader } = this;
    if (!reader.at('-') && !reader.at('+')) return this.#power();
    const sign = reader.take();
    return reader.deeper(() => {
      const value = this.#signed();
      return sign.text === '-' ? elementwise('neg', [value]) : value;
    });
  }

  #power(): VectorExpr {
    const { reader } = this;
    const start = reader.peek();
    const base = this.#atom();
    if (!reader.at('**')) return base;
    reader.take();
    return reader.deeper(() => {
      const exponent = this.#signed();
      return reader.located(start, () =>
        exponent.kind === 'literal' && exponent.value === 2
          ? square(base)
          : elementwise('pow', [base, exponent]),
      );
    });
  }

  #atom(): VectorExpr {
    const { reader } = this;
    const token = reader.take();
    if (token.kind === 'number') return literal(Number(token.text));
    if (token.kind === 'name') return this.#named(token);
    if (token.text === '(' && token.kind === 'symbol') {
      const inner = this.formula();
      if (reader.at(',')) {
        throw reader.error(
          reader.peek(),
          "')'",
          'A tuple is only read as an argument that takes several.',
        );
      }
      reader.expect(')', `for the '(' at position ${token.at}`);
      return inner;
    }
    throw reader.error(token, 'a number, a name or a bracket');
  }

  #named(token: Token): VectorExpr {
    const { reader } = this;
    const isCall = reader.at('(');
    if (isCall && VARIABLE_NAMES.has(token.text)) {
      const input = readInput(reader, token);
      this.#onInput?.(input);
      return input;
    }
    if (isCall) {
      const operation = this.#operations.get(token.text);
      if (operation === undefined) throw this.#unknown(token, 'operation', this.#operations.keys());
      reader.take();
      const args = this.#arguments(token, operation.parameters);
      return reader.located(token, () => operation.build(args));
    }
    const known = this.#names.get(token.text) ?? ATOMS.get(token.text)?.();
    if (known !== undefined) return known;
    if (this.isReserved(token.text)) {
      throw reader.error(reader.peek(), `'(' after ${token.text}`);
    }
    throw this.#unknown(token, 'name', [...this.#names.keys(), ...ATOMS.keys()]);
  }

  #unknown(token: Token, what: string, known: Iterable<string>): FormulaError {
    const names = [...known];
    const problem =
      what === 'name'
        ? `the name ${shown(token)} is not defined`
        : `there is no operation ${shown(token)}`;
    const isReduction = /_?Reduction$/.test(token.text);
    const remedy = isReduction
      ? 'A reduction is read by parseReduction, at the outside of a formula.'
      : (suggestion(token.text, names) ??
        (what === 'name'
          ? `Add an alias such as '${token.text.slice(0, 40)} = Vi(0, 3)'.`
          : 'The operations are listed in the README of @mercer/formula.'));
    return syntaxError(this.reader.text, token.at, problem, remedy);
  }

  /** Arguments up to the closing bracket. */
  #arguments(name: Token, parameters: readonly Parameter[]): unknown[] {
    const { reader } = this;
    const values: unknown[] = [];
    for (const [k, parameter] of parameters.entries()) {
      if (reader.at(')') && parameter.endsWith('?')) break;
      if (reader.at(')')) throw reader.error(reader.peek(), this.#arity(name, parameters));
      if (k > 0) reader.expect(',', `between arguments: ${this.#arity(name, parameters)}`);
      const kind = parameter.replace('?', '') as ParameterKind;
      values.push(this.argument(name, kind));
    }
    if (!reader.at(')')) {
      throw reader.error(reader.peek(), `')': ${this.#arity(name, parameters)}`);
    }
    reader.take();
    return values;
  }

  #arity(name: Token, parameters: readonly Parameter[]): string {
    if (parameters.includes('rest')) return `${name.text} takes one formula or more`;
    const least = parameters.filter((parameter) => !parameter.endsWith('?')).length;
    const most = parameters.length;
    return `${name.text} takes ${least === most ? least : `${least} to ${most}`} argument(s)`;
  }

  /** One argument of a call. */
  argument(name: Token, kind: ParameterKind): unknown {
    const { reader } = this;
    const start = reader.peek();
    switch (kind) {
      case 'formula':
      case 'input':
        return this.formula();
      case 'int':
      case 'number': {
        const value = this.formula();
        if (value.kind === 'literal' && (kind === 'number' || Number.isInteger(value.value))) {
          return value.value;
        }
        const wanted = kind === 'int' ? 'an integer' : 'a number';
        throw reader.error(start, `${wanted}, written out, as an argument of ${name.text}`);
      }
      case 'ints':
        return this.#integers(name);
      case 'rest': {
        const all = [this.formula()];
        while (reader.at(',')) {
          reader.take();
          all.push(this.formula());
        }
        return all;
      }
      case 'inputs':
      case 'formulas':
        return this.#tuple();
    }
  }

  /** A formula, or several in a pair of brackets. */
  #tuple(): VectorExpr[] {
    const { reader } = this;
    if (!reader.at('(') || !this.#isTuple()) return [this.formula()];
    reader.take();
    const all = [this.formula()];
    while (reader.at(',')) {
      reader.take();
      if (reader.at(')')) break;
      all.push(this.formula());
    }
    reader.expect(')', 'after the last of several');
    return all;
  }

  /** Whether the bracket that comes next holds a comma of its own and is a whole argument. */
  #isTuple(): boolean {
    let depth = 0;
    let comma = false;
    for (let ahead = 0; this.reader.peek(ahead).kind !== 'end'; ahead++) {
      const { text } = this.reader.peek(ahead);
      if (text === '(' || text === '[') depth++;
      if (text === ',' && depth === 1) comma = true;
      if ((text === ')' || text === ']') && --depth === 0) return comma;
    }
    return false;
  }

  #integers(name: Token): number[] {
    const { reader } = this;
    if (reader.peek().text === 'Ind') reader.take();
    const open = reader.peek();
    const close = { '[': ']', '(': ')' }[open.text];
    if (close === undefined) {
      throw reader.error(open, `a list of integers such as [2, 3] as an argument of ${name.text}`);
    }
    reader.take();
    const all: number[] = [];
    while (!reader.at(close)) {
      if (all.length > 0) reader.expect(',', 'between integers');
      if (reader.at(close)) break;
      all.push(this.argument(name, 'int') as number);
    }
    reader.take();
    return all;
  }
}

/** A hint for two things side by side. */
function adjacent(token: Token): string {
  return token.kind === 'name' || token.kind === 'number' || token.text === '('
    ? "A product is written with '*'."
    : '';
}
